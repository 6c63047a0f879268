r"""The interface and the result of all relaxations of Equation (9), eq:convex_1."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from propcvx.arrays import Array, Weight
from propcvx.checks import Shapes, check_fields
from propcvx.errors import InputError, SolverError
from propcvx.history import History, Round, StopReason
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.relaxation.bounds import check_consistent, labeling_upper_bound
from propcvx.solvers import Solve
from propcvx.svm.kernels import scale_by, unit_of
from propcvx.text import Readable

LISTED = 5
"""Number of weights of a mixture that are printed, largest first."""


@dataclass(frozen=True)
class RelaxationResult(Readable):
    r"""Result of a relaxation with a matrix M in place of :math:`y y^\top`.

    M is in the set of Equation (13), or in a larger one.

    Attributes
    ----------
    loss : str
        The loss of value and bounds: ``"hinge"``, as in Equation (9), eq:convex_1, for this class.
    value : float
        The objective value reached.
    lower, upper : float
        Bounds on the relaxation's optimum for any accuracy of the solvers (except SCIP, whose own
        bound counts).  ``lower`` bounds the value of every feasible labeling; it is minus infinity
        if nothing is proved.
    vectors : array of shape (n_vectors, n_instances)
        :math:`v_t` with :math:`M = \sum_t \mu_t v_t v_t^\top`.
    weights : array of shape (n_vectors,)
        :math:`\mu_t \ge 0`.
    alpha : array of shape (n_instances,)
        Dual variables of the hinge losses, in [0, C_i] with C_i the weight of the
        loss of instance i.
    labelings : array of shape (n_labelings, n_instances)
        The feasible labelings that were found.
    history : History
        One record per round.
    exception : exception or None
        The interruption or solver failure that ended a loop after at least one round.

    Notes
    -----
    The paper's Section 8 asks when M preserves the proportions.  Let each bag allow one number of
    positives, :math:`1_k` be the indicator of bag k and :math:`s_k = 2 n_k p_k - n_k`.  Every
    feasible labeling has :math:`1_k^\top y = s_k`, so a mixture of labelings has
    :math:`M 1_k = s_k \bar y` with the mean labeling :math:`\bar y = \sum_t \mu_t y_t`.

    - The mean labeling has all proportions.  For any k with :math:`s_k \ne 0` it is
      :math:`M 1_k / s_k`, with its sign.
    - The leading eigenvector u has :math:`1_k^\top u = c\, s_k` with one c for all bags: M maps
      :math:`\sum_k x_k 1_k` to 0 if :math:`\sum_k x_k s_k = 0`, and u is orthogonal to it.

    Examples
    --------
    >>> from propcvx import ConvPropSVM, CuttingPlanes, bag_target
    >>> from propcvx.datasets import make_two_bags
    >>> two = make_two_bags(random_state=0)
    >>> exact = ConvPropSVM(1.0, relaxation=CuttingPlanes(oracle="sweep"))
    >>> print(exact.fit(two.X, bag_target(two.bags, two.proportions)).relaxation_)
    Value 11.60796 by the hinge loss; its optimum is between 11.60796 and 11.60796.
    No feasible labeling's value is below 11.60796.
    200 instances; labelings found: 1; weights of the mixture M: 1.00.
    round  objective  violation  cuts  solver      status  seconds
        1     11.608          0     1  clarabel  optimal    ...
    Stopped after 1 round and ... s: the oracle found no labeling that violates the relaxation.
    Advice: with an exact oracle this is the relaxation's optimum; an inexact one ...
    """

    loss: ClassVar[str] = "hinge"

    value: float
    lower: float
    upper: float
    vectors: Array
    weights: Array
    alpha: Array
    labelings: Array
    history: History
    exception: BaseException | None = None

    def __str__(self) -> str:
        """Format the value, its bounds, the weights of M, and the rounds."""
        proved = f"No feasible labeling's value is below {self.lower:.7g}."
        heaviest = np.sort(self.weights)[::-1]
        more = ", ..." if len(heaviest) > LISTED else ""
        weights = ", ".join(f"{weight:.2f}" for weight in heaviest[:LISTED])
        return (
            f"Value {self.value:.7g} by the {self.loss} loss; its optimum is between "
            f"{self.lower:.7g} and {self.upper:.7g}.\n"
            f"{proved if np.isfinite(self.lower) else 'It proves no lower bound.'}\n"
            f"{len(self.alpha)} instances; labelings found: {len(self.labelings)}; "
            f"weights of the mixture M: {weights}{more}.\n{self.history}"
        )

    def separator_weights(self, features: Array, labeling: Array, C: Weight) -> Array:
        r"""Compute the weights of the separator of a labeling: :math:`F^\top (y \circ \alpha)`.

        Parameters
        ----------
        features : array of shape (n_instances, rank)
            The features F, one row per instance.
        labeling : array of shape (n_instances,)
            Real-valued, as rounded from M.
        C : float or array of shape (n_instances,)
            Weight of the loss, which the hinge loss does not need.
        """
        return np.asarray(features.T @ (self.alpha * labeling))

    def upper_bound(self, features: Array, labelings: Array, C: Weight, weights: Array) -> float:
        """Compute an upper bound on the least value, by this loss, of feasible labelings.

        Parameters
        ----------
        features : array of shape (n_instances, rank)
            The features F, one row per instance.
        labelings : array of shape (n_labelings, n_instances)
        C : float or array of shape (n_instances,)
            Weight of the loss.
        weights : array of shape (rank,)
            Weights of a known separator, used if the solver fails.
        """
        return labeling_upper_bound(features, labelings, C, weights=weights)

    def rescale(self, factor: float) -> RelaxationResult:
        """Return a result with values, bounds, alpha and rounds multiplied by a factor."""

        def scaled(record: Round) -> Round:
            violation = None if record.violation is None else factor * record.violation
            return replace(record, objective=factor * record.objective, violation=violation)

        history = History(map(scaled, self.history), self.history.stop_reason)
        values = {name: factor * getattr(self, name) for name in ("value", "lower", "upper")}
        return replace(self, **values, alpha=factor * self.alpha, history=history)


def check_result(source: str, result: Any, feasible: FeasibleLabelings) -> None:
    """Check the numbers and labelings of a relaxation's result, which may be of a user's class.

    Raises
    ------
    InputError
        If it is no valid :class:`RelaxationResult`; the message begins with ``source``.
    """
    n = feasible.bags.n_instances
    numbers: Shapes = {"value": (), "lower": (), "upper": (), "alpha": (n,)}
    vectors: Shapes = {"weights": result.vectors.shape[:1], "vectors": (None, n)}
    check_fields(source, result, {**numbers, **vectors}, {"lower": -np.inf, "upper": np.inf})
    check_consistent(source, result.lower, result.upper)
    if np.min(result.weights) < 0.0 or not result.history:
        raise InputError(
            f"{source} must return weights >= 0 and a history of at least one round; got "
            f"{result.weights!r:.200} and {len(result.history)} rounds."
        )
    for labeling in result.labelings:
        if fault := feasible.fault_of(labeling):
            raise InputError(f"{source} returned a labeling that is not feasible: {fault}.")


Rounds = Iterator[RelaxationResult]
"""The results of a relaxation, round by round."""


class Relaxation(BaseEstimator, ABC):
    """Base of relaxations: a subclass implements ``_relax(features, feasible, C, solve)``.

    That is a generator of a :class:`RelaxationResult` after each round, in the units of its
    arguments, which :meth:`relax` scales.
    Without this base, any object with a method ``relax`` of the same arguments serves, too.
    """

    def relax(
        self,
        features: Array,
        feasible: FeasibleLabelings,
        C: Weight,
        *,
        solve: Solve = Solve(),
        on_round: Callable[[RelaxationResult], None] = lambda result: None,
    ) -> RelaxationResult:
        r"""Solve the relaxation.

        Features and C are scaled so that the numbers of the program are near 1; the result is in
        the units of the arguments.

        Parameters
        ----------
        features : array of shape (n_instances, rank)
            F, one row per instance.
        feasible : FeasibleLabelings
            The set :math:`\mathcal{Y}`.
        C : float or array of shape (n_instances,)
            Weight of the loss.
        solve : Solve
            Solves its programs; with a time limit the bounds hold, but may be wider.
        on_round : callable
            Called after each round with its result.

        Returns
        -------
        RelaxationResult
            After an interruption or a solver's failure, the result of the rounds before, with
            ``exception``.

        Raises
        ------
        InputError
            If a parameter cannot be used, or the problem is larger than a parameter allows.
        KeyboardInterrupt, SolverError
            In the first round, when there is nothing to keep.
        """
        unit, result = unit_of(features, C), None
        try:
            for scaled in self._relax(scale_by(unit, features), feasible, C / unit**2, solve):
                result = scaled.rescale(unit**2)
                at_most = np.where(scaled.alpha >= C / unit**2, C, np.minimum(result.alpha, C))
                result = replace(result, alpha=at_most)
                on_round(result)
        except (KeyboardInterrupt, SolverError) as failure:
            if result is None:
                raise
            history = History(result.history, StopReason.from_exception(failure))
            return replace(result, history=history, exception=failure)
        if result is None:
            raise NotImplementedError(f"{type(self).__name__}._relax yields no result.")
        return result

    @abstractmethod
    def _relax(
        self, features: Array, feasible: FeasibleLabelings, C: Weight, solve: Solve
    ) -> Rounds:
        """Yield the result of each round."""
