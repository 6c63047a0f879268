"""What fits by several solvers and tolerances say: a picture, and from where nothing changes."""

from __future__ import annotations

from collections.abc import Sequence
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


def unchanged_from(rows: Sequence[Row]) -> list[str]:
    """For each method and solver, the tolerance from which on no label and no prediction changes.

    Compared are fits by the same solver, with that at its smallest tolerance.
    """
    sentences = []
    ordered = sorted(rows, key=lambda row: (_line_of(row), row["tol"]))
    for (method, solver), group in groupby(ordered, _line_of):
        done = [row for row in group if row["status"] == "done"]
        same = [
            (row["labels"], row["predictions"]) == (done[0]["labels"], done[0]["predictions"])
            for row in done
        ]
        if len(done) < 2:
            continue
        last = same.index(False) - 1 if False in same else len(same) - 1
        told = f"nothing changes from a tolerance of {done[last]['tol']:g} on"
        if last == 0:
            told = "labels or predictions change up to the smallest tolerance"
        sentences.append(f"{method} by {solver}: {told} ({done[0]['tol']:g} is the smallest).")
    return sentences
