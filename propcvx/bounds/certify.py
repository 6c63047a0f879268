"""Certified interval around the optimal value over labelings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from tqdm import tqdm

from propcvx.arrays import Array, BagWeights, KernelFunction, KernelName, Scale, Seed, Tolerance
from propcvx.bags.bags import Bags
from propcvx.bags.targets import ONE_CLASS
from propcvx.bounds.interval import CertifiedInterval, Event, Interval, OutOfTimeError
from propcvx.bounds.swap_search import SwapSearch
from propcvx.bounds.table import Bound, find_bounds
from propcvx.checks import check_labeling, check_number
from propcvx.errors import BoundFailedWarning, InconsistentBoundsError, InputError, warn
from propcvx.history import StopReason
from propcvx.labelings.losses import ProportionLoss, constraint
from propcvx.relaxation.bounds import CROSSED
from propcvx.svm.problem import LabelingProblem
from propcvx.svm.threads import one_thread
from propcvx.svm.training import KernelMethod, TrainingData, proportion_term

KERNEL = ("kernel", "gamma", "degree", "coef0")
"""Parameters of the kernel, which all estimators have."""

OF_PROBLEM = ("epsilon", "C_p", "proportion_loss", "bag_weights", "intercept", "init", *KERNEL)
"""Arguments that are taken from the fit, in addition to C."""

SEARCH_SHARE = 0.2
"""Fraction of the time limit after which the search for labelings begins no further descent."""


def certify(
    X: Any,
    y: NDArray[Any],
    C: float = 1.0,
    *,
    epsilon: Tolerance = 0.0,
    C_p: float | None = None,
    proportion_loss: str | ProportionLoss = "absolute",
    bag_weights: BagWeights = "uniform",
    kernel: KernelName | KernelFunction = "linear",
    gamma: Scale = "scale",
    degree: int = 3,
    coef0: float = 1.0,
    intercept: str = "center",
    bounds: Any = "auto",
    init: ArrayLike | None = None,
    time_limit: float = 60.0,
    tol: float = 1e-4,
    random_state: Seed = 0,
    callback: Callable[[Event], None] = lambda event: None,
    verbose: bool = False,
) -> CertifiedInterval:
    r"""Bound the optimal value over labelings from both sides, within the time limit.

    .. math::

        \min_{y} \; \min_w \; \tfrac12 \|w\|^2 + C \sum_i \max(0, 1 - y_i w^\top F_i)
        + C_p \sum_k \omega_k L_p(\tilde p_k(y), p_k)

    with :math:`\omega_k` the ``bag_weights``, over labelings with the bags' proportions within
    ``epsilon`` and without the last term (Equation (9), eq:convex_1), or, if you pass ``C_p``, over
    all labelings with the last term (Equation (4), eq:pSVM_2).  Labelings agree with the known
    labels.  The classifier has no bias; ``intercept``
    replaces it by centered features or a constant feature.

    ``certify(fitted, X, y)``, with a fitted :class:`propcvx.ConvPropSVM` or
    :class:`propcvx.AlterPropSVM`, takes all parameters of the problem and ``init`` from the fit,
    but not its ``sample_weight``; only ``bounds``, ``time_limit``, ``tol``, ``random_state``,
    ``callback`` and ``verbose`` may be passed.  The bias of ``AlterPropSVM`` is no part of the
    problem: ``intercept`` replaces it, and ``lower`` does not bound its objective.

    Parameters
    ----------
    X : array of shape (n_instances, n_features)
        Instances; the square Gram matrix for ``kernel="precomputed"``.  Or a fitted estimator,
        followed by these and y.
    y : bag target of shape (n_instances,)
        Made by :func:`propcvx.bag_target`.
    C : float, default=1.0
        Weight of the hinge loss; a number, not ``"scale"``.
    epsilon : float, "rounding", "sampling", array of shape (n_bags,), dict or Series, default=0.0
        Tolerance of the proportions, as in :class:`propcvx.ConvPropSVM`.
    C_p : float, optional
        Weight of the proportion loss: the loss form, in which ``epsilon`` is not used.
    proportion_loss : str or ProportionLoss, default="absolute"
        As in :class:`propcvx.AlterPropSVM`; a loss of your own must not be negative.
    bag_weights : "uniform", "size", array of shape (n_bags,), dict or Series, default="uniform"
        Factor of ``C_p`` for each bag, as in :class:`propcvx.AlterPropSVM`, whose default is
        ``"size"``.
    kernel, gamma, degree, coef0, intercept
        As in :class:`propcvx.ConvPropSVM`.
    bounds : "auto", str, object, or sequence of these, default="auto"
        Bounds, computed in this order.  Names in :data:`~propcvx.bounds.table.BOUNDS`:
        ``"enumeration"``, ``"bag_moments"`` and ``"branch_and_bound"``, which begins with
        ``"bag_moments"``.  ``"auto"`` is branch and bound, after enumeration if there are few
        labelings.  A relaxation of the hinge loss is a bound, too: its name in
        :data:`~propcvx.relaxation.comparison.RELAXATIONS`, or an object with the method
        ``relax``, such as
        ``CuttingPlanes(master="epigraph", oracle="eigenvalue", max_cuts=200)``.  So is a
        :class:`propcvx.bounds.Bound` of your own.
    init : array of shape (n_instances,), optional
        A labeling of -1 and +1 to begin the search with, such as the one of an earlier result.
    time_limit : float, default=60.0
        Seconds after which the search ends; the result is the interval that is proved by then.
    tol : float, default=1e-4
        Relative gap at which a labeling counts as proved optimal.
    random_state : int, RandomState or None, default=0
        Seed of the search for labelings.
    callback : callable
        Called with a :class:`propcvx.bounds.Event` at each improvement of the interval.
    verbose : bool, default=False
        Show progress.

    Returns
    -------
    CertifiedInterval
        Also after an interruption by Ctrl-C, once there is a labeling.  If a bound fails, the
        result uses the others; a :class:`~propcvx.errors.BoundFailedWarning` and ``failures`` name
        the failed bound.

    Raises
    ------
    InputError
        If an argument cannot be used, or a bound does not support the problem; the message names
        bounds that do.
    InconsistentBoundsError
        If a labeling's value is below a lower bound; the message names the bound.
    Exception
        The error of the first bound that failed, if no bound is proved.

    Warns
    -----
    BoundFailedWarning
        If some bounds failed, but not all.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx import bag_target, certify
    >>> X = np.array([[1.0, 0.2], [0.8, -0.1], [-0.9, 0.3], [-1.1, 0.0]])
    >>> y = bag_target([0, 0, 0, 1], [2 / 3, 0.0])
    >>> result = certify(X, y, C=1.0)
    >>> result.is_optimal, round(result.upper, 3), result.labeling
    (True, 0.656, array([ 1.,  1., -1., -1.]))
    """
    if isinstance(X, KernelMethod):
        return certify(**_arguments_of_fit(locals()))
    if isinstance(X, BaseEstimator):
        raise InputError(
            "X must be instances, or a fitted ConvPropSVM or AlterPropSVM; of a pipeline call "
            f"certify(model[-1], model[:-1].transform(X), y); got {X!r:.200}."
        )
    check_number("C", C, low=0.0)
    check_number("tol", tol, low=0.0, closed="left")
    check_number("time_limit", time_limit, low=0.0)
    method = KernelMethod(kernel=kernel, gamma=gamma, degree=degree, coef0=coef0)
    data = TrainingData.from_arrays(method, X, y)
    loss, weights = _checked_term(data.bags, epsilon, proportion_loss, C_p, bag_weights)
    feature_map = data.feature_map(method)
    features, _ = feature_map.with_intercept(intercept)
    problem = LabelingProblem(data.bags, C, weights, loss, features=features)
    if problem.least_cost < 0.0:
        raise InputError(f"proportion_loss must not be negative; got {loss!r:.200}.")
    bounds, least_cost = find_bounds(bounds, problem), problem.least_cost
    fraction = feature_map.bound_factor(C)
    bar = tqdm(desc="nodes", disable=not verbose)
    with bar, one_thread(len(features)):
        interval = Interval(tol, time_limit, callback, progress=bar)
        interval.gram_lower = lambda lower: lower - (1.0 - fraction) * max(lower - least_cost, 0.0)
        search = SwapSearch.from_problem(problem, interval)
        work = _Certification(search)
        reason = work.run(bounds, init, check_random_state(random_state))
    return work.result(reason)


def _arguments_of_fit(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``certify`` given those of a call ``certify(fitted, X, y, ...)``."""
    fitted, X, y = (arguments[name] for name in ("X", "y", "C"))
    check_is_fitted(fitted)
    if not hasattr(y, "__len__"):
        raise InputError(f"y must be the target, after a fitted estimator and X; got {y!r}.")
    if twice := _not_default({name: arguments[name] for name in OF_PROBLEM}):
        raise InputError(f"{', '.join(twice)} must not be given, as the fitted estimator has it.")
    _check_two_classes(len(fitted.classes_))
    settings = fitted._certified_form() | {name: getattr(fitted, name) for name in KERNEL}
    _check_same_data(fitted, X, y)
    init = np.where(fitted.transduction_ == fitted.classes_[1], 1.0, -1.0)
    return {**arguments, **settings, "X": X, "y": y, "init": init}


def _not_default(arguments: Mapping[str, Any]) -> list[str]:
    """Return the names of the arguments that differ from the defaults of ``certify``."""
    defaults = {name: part.default for name, part in signature(certify).parameters.items()}
    return [name for name, x in arguments.items() if np.ndim(x) > 0 or x != defaults[name]]


def _check_two_classes(n_classes: int) -> None:
    """Raise if there are more than two classes, which have no certificates."""
    if n_classes > 2:
        raise InputError(f"y must have two classes; got {n_classes}; {ONE_CLASS}.")


def _check_same_data(fitted: KernelMethod, X: Any, y: Any) -> None:
    """Check the numbers of instances and features, and the instances that a kernel stores."""
    fit_shape = len(fitted.transduction_), fitted.n_features_in_
    shape = getattr(X, "shape", np.shape(X))
    if shape != fit_shape or len(y) != fit_shape[0]:
        raise InputError(
            f"X and y must be the data of the fit, X of shape {fit_shape}; got {shape} and "
            f"{len(y)} rows of y."
        )
    training = fitted.feature_map_.training
    instances = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    if training is not None and not np.array_equal(training, instances):
        raise InputError("X must have the instances of the fit; got others.")


def _checked_term(
    bags: Bags, epsilon: Any, loss: Any, C_p: float | None, bag_weights: Any
) -> tuple[ProportionLoss, Any]:
    """Check the arguments of the loss; return the proportion loss and its weights."""
    _check_two_classes(bags.n_classes)
    form, others = "with", {"epsilon": epsilon}
    if C_p is None:
        form, others = "without", {"proportion_loss": loss, "bag_weights": bag_weights}
    for name in _not_default(others):
        raise InputError(f"{name} must be omitted {form} C_p; got {others[name]!r}.")
    if C_p is not None:
        check_number("C_p", C_p, low=0.0, closed="left")
        return proportion_term("proportion_loss", loss, C_p, bag_weights, bags)
    bags.check_known(epsilon)
    return constraint(epsilon), 1.0


def _allowed(init: Any, problem: LabelingProblem) -> Array:
    """Check the labeling to begin with."""
    labeling = check_labeling("init", init, len(problem.features)).astype(np.float64)
    if not np.isfinite(problem.cost(labeling)):
        raise InputError(
            "init must be a labeling that y allows; got other numbers of positives, or another "
            "label than a known one. Pass the labeling of a fit with the X and y of that fit."
        )
    return labeling


@dataclass(eq=False)
class _Certification:
    """The state of the search on one problem.

    Attributes
    ----------
    search : SwapSearch
        The search, with the problem and the interval.
    failures : dict
        The errors of bounds, except an error that a bound is invalid, which is raised.
    """

    search: SwapSearch
    failures: dict[str, Exception] = field(default_factory=dict)

    def run(self, bounds: dict[str, Bound], init: Any, random: RandomState) -> StopReason:
        """Search for labelings, then compute each bound, and return why it stopped."""
        search, problem, interval = self.search, self.search.problem, self.search.interval
        try:
            if init is not None:
                search.evaluate(_allowed(init, problem))
            search.evaluate(problem.best_labeling(np.zeros(len(problem.features))))
            interval.prove("no loss is negative", problem.least_cost)
            if not any(bound.finds_labeling for bound in list(bounds.values())[:1]):
                search.search(random, SEARCH_SHARE)
            for name, bound in bounds.items():
                self._prove(name, bound)
        except OutOfTimeError:
            return StopReason.OUT_OF_TIME
        except KeyboardInterrupt:
            if interval.labeling is None:
                raise
            return StopReason.INTERRUPTED
        if self.failures and interval.lower <= problem.least_cost:
            raise next(iter(self.failures.values()))
        return StopReason.PROVED if interval.closed else StopReason.EXHAUSTED

    def _prove(self, name: str, bound: Bound) -> None:
        """Compute a bound; if it fails, the others are computed all the same."""
        try:
            if not self.search.interval.closed:
                bound.run(self.search.problem, self.search.interval, self.search)
        except (OutOfTimeError, InconsistentBoundsError):
            raise
        except Exception as error:
            self.failures[name] = error

    def result(self, reason: StopReason) -> CertifiedInterval:
        """Build the result, and issue its warnings."""
        problem, interval = self.search.problem, self.search.interval
        value = self.search.value(np.asarray(interval.labeling))
        if value > interval.upper * (1.0 + CROSSED):
            raise InconsistentBoundsError(
                f"bounds must offer labelings with their value; got {interval.upper:.6g} from "
                f"{interval.events[-1].bound!r} or an earlier bound, recomputed {value:.6g}. The "
                "value of a labeling that y excludes is infinite."
            )
        for name, error in self.failures.items():
            warn(f"bound {name!r} failed: {error}", BoundFailedWarning)
        return CertifiedInterval(
            max(interval.lower, problem.least_cost),
            interval.upper,
            interval.closed,
            np.asarray(interval.labeling),
            tuple(interval.events),
            tuple(interval.nodes),
            reason,
            interval.seconds,
            {name: f"{type(error).__name__}: {error}" for name, error in self.failures.items()},
        )
