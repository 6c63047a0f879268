"""Checks of single arguments, whose errors name the argument and the requirement."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from itertools import combinations
from numbers import Integral
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from propcvx.arrays import Array
from propcvx.errors import GramMatrixMemoryError, InputError

try:
    import psutil
except ImportError:  # there is none in a browser
    psutil = None


ROUNDING = 1e-12
"""Distance from [0, 1] up to which a proportion is outside by rounding only."""


def check_number(
    name: str,
    value: Any,
    low: float = -np.inf,
    high: float = np.inf,
    *,
    closed: Literal["neither", "left", "right", "both"] = "neither",
    alternative: str = "",
) -> float:
    """Check a finite real number in an interval, which is open by default.

    Parameters
    ----------
    name : str
        The argument, for the message.
    value : object
    low, high : float
        The ends of the interval.
    closed : "neither", "left", "right" or "both"
        The ends that belong to the interval.
    alternative : str
        What else the value may be, for the message.
    """
    numeric = isinstance(value, float | int | np.floating | np.integer)
    finite = numeric and not isinstance(value, bool) and np.isfinite(value)
    left, right = closed in ("left", "both"), closed in ("right", "both")
    closed_ends = [low] * left + [high] * right
    if not (finite and (low < value < high or value in closed_ends)):
        bounds = ("at least" if left else "above", low), ("at most" if right else "below", high)
        limits = " and ".join(f"{word} {limit:g}" for word, limit in bounds if np.isfinite(limit))
        interval = f" {limits}" * bool(limits) + alternative
        raise InputError(f"{name} must be a finite number{interval}; got {value!r:.200}.")
    return float(value)


def check_seconds(name: str, value: Any) -> float:
    """Check a time limit: a number above 0, or infinity for none."""
    unlimited = isinstance(value, float) and value == np.inf
    return value if unlimited else check_number(name, value, low=0.0, alternative=" or infinity")


def number_or_computed(
    name: str,
    value: Any,
    compute: Callable[[], float],
    word: str = "scale",
    *,
    closed: Literal["neither", "left"] = "neither",
) -> float:
    """Check a finite number above 0, or compute the value that the word stands for on the data."""
    if isinstance(value, str) and value == word:
        return float(compute())
    return check_number(name, value, low=0.0, closed=closed, alternative=f" or {word!r}")


def check_proportion(value: Any, bag: str, *, optional: bool = True) -> float:
    """Check a proportion and return it as a number in [0, 1].

    Parameters
    ----------
    value : object
    bag : str
        The name of its bag, for the message.
    optional : bool
        Whether proportions may be unknown, for the message.
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not -ROUNDING <= number <= 1.0 + ROUNDING:
        missing, advice = ", or None if unknown" if optional else "", ""
        if number > 1.0 or isinstance(value, str):
            advice = "; divide percentages by 100, and counts by the size of the bag"
        elif number != number:
            of_series = (
                "; .astype(object).where(proportions.notna(), None) of a Series has None for NaN"
            )
            advice = of_series if optional else "; leave out the instances of such bags"
        raise InputError(
            f"proportions must be numbers in [0, 1]{missing}; got {value!r:.200} for bag "
            f"{bag}{advice}."
        )
    return min(max(number, 0.0), 1.0)


def check_count(name: str, value: Any, *, low: int = 1) -> int:
    """Check a whole number, at least ``low``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < low:
        raise InputError(f"{name} must be a whole number, at least {low}; got {value!r:.200}.")
    return int(value)


def check_flag(name: str, value: Any) -> bool:
    """Check that a value is True or False, and return it."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} must be True or False; got {value!r:.200}.")
    return bool(value)


def as_vector(values: Any, length: int | None = None) -> Array | None:
    """Convert values to a vector of finite numbers of a length, or return None if impossible."""
    try:
        vector = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    fits = vector.ndim == 1 and length in (None, len(vector))
    return vector if fits and np.isfinite(vector).all() else None


def check_labeling(argument: str, labeling: Any, n_instances: int) -> Array:
    """Check a label -1 or +1 of each instance."""
    values = as_vector(labeling, n_instances)
    if values is None or not np.isin(values, (-1.0, 1.0)).all():
        raise InputError(
            f"{argument} must be a labeling of -1 and +1, shape ({n_instances},); got "
            f"{labeling!r:.200}."
        )
    return values


def check_same_order(arguments: Mapping[str, Any]) -> None:
    """Raise if two pandas objects have the same index in two orders."""
    tables = {name: table.index for name, table in arguments.items() if hasattr(table, "iloc")}
    for first, name in combinations(tables, 2):
        one, other = tables[first], tables[name]
        if len(one) == len(other) and not one.equals(other) and set(one) == set(other):
            raise InputError(
                f"{name} must have its rows in the order of {first}; got the same index in another "
                f"order; {name}.loc[{first}.index] has that order."
            )


def check_same_length(X: Any, y: Any) -> None:
    """Raise unless there are as many instances as rows of the target."""
    if np.shape(X)[:1] != (len(y),):
        rows = np.shape(X)[0] if np.ndim(X) else repr(X)
        raise InputError(
            f"X and y must have the same number of instances; got {rows} and {len(y)}."
        )


def check_choice(name: str, value: Any, choices: Collection[str], alternative: str = "") -> str:
    """Check that a value is one of the choices, and return it; `alternative` as in check_number."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{name} must be one of {list(choices)}{alternative}; got {value!r:.200}.")
    return value


def resolve(argument: str, value: Any, table: Mapping[str, Any], method: str) -> Any:
    """Return the table's object of a name, or the object itself, if it has the method.

    Parameters
    ----------
    argument : str
        The argument, for messages.
    value : str or object
        The value of the argument.
    table : mapping
        The objects that have names.
    method : str
        The method that the object must have; ``"__call__"`` for a function or a class.

    Raises
    ------
    InputError
        If there is no such name (the message lists them), the object lacks the method, or the value
        is a class instead of an object.
    """
    if isinstance(value, str):
        return table[check_choice(argument, value, table)]
    if isinstance(value, type) and method != "__call__":
        raise InputError(
            f"{argument} must be a name or an object; got the class {value.__name__}; "
            f"{value.__name__}(...) is an object."
        )
    if not callable(getattr(value, method, None)):
        raise InputError(
            f"{argument} must be one of {list(table)} or an object with the method {method!r}; "
            f"got {value!r}."
        )
    return value


def check_gram_memory(n_instances: int, advice: str, matrices: float = 2.0) -> None:
    """Raise if so many matrices as large as a Gram matrix exceed the available memory.

    Without psutil, as in a browser, the available memory is not known.  Nothing is checked then,
    and NumPy raises its own ``MemoryError`` if memory runs out.
    """
    if psutil is None:
        return
    needed = matrices * 8 * n_instances**2
    available = psutil.virtual_memory().available
    if needed > available:
        raise GramMatrixMemoryError(
            f"the Gram matrix of {n_instances:,} instances and its factors ({matrices:g} arrays) "
            f"need {needed / 1e9:.1f} GB, {available / 1e9:.1f} GB are available; {advice}."
        )


Shapes = Mapping[str, tuple[int | None, ...]]
"""Shapes of arrays by name, and ``()`` of a number; None is any number except 0."""


def check_fields(
    source: str, record: Any, shapes: Shapes, infinite: Mapping[str, float] = MappingProxyType({})
) -> None:
    """Raise unless the numbers and arrays of a record are finite and have their shapes.

    Parameters
    ----------
    source : str
        The source of the record, for the message.
    record : object
    shapes : mapping
    infinite : mapping
        The infinity that is allowed, by name.
    """
    for name, shape in shapes.items():
        value = np.asarray(getattr(record, name))
        sizes = zip(value.shape, shape, strict=False)
        fits = all(have == size if size is not None else have > 0 for have, size in sizes)
        if value.ndim != len(shape) or not fits or value.dtype.kind not in "biuf":
            raise InputError(
                f"{source} must return {name} of shape {shape}; got shape {value.shape} and "
                f"{value.dtype}."
            )
        if not (np.isfinite(value) | (value == infinite.get(name))).all():
            raise InputError(f"{source} must return finite {name}; got {value!r:.200}.")
