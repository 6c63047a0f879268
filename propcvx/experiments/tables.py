"""What tables of the experiments say, as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from propcvx.experiments.evaluation import Outcome


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; text in its cells must be free of bars."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cell_text(value: Any, pattern: str) -> str:
    """A value in that format; a dash where there is none.

    Examples
    --------
    >>> cell_text(0.5, ".0%"), cell_text(None, ".0%")
    ('50%', '-')
    """
    return "-" if value is None else format(value, pattern)


def outcome_row(outcome: Outcome) -> dict[str, str]:
    """The row of a method in a table of results."""
    return {
        "method": outcome.method,
        "accuracy": f"{outcome.accuracy:.1%}",
        "bag error": f"{outcome.bag_error:.3f}",
        "seconds": f"{outcome.seconds:.1f}",
    }


def parameter_text(parameters: Mapping[str, Any]) -> str:
    """Parameters on one line.

    Examples
    --------
    >>> parameter_text({"C": 10.0, "epsilon": 0.01})
    'C=10 epsilon=0.01'
    """
    return " ".join(f"{name}={value:g}" for name, value in parameters.items())
