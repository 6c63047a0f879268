r"""Facts of one's own about :math:`M = y y^\top`, as linear functions that multipliers add up."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import cvxpy as cp
import numpy as np
from cvxpy.constraints import PSD, Equality, Inequality

from propcvx.arrays import Array
from propcvx.errors import InputError
from propcvx.labelings.feasible import FeasibleLabelings

Facts = Callable[[cp.Expression], Sequence[cp.Constraint]]
"""``facts(M)``: constraints that hold of :math:`M = y y^\top` for every feasible labeling y."""

TRIED = 100
"""Feasible labelings on which facts are tried."""

VIOLATED = 1e-6
"""By how much a fact may be wrong of a labeling for rounding."""


def no_facts(M: cp.Expression) -> Sequence[cp.Constraint]:
    """Nothing more than the package knows."""
    return ()


def check_facts(facts: Facts, feasible: FeasibleLabelings) -> None:
    """Try facts on some feasible labelings.

    Raises
    ------
    InputError
        If they are not constraints, or one is not linear, or does not hold of one of the labelings.
    """
    n = feasible.bags.n_instances
    M = cp.Variable((n, n), name="M")
    stated = facts(M) if callable(facts) else facts
    if not callable(facts) or not isinstance(stated, list | tuple):
        raise InputError(
            "facts must be a function of M that returns a list of CVXPY constraints, such as "
            f"lambda M: [M[0, 1] == 1], got {stated!r}."
        )
    for place, fact in enumerate(stated):
        if not isinstance(fact, cp.Constraint):
            raise InputError(
                f"facts: number {place} is {fact!r}, which is no constraint of CVXPY; "
                "M[0, 1] == 1 is one."
            )
        if not isinstance(fact, Equality | Inequality | PSD) or not all(
            side.is_affine() for side in fact.args
        ):
            raise InputError(
                f"facts: number {place} is not linear in M; equations, inequalities and "
                "semidefinite matrices that are would do."
            )
    scores = np.random.RandomState(0).normal(size=(n, TRIED))
    for labeling in np.unique(feasible.best(scores).T, axis=0):
        M.value = np.outer(labeling, labeling)
        for place, fact in enumerate(stated):
            wrong = float(np.max(fact.violation()))
            if wrong > VIOLATED:
                raise InputError(
                    f"facts: number {place} does not hold of the feasible labeling "
                    f"{labeling.astype(int).tolist()}, by {wrong:.3g}; it has to hold of all."
                )


def added_up(facts: Facts, n: int, duals: Sequence[Array]) -> tuple[Array, float]:
    r"""The linear function :math:`\langle G, M \rangle + c` that facts and multipliers add up to.

    Every fact says that something is 0, or not negative, so with multipliers of the right sign
    their sum is not negative for any :math:`M = y y^\top`.

    Parameters
    ----------
    facts : callable
    n : int
        Number of instances.
    duals : sequence of arrays
        Multipliers, those of CVXPY for a maximum; what has the wrong sign is taken to be 0.

    Returns
    -------
    G : array of shape (n, n)
        Symmetric.
    c : float
        With the rounding of both added.
    """
    M = cp.Variable((n, n), name="M")
    M.value = np.zeros((n, n))
    slope, constant, size = np.zeros(n * n), 0.0, 0.0
    for fact, dual in zip(facts(M), duals, strict=True):
        function = fact.args[0] if isinstance(fact, PSD) else fact.args[1] - fact.args[0]
        gradient, value = function.grad[M], _column(function.value)
        weights = _column(_signed(fact, np.asarray(dual, dtype=float).reshape(function.shape)))
        slope, constant = slope + gradient @ weights, constant + float(value @ weights)
        size += float((abs(gradient) @ np.abs(weights)).sum() + np.abs(value) @ np.abs(weights))
        size += float(np.abs(slope).sum()) + abs(constant)
    matrix = slope.reshape((n, n), order="F")
    terms = sum(fact.size for fact in facts(M)) + n * n
    return (matrix + matrix.T) / 2, constant + 4 * float(np.finfo(float).eps) * terms * size


def _signed(fact: cp.Constraint, dual: Array) -> Array:
    """Multipliers of the right sign."""
    if isinstance(fact, Equality):
        return dual
    if isinstance(fact, Inequality):
        return np.maximum(dual, 0.0)
    values, vectors = np.linalg.eigh((dual + dual.T) / 2)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def _column(array: Array) -> Array:
    return np.ravel(array, order="F")
