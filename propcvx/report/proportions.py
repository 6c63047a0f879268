"""Recognize proportions, percentages and counts in a table."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from propcvx.errors import InputError
from propcvx.report.tables import Table


class Proportions(NamedTuple):
    """Proportions of bags, as the script computes them.

    Attributes
    ----------
    code : str
        Expression in the table ``bags``.
    half_unit : float
        Half a unit of the last published digit; 0 for counts.
    note : str
        What was recognized.
    """

    code: str
    half_unit: float
    note: str


def read_counts(bags: Table, count: str, total: str) -> Proportions:
    """Return the proportions of counts in totals."""
    counts, totals = (
        _numbers(bags, name, bags.column(name, option))
        for name, option in ((count, "--count"), (total, "--total"))
    )
    bags.fail_if(totals <= 0, totals, f"is no positive {total}", "Remove the row.")
    wrong = (counts < 0) | (counts > totals)
    bags.fail_if(wrong, counts, f"is not from 0 to {total}", "Exchange --count and --total?")
    check_varied(bags, counts / totals)
    note = f"Proportions are {count!r} divided by {total!r}."
    return Proportions(f"bags[{count!r}] / bags[{total!r}]", 0.0, note)


def read_proportions(bags: Table, name: str) -> Proportions:
    """Return proportions from a column of numbers in [0, 1], or of percentages."""
    values, code = bags.column(name, "--proportion"), f"bags[{name!r}]"
    signs = values.astype(str).str.strip().str.endswith("%")
    if signs.any():
        bags.fail_if(~signs, values, "has no percent sign, but others have", "Write all alike.")
        code += ".str.rstrip(' %').str.replace(',', '.').astype(float)"
        values = values.str.rstrip(" %").str.replace(",", ".")
    texts, numbers = values.astype(str), _numbers(bags, name, values)
    percent = bool(signs.any() or np.median(numbers) > 1.0)
    limit = 100 if percent else 1
    wrong = (numbers < 0) | (numbers > limit)
    bags.fail_if(wrong, numbers, f"is not from 0 to {limit}", f"Correct {name!r}.")
    check_varied(bags, numbers)
    digits = int(texts.str.partition(".")[2].str.len().max())
    digits = max(digits, 1) + 2 * percent if digits or percent else 0
    note = (
        f"{name!r} has {'percentages' if percent else 'proportions'}, rounded to {digits} decimals"
    )
    note += " of a proportion." if percent else "."
    return Proportions(code + " / 100" * percent, 0.5 * 10.0**-digits, note)


def check_varied(bags: Table, proportions: Any) -> None:
    """Raise an error if all proportions are equal."""
    if np.ptp(proportions) == 0.0:
        raise InputError(
            f"{bags.path.name} must have at least two different proportions; all are "
            f"{np.ravel(proportions)[0]:g}. Equal proportions do not identify how classes differ."
        )


def _numbers(bags: Table, name: str, values: Any) -> Any:
    """Convert values to numbers, or raise an error with the lines that have none."""
    from pandas import to_numeric

    numbers = to_numeric(values, errors="coerce")
    advice = f"Write {name} as 0.25, 25% or 25."
    bags.fail_if(numbers.isna(), values, "is not a number", advice)
    return numbers
