"""What tables of the experiments say, as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isnan
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


def spread_text(mean: float, deviation: float) -> str:
    """A mean and its standard deviation, which is left out where it is NaN.

    Examples
    --------
    >>> spread_text(79.26, 1.04), spread_text(79.26, float("nan"))
    ('79.3 +- 1.0', '79.3')
    """
    return f"{mean:.1f}" if isnan(deviation) else f"{mean:.1f} +- {deviation:.1f}"


def outcome_row(outcome: Outcome) -> dict[str, str]:
    """The row of a method in a table of results."""
    return {
        "method": outcome.method,
        "accuracy": f"{outcome.accuracy:.1%}",
        "bag error": f"{outcome.bag_error:.3f}",
        "seconds": f"{outcome.seconds:.1f}",
    }


def parameter_text(parameters: Mapping[str, Any]) -> str:
    """Parameters on one line; those of a part of an estimator by their own name alone.

    Examples
    --------
    >>> parameter_text({"C": 10.0, "intercept": "center", "relaxation__max_cuts": 2})
    'C=10 intercept=center max_cuts=2'
    """
    return " ".join(
        f"{name.rpartition('__')[2]}={value if isinstance(value, str) else format(value, 'g')}"
        for name, value in parameters.items()
    )
