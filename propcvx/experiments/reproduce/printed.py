"""The numbers that the paper prints."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

REPETITIONS = 5
"""Repetitions behind every printed mean and standard deviation."""


@dataclass(frozen=True)
class Printed:
    """Mean accuracy and its standard deviation over five repetitions, in percent.

    Attributes
    ----------
    accuracy, std : float
    bold : bool
        Whether it is printed in bold: the best of its column.
    """

    accuracy: float
    std: float
    bold: bool


@cache
def printed() -> dict[tuple[str, str, str, int, str], Printed]:
    """Tables 2, 3 and 4, Section 7.1 and Figure 1, by experiment, data, kernel, bag size, method.

    Examples
    --------
    >>> printed()["table-linear", "vote", "linear", 64, "alter-pSVM"]
    Printed(accuracy=92.12, std=1.2, bold=True)
    """
    text = files(__package__).joinpath("printed.csv").read_text()
    return {
        (row["experiment"], row["data"], row["kernel"], int(row["bag_size"]), row["method"]): (
            Printed(float(row["accuracy"]), float(row["std"]), row["bold"] == "1")
        )
        for row in csv.DictReader(text.splitlines())
    }


def best_printed(data: str, kernel: str, bag_size: int) -> tuple[str, Printed] | None:
    """The method with the largest mean in a column of Tables 2, 3 and 4; None if there is none.

    Examples
    --------
    >>> best_printed("vote", "linear", 64)
    ('alter-pSVM', Printed(accuracy=92.12, std=1.2, bold=True))
    """
    column = {
        method: entry
        for (experiment, *place, method), entry in printed().items()
        if experiment.startswith("table-") and place == [data, kernel, bag_size]
    }
    return max(column.items(), key=lambda item: item[1].accuracy) if column else None
