"""Soft labels at a falling temperature: the entropic relaxation of the labeling step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator

from propcvx.checks import check_count, check_number
from propcvx.history import History, Round, StopReason
from propcvx.kernels import unit_of
from propcvx.labelings import FeasibleLabelings
from propcvx.losses import HINGE
from propcvx.programs import svm_dual, svm_dual_parameters
from propcvx.relaxation.labeling_svm import LabelingSVM, Rounded
from propcvx.relaxation.mixed_integer import starting_point
from propcvx.relaxation.result import NO_OPTIONS, RelaxationResult
from propcvx.relaxation.rounding import alternated
from propcvx.solvers import Solution, SolverNames, solve

Array = NDArray[np.float64]

FAR = 40.0
"""So many temperatures from its threshold a soft label is 0 or 1 to within rounding."""


def soft_labeling(gains: Array, feasible: FeasibleLabelings, temperature: float) -> Array:
    r"""Solve :func:`propcvx.programs.entropic_labeling_step`, bag by bag.

    Its solution is :math:`z_i = 1 / (1 + \exp((\theta_k - \delta_i) / T))`, where the threshold
    :math:`\theta_k` of the bag is 0, or gives the sum that is nearest to what 0 gives and feasible.
    It is found by bisection in all bags at once.

    Parameters
    ----------
    gains : array of shape (n_instances,)
        :math:`\delta_i = L(-1, f_i) - L(+1, f_i)`.
    feasible : FeasibleLabelings
        The set :math:`\mathcal{Y}`.
    temperature : float
        T > 0, in units of the loss.

    Returns
    -------
    z : array of shape (n_instances,)
        In [0, 1]; as T falls to 0, that of ``feasible.best(gains)``.
    """
    bags = feasible.bags
    free = bags.labels == 0
    known, _ = bags.known_counts()
    index, counts = bags.index[free], np.bincount(bags.index[free], minlength=bags.n_bags)
    low, high = feasible.lower - known, feasible.upper - known

    def labels(threshold: Array) -> Array:
        return np.asarray(expit((gains[free] - threshold[index]) / temperature))

    def sums(threshold: Array) -> Array:
        found = np.bincount(index, weights=labels(threshold), minlength=bags.n_bags)
        return np.asarray(found, dtype=np.float64)

    target = np.clip(sums(np.zeros(bags.n_bags)), low, high)
    reach = float(np.abs(gains).max(initial=0.0)) + temperature * (FAR + np.log(len(gains)))
    below, above = np.full(bags.n_bags, -reach), np.full(bags.n_bags, reach)
    for _ in range(100):
        middle = (below + above) / 2
        too_many = sums(middle) > target
        below, above = np.where(too_many, middle, below), np.where(too_many, above, middle)
    threshold = np.select([target <= 0, target >= counts], [np.inf, -np.inf], (below + above) / 2)
    z = (bags.labels > 0).astype(float)
    z[free] = labels(threshold)
    return z


@dataclass(eq=False, repr=False)
class Entropic(BaseEstimator):
    r"""Algorithm 1 with soft labels, in the manner of Sindhwani et al. (2006).

    .. math::

        \min_{w, z} \tfrac12 \|w\|^2 + C \sum_i \big[ z_i L(+1, f_i) + (1 - z_i) L(-1, f_i) \big]
        - C T \sum_i \big[ h(z_i) + h(1 - z_i) \big]

    over the z whose sums over the bags are feasible: the SVM of soft labels and
    :func:`soft_labeling` in turn, at falling temperatures T, and at last T = 0, where the labeling
    step is the bag sort.  It is convex in w and in z, and not in both: it proves no bound, and its
    labeling is never worse than that of alternation from the same start.

    Parameters
    ----------
    start : float
        The first temperature, in units of the loss.
    factor : float
        By which it falls, in (0, 1).
    n_temperatures : int
        How many.
    max_iter : int
        Largest number of rounds at one temperature.
    tol : float
        A temperature ends when no soft label moves by more.
    """

    _: KW_ONLY
    start: float = 1.0
    factor: float = 0.5
    n_temperatures: int = 8
    max_iter: int = 20
    tol: float = 1e-3

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
        """Descend; the arguments are those of :meth:`propcvx.relaxation.Lifted.relax`."""
        check_number("start", self.start, above=0.0)
        check_number("factor", self.factor, above=0.0, most=0.999)
        check_count("n_temperatures", self.n_temperatures)
        check_count("max_iter", self.max_iter)
        svm, soft = LabelingSVM(features, C), SoftSVM(features, C, solver, tol, options)
        first, history = starting_point(svm, feasible), History()
        scores = features @ first.weights
        for temperature in self.start * self.factor ** np.arange(self.n_temperatures):
            scores = self._descend(soft, feasible, float(temperature), scores, history)
        labeling = feasible.best(HINGE.reduction(scores))
        last = alternated(Rounded(labeling, svm.weights(labeling)), svm, feasible)
        best = min(first, last, key=lambda one: svm.value(one.labeling, one.weights))
        history.stop_reason = StopReason.CONVERGED
        value, one = svm.value(best.labeling, best.weights), best.labeling[None]
        alpha = np.clip(svm.alpha(best.labeling), 0.0, C)
        result = RelaxationResult(value, -np.inf, value, one, np.ones(1), alpha, one, history)
        on_round(result)
        return result

    def _descend(
        self,
        svm: SoftSVM,
        feasible: FeasibleLabelings,
        temperature: float,
        scores: Array,
        history: History,
    ) -> Array:
        """Soft labels and their SVM in turn at one temperature; the scores it ends with."""
        started, before = perf_counter(), np.full(len(scores), np.inf)
        for _ in range(self.max_iter):
            z = soft_labeling(HINGE.reduction(scores), feasible, temperature)
            if np.abs(z - before).max() <= self.tol:
                break
            before, answer = z, svm(z)
            scores = svm.scores(answer)
        record = Round(svm.value(answer), answer.solver, answer.status, perf_counter() - started)
        history.append(record)
        return scores


class SoftSVM:
    """The SVM of soft labels: every instance once with either label, C shared between them."""

    def __init__(
        self,
        features: Array,
        C: float,
        solver: SolverNames,
        tol: float,
        options: Mapping[str, Any],
    ) -> None:
        self.features, self.unit = features, unit_of(features, C)
        self.C, self.how = C / self.unit**2, {"solver": solver, "tol": tol, **options}
        self.program = svm_dual(self.unit * np.vstack([features, features]), bias=False)
        self.signs = np.repeat([1.0, -1.0], len(features))

    def __call__(self, z: Array) -> Solution:
        """Solve for soft labels z."""
        shares = self.C * np.concatenate([z, 1.0 - z])
        self.program.set(**svm_dual_parameters(self.signs, shares))
        return solve(self.program, residuals=False, quiet=True, **self.how)

    def scores(self, answer: Solution) -> Array:
        """Scores of the instances."""
        n = len(self.features)
        v = answer.variables["v"][:n] + answer.variables["v"][n:]
        return np.asarray(self.unit**2 * (self.features @ (self.features.T @ v)))

    def value(self, answer: Solution) -> float:
        """Value of the SVM, without the entropy."""
        return float(self.unit**2 * answer.value)
