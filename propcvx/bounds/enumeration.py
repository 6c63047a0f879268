"""The best labeling's value from a list of all labelings, for a handful of instances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from propcvx.bounds.moments import Multipliers, certify_values, improve_duals
from propcvx.bounds.pieces import Division, Piece, divide
from propcvx.bounds.problem import LabelingProblem

Array = NDArray[np.float64]

MOST_LISTED = 20_000
"""Labelings that are listed."""

TOL = 1e-9
"""Error of their values, as a share of that of w = 0."""


def list_values(problem: LabelingProblem) -> tuple[Piece, Array]:
    """All labelings as one piece, and a lower bound on the value of each, tight to ``TOL``."""
    division: Division = divide(problem)
    division = division.merge([list(range(len(division.pieces)))])
    piece = division.pieces[0]
    single = Multipliers.equal(division, piece.features.shape[1])
    duals = [problem.C * piece.labelings.astype(float)]
    tol = TOL * problem.C * len(problem.features)
    improve_duals(division, single, duals, problem.C, room=np.inf, tol=tol)
    certified = certify_values(division, single, duals, problem.C, problem.reach)
    return piece, certified.of_labelings(0)
