"""What fits by several solvers and tolerances say: a picture, and from where nothing changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from propcvx.experiments.solver_laboratory.rows_file import Row
from propcvx.plotting import Figure, tolerance_sweep


def draw_fits(rows: Sequence[Row]) -> Figure:
    """A picture of what the tolerance does, from rows of :func:`compare_fits`."""
    names = ("tol", "difference", "labels_agree", "accuracy")
    sweeps: dict[str, dict[str, Any]] = {}
    done = sorted((row for row in rows if row["status"] == "done"), key=_line_of)
    for (method, solver), group in groupby(done, _line_of):
        points = sorted([row[name] for name in names] for row in group)
        sweeps.setdefault(method, {})[solver] = tuple(np.array(points).T)
    return tolerance_sweep(sweeps)


def _line_of(row: Row) -> tuple[str, str]:
    return row["method"], row["solver"]


@dataclass(frozen=True)
class Unchanged:
    """From which tolerance on no label and no prediction of a method by a solver changes.

    Attributes
    ----------
    method, solver : str
    tol : float or None
        None where the smallest two tolerances differ.
    smallest : float
        The smallest tolerance that was tried.
    """

    method: str
    solver: str
    tol: float | None
    smallest: float

    def __str__(self) -> str:
        """As a sentence."""
        told = (
            "labels or predictions change up to the smallest tolerance"
            if self.tol is None
            else f"nothing changes from a tolerance of {self.tol:g} on"
        )
        return f"{self.method} by {self.solver}: {told} ({self.smallest:g} is the smallest)."


def unchanged_from(rows: Sequence[Row]) -> list[Unchanged]:
    """What there is to say for each method and solver with several tolerances, on one data set.

    Compared are fits by the same solver, with that at its smallest tolerance.
    """
    found = []
    for (method, solver), group in groupby(sorted(rows, key=_line_of), _line_of):
        done = sorted(
            (row for row in group if row["status"] == "done"), key=lambda row: float(row["tol"])
        )
        if len(done) > 1:
            same = [_answer(row) == _answer(done[0]) for row in done]
            last = same.index(False) - 1 if False in same else len(same) - 1
            tol = done[last]["tol"] if last else None
            found.append(Unchanged(method, solver, tol, done[0]["tol"]))
    return found


def _answer(row: Row) -> tuple[list[int], list[int]]:
    return row["labels"], row["predictions"]
