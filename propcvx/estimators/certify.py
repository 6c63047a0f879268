"""How good is a labeling: an interval around the best one's value, from bags as they come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from tqdm import tqdm

from propcvx.bounds import (
    Bound,
    CertifiedInterval,
    Event,
    Interval,
    LabelingProblem,
    NodeRecord,
    OutOfTimeError,
    SwapSearch,
    find_bounds,
)
from propcvx.checks import check_number
from propcvx.class_bags import ClassBags
from propcvx.errors import CrossedBoundsError, FailedBoundWarning, InputError, warn
from propcvx.estimators.base import one_thread
from propcvx.estimators.conv import ConvPropSVM
from propcvx.estimators.training import TrainingData, proportion_term
from propcvx.history import StopReason
from propcvx.losses import ProportionLoss, constraint

SHARE = 0.2
"""Share of the time limit after which the search for labelings begins no further descent."""


def certify(
    X: Any,
    y: NDArray[Any],
    C: float = 1.0,
    *,
    epsilon: Any = 0.0,
    C_p: float | None = None,
    loss: Any = "absolute",
    bag_weights: Any = "bag",
    kernel: Any = "linear",
    gamma: float | str = "scale",
    degree: int = 3,
    coef0: float = 1.0,
    intercept: str = "center",
    kinds: Any = "auto",
    time_limit: float = 60.0,
    tol: float = 1e-4,
    random_state: Any = 0,
    on_event: Callable[[Event], None] = lambda event: None,
    on_node: Callable[[NodeRecord], None] = lambda node: None,
    verbose: bool = False,
) -> CertifiedInterval:
    r"""Bound the best labeling's value from both sides, until the bounds meet or time is over.

    .. math::

        \min_{y} \; \min_w \; \tfrac12 \|w\|^2 + C \sum_i \max(0, 1 - y_i w^\top F_i)
        + \sum_k \omega_k L_p(\tilde p_k(y), p_k)

    over labelings with the bags' proportions within ``epsilon`` (eq:convex_1) and without the last
    term, or over all labelings with it (eq:pSVM_2) where ``C_p`` is given.  Labels that are known
    are kept.  There is no bias; ``intercept`` says what stands in for it.

    Parameters
    ----------
    X : array of shape (n_instances, n_features)
        Instances; the square Gram matrix for ``kernel="precomputed"``.
    y : bag target of shape (n_instances,)
        Made by :func:`propcvx.bag_target`.
    C : float
        Weight of the hinge loss.
    epsilon : float, "rounding", "sampling", array of shape (n_bags,), dict or pandas Series
        Tolerance of the proportions, as in :class:`propcvx.ConvPropSVM`.
    C_p : float, optional
        Weight of the proportion loss: the loss form, in which ``epsilon`` is not used.
    loss : str or ProportionLoss
        ``"absolute"`` or ``"squared"``, or one of your own.
    bag_weights : "bag", "size", array of shape (n_bags,), dict or pandas Series
        What ``C_p`` is multiplied by for each bag, as in :class:`propcvx.AlterPropSVM`.
    kernel, gamma, degree, coef0, intercept
        As in :class:`propcvx.ConvPropSVM`.
    kinds : "auto", str, object, or sequence of these
        Bounds, asked in this order.  Names in ``propcvx.bounds.BOUNDS``: ``"enumeration"``,
        ``"directions"`` (two features, exact), ``"bag_moments"`` and ``"branch_and_bound"``, which
        begins with it; ``"auto"`` takes the first two where they can do the problem, and
        branch and bound.  A relaxation of the hinge loss is one, too, by its name in
        ``propcvx.relaxation.RELAXATIONS`` or as an object with the method ``relax``, such as
        ``CuttingPlanes(master="epigraph", oracle="eigenvalue", max_cuts=200)``; and a
        :class:`propcvx.bounds.Bound`.
    time_limit : float
        Seconds after which the interval reached is returned.
    tol : float
        Relative gap at which a labeling counts as proved optimal.
    random_state : int, RandomState or None
        Of the search for labelings.
    on_event, on_node : callable
        Told of each improvement of the interval, and of each node of the tree.
    verbose : bool
        Show progress.

    Returns
    -------
    CertifiedInterval
        After an interruption by Ctrl-C, too, with the interval that it has.  A bound that fails
        costs only what it would have proved: a :class:`~propcvx.errors.FailedBoundWarning` and
        ``failures`` name it.

    Raises
    ------
    InputError
        If an argument cannot be used, or a bound cannot do the problem; the message says which
        can.
    CrossedBoundsError
        If a labeling's value contradicts what a bound has proved; the message names it.
    Exception
        That of the first bound that failed, if nothing at all is proved.

    Examples
    --------
    >>> import propcvx
    >>> X = np.array([[1.0, 0.2], [0.8, -0.1], [-0.9, 0.3], [-1.1, 0.0]])
    >>> y = propcvx.bag_target([0, 0, 0, 1], [2 / 3, 0.0])
    >>> result = certify(X, y, C=1.0)
    >>> result.proved_optimal, round(result.upper, 3), result.labeling
    (True, 0.656, array([ 1.,  1., -1., -1.]))
    """
    check_number("C", C, above=0.0)
    check_number("tol", tol, least=0.0)
    check_number("time_limit", time_limit, above=0.0)
    model = ConvPropSVM(
        C, epsilon, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0, intercept=intercept
    )
    prepared = TrainingData.of(model, X, y)
    prepared.bags.require_partition("certify")
    if isinstance(prepared.bags, ClassBags):
        raise InputError(f"y must have two classes to be certified, got {prepared.bags.n_classes}.")
    feature_map = prepared.feature_map(model)
    features, _ = model._lift(feature_map.features)
    if C_p is None:
        prepared.bags.check_known(epsilon)
        term: tuple[ProportionLoss, Any] = constraint(epsilon), 1.0
    else:
        term = proportion_term("loss", loss, C_p, bag_weights, prepared.bags)
    problem = LabelingProblem.of(features, prepared.bags, C, *term)
    asked = find_bounds(kinds, problem)
    lost, least = 1.0 - feature_map.share_of_bounds(C), problem.least_cost
    with tqdm(desc="nodes", disable=not verbose) as bar, one_thread(len(features)):

        def show_event(event: Event) -> None:
            bar.set_postfix(lower=event.lower, upper=event.upper)
            on_event(event)

        def show_node(node: NodeRecord) -> None:
            bar.update()
            on_node(node)

        interval = Interval(tol, time_limit, show_event, show_node)
        interval.safe = lambda lower: lower - lost * max(lower - least, 0.0)
        reason, failed = _close(problem, interval, asked, check_random_state(random_state))
    for name, error in failed.items():
        warn(f"bound {name!r} failed: {error}", FailedBoundWarning)
    return CertifiedInterval(
        interval.lower,
        interval.upper,
        interval.closed,
        prepared.bags.as_given(np.asarray(interval.labeling)),
        tuple(interval.events),
        tuple(interval.nodes),
        reason,
        interval.seconds,
        {name: f"{type(error).__name__}: {error}" for name, error in failed.items()},
    )


def _close(
    problem: LabelingProblem,
    interval: Interval,
    bounds: dict[str, Bound],
    random: np.random.RandomState,
) -> tuple[StopReason, dict[str, Exception]]:
    """Search for labelings, where the first bound does not, then ask all; why it stopped.

    A bound's error, unless it says that bounds are false, is kept.
    """
    search, failed = SwapSearch(problem, interval), dict[str, Exception]()
    search.plane(problem.best_for(np.zeros(len(problem.features))))
    interval.prove("no loss is negative", problem.least_cost)
    try:
        if not any(bound.finds for bound in list(bounds.values())[:1]):
            search.search(random, SHARE)
        for name, bound in bounds.items():
            try:
                if not interval.closed:
                    bound.run(problem, interval, search)
            except (OutOfTimeError, CrossedBoundsError):
                raise
            except Exception as error:
                failed[name] = error
    except OutOfTimeError:
        return StopReason.OUT_OF_TIME, failed
    except KeyboardInterrupt:
        return StopReason.INTERRUPTED, failed
    if failed and interval.lower <= problem.least_cost:
        raise next(iter(failed.values()))
    return StopReason.PROVED if interval.closed else StopReason.EXHAUSTED, failed
