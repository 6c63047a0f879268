"""The moment bound from its program in CVXPY, made safe through the duals: for tiny problems."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from propcvx.bounds.moments import Multipliers, certify_values, improve_duals
from propcvx.bounds.pieces import Division, divide
from propcvx.bounds.problem import LabelingProblem
from propcvx.programs import Program, bag_moments
from propcvx.solvers import solve

Array = NDArray[np.float64]

LARGEST = 30_000
"""Sum of the squares of the sizes of semidefinite matrices for which a solver is asked."""

LEAST = 1e-6
"""Share of equal multipliers that is mixed in, as a solver's may not be invertible."""


def program_size(problem: LabelingProblem) -> int:
    """Sum of the squares of the sizes of the program's semidefinite matrices."""
    rank = problem.features.shape[1]
    return sum((rank + len(piece)) ** 2 for piece in divide(problem).pieces)


def program_bound(problem: LabelingProblem, *, solver: str, tol: float) -> tuple[float, float]:
    """The program's value as the solver has it, and the lower bound that its duals prove.

    Parameters
    ----------
    problem : LabelingProblem
        Without divided bags.
    solver : str
        A solver of semidefinite programs.
    tol : float
        Its tolerance.
    """
    division = divide(problem)
    program = bag_moments(
        [piece.features for piece in division.pieces],
        [piece.labelings.astype(float) for piece in division.pieces],
        [piece.costs for piece in division.pieces],
        problem.C,
    )
    solution = solve(program, solver, tol=tol, residuals=False, quiet=True)
    multipliers = multipliers_of(program, division)
    duals = [problem.C * piece.labelings.astype(float) for piece in division.pieces]
    accuracy = 1e-7 * problem.C * len(problem.features)
    improve_duals(division, multipliers, duals, problem.C, room=np.inf, tol=accuracy)
    certified = certify_values(division, multipliers, duals, problem.C, problem.reach)
    return solution.value, certified.lower


def multipliers_of(program: Program, division: Division) -> Multipliers:
    r"""Multipliers from the duals of a solved program, made to sum to what they should."""
    n, rank = len(division.pieces), division.pieces[0].features.shape[1]
    squares = np.empty((n, rank, rank))
    for k in range(n):
        dual = np.asarray(program.constraints[f"moments_{k}"].dual_value)[:rank, :rank]
        values, vectors = np.linalg.eigh(dual + dual.T)
        squares[k] = (vectors * np.maximum(values, 0.0)) @ vectors.T + LEAST / n * np.eye(rank)
    linear = np.array([program.constraints[f"agree_{k}"].dual_value for k in range(n)])
    values, vectors = np.linalg.eigh(squares.sum(axis=0))
    inverse = (vectors / np.sqrt(values)) @ vectors.T
    factors = np.linalg.cholesky(inverse @ squares @ inverse)
    scales = np.full(n, np.sqrt(1.0 / n))
    return Multipliers(factors, scales, linear - linear.mean(axis=0), np.zeros(0))
