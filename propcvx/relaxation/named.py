"""What can be swapped: a name of a table, or an object that does the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from propcvx.checks import check_choice
from propcvx.errors import InputError


def named(argument: str, value: Any, table: Mapping[str, Any], method: str) -> Any:
    """The table's object of that name, or the object given, if it has the method.

    Parameters
    ----------
    argument : str
        The argument, for messages.
    value : str or object
        What came.
    table : mapping
        The objects that have names.
    method : str
        What is asked of the object; ``"__call__"`` of a function or a class.

    Raises
    ------
    InputError
        If there is no such name (the message lists them), or the object lacks the method.
    """
    if isinstance(value, str):
        return table[check_choice(argument, value, table)]
    if not callable(getattr(value, method, None)):
        raise InputError(
            f"{argument} must be one of {list(table)} or an object with the method {method!r}, "
            f"which {value!r} has not."
        )
    return value
