"""The lifted semidefinite relaxation, and what those over a lifted matrix share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from propcvx.history import History, Round, StopReason
from propcvx.kernels import unit_of
from propcvx.labelings import FeasibleLabelings
from propcvx.programs import Lifting, lifted_svm_dual, mixture
from propcvx.relaxation.bounds import labeling_upper_bound, lower_bound
from propcvx.relaxation.order import check_order
from propcvx.relaxation.result import NO_OPTIONS, RelaxationResult
from propcvx.solvers import SolverNames, solve

Array = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class Lifted(BaseEstimator):
    r"""The semidefinite relaxation of Xu et al. (2004) with rows for the bags.

    It solves :func:`propcvx.programs.lifted_svm_dual` at once.  Its lower bound is evaluated from
    the multipliers, so a solver's error only makes it smaller; ``solver_tol=1e-4`` of
    :class:`propcvx.ConvPropSVM` is often enough.

    Parameters
    ----------
    max_order : int
        Largest order of the semidefinite matrix, which is at most the number of instances plus
        that of features (with a kernel: the rank of the Gram matrix), that it sets out to solve.

    Examples
    --------
    >>> from propcvx import ConvPropSVM
    >>> ConvPropSVM(relaxation=Lifted(max_order=600), solver_tol=1e-4).relaxation.max_order
    600
    """

    _: KW_ONLY
    max_order: int = 400

    def relax(
        self,
        features: Array,
        feasible: FeasibleLabelings,
        C: float,
        *,
        solver: SolverNames = "auto",
        tol: float = 1e-8,
        options: Mapping[str, Any] = NO_OPTIONS,
        on_round: Callable[[RelaxationResult], None] = lambda reached: None,
    ) -> RelaxationResult:
        r"""Solve it.

        Parameters
        ----------
        features : array of shape (n_instances, rank)
            F, one row per instance.
        feasible : FeasibleLabelings
            The set :math:`\mathcal{Y}`.
        C : float
            Weight of the hinge loss.
        solver : str or sequence
            Who solves the semidefinite program.
        tol : float
            The solver's tolerance.
        options : mapping
            Handed to the solver as they are; a time limit among them costs only tightness.
        on_round : callable
            Called with the result.

        Returns
        -------
        RelaxationResult
            Its vectors are soft labelings with the sums of the bags, see
            :func:`propcvx.programs.mixture`.

        Raises
        ------
        InputError
            If the problem is larger than ``max_order``.
        SolverError
            If the solver has no answer.
        """
        started, lifting = perf_counter(), Lifting.of(feasible)
        inside = lifting.span.shape[1]
        check_order(inside + features.shape[1], self.max_order)
        unit = unit_of(features, C)
        program = lifted_svm_dual(unit * features, feasible, C / unit**2)
        answer = solve(program, solver, tol=tol, residuals=False, quiet=True, **options)
        alpha = np.clip(unit**2 * answer.variables["alpha"], 0.0, C)
        weighted = alpha[:, None] * features
        largest = lifting.largest(
            weighted @ weighted.T,
            unit**2 * answer.variables["diagonal"],
            unit**2 * answer.variables.get("products", lifting.no_products),
        )
        matrix = answer.duals["semidefinite"][:inside, :inside]
        vectors, weights = mixture(lifting.span @ matrix @ lifting.span.T)
        labelings = nearest_labelings(vectors, weights, feasible)
        lower = lower_bound(alpha, largest / 2, C)
        value = max(unit**2 * answer.value, lower)
        result = RelaxationResult(
            value,
            lower,
            labeling_upper_bound(features, labelings, C),
            vectors,
            weights,
            alpha,
            labelings,
            solved_at_once(value, answer.solver, answer.status, perf_counter() - started),
        )
        on_round(result)
        return result


def nearest_labelings(vectors: Array, weights: Array, feasible: FeasibleLabelings) -> Array:
    """Feasible labelings nearest to the mean of a mixture, and to its leading axis either way."""
    axis = np.linalg.eigh((vectors.T * weights) @ vectors)[1][:, -1]
    found = feasible.best(np.column_stack([weights @ vectors, axis, -axis]))
    return np.unique(found.T, axis=0)


def solved_at_once(value: float, solver: str, status: str, seconds: float) -> History:
    """The history of a method of one round."""
    return History([Round(value, solver, status, seconds)], StopReason.SOLVED)
