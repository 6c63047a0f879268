"""How good is a labeling: an interval around the best one's value, from bags as they come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from tqdm import tqdm

from propcvx.bags.class_bags import ClassBags
from propcvx.bounds import (
    BOUNDS,
    Bound,
    CertifiedInterval,
    Event,
    Interval,
    LabelCosts,
    LabelingProblem,
    NodeRecord,
    OutOfTimeError,
    SwapSearch,
    find_bounds,
)
from propcvx.checks import check_number
from propcvx.errors import CrossedBoundsError, FailedBoundWarning, InputError, warn
from propcvx.estimators.base import BagClassifier
from propcvx.estimators.certified_labels import (
    allowed,
    margin_of,
    prove_labels,
    take_over,
    with_labels,
)
from propcvx.estimators.conv import ConvPropSVM
from propcvx.estimators.fitted_problem import arguments_of
from propcvx.estimators.threads import one_thread
from propcvx.estimators.training import TrainingData, proportion_term
from propcvx.history import StopReason
from propcvx.labelings.losses import ProportionLoss, constraint

SHARE = 0.2
"""Share of the time limit after which the search for labelings begins no further descent."""

BOUNDS_SHARE = 0.5
"""Share of the time limit that the bounds may use where labels are asked for, too."""


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
    labels: bool | float = False,
    start: Any = None,
    resume: CertifiedInterval | None = None,
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

    Called as ``certify(fitted, X, y)``, with a fitted :class:`propcvx.ConvPropSVM` or
    :class:`propcvx.AlterPropSVM`, it takes all parameters of the problem from the fit, and
    ``start``; of a fit with ``sample_weight`` it takes no weights.

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
    labels : bool or float
        Whether to prove single labels: for each instance, what the other label costs at least,
        see ``label_costs`` of the result.  Each is worked on until that is this number, 0.1 for
        True, or exactly known.
    start : array of shape (n_instances,), optional
        A labeling of -1 and +1 to begin the search with.
    resume : CertifiedInterval, optional
        An earlier result for the same problem, whose bounds are kept.
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
        After an interruption by Ctrl-C, too, once there is a labeling.  A bound that fails
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
    if isinstance(X, BagClassifier):
        return certify(**arguments_of(certify, locals()))
    check_number("C", C, above=0.0)
    margin = margin_of(labels)
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
    bar = tqdm(desc="nodes", disable=not verbose)
    bar_of_labels = tqdm(desc="labels", total=len(features), disable=not (verbose and margin))
    with bar, bar_of_labels, one_thread(len(features)):

        def show_event(event: Event) -> None:
            bar.set_postfix(lower=event.lower, upper=event.upper)
            on_event(event)

        def show_node(node: NodeRecord) -> None:
            bar.update()
            on_node(node)

        def show_label(margin: float, settled: int) -> None:
            bar_of_labels.n = settled
            bar_of_labels.set_postfix(margin=margin)

        interval = Interval(tol, time_limit, show_event, show_node)
        interval.safe = lambda lower: lower - lost * max(lower - least, 0.0)
        search = SwapSearch(problem, interval)
        costs, failed = None, dict[str, Exception]()
        if margin:
            interval.time_limit = BOUNDS_SHARE * time_limit
            tree = (costs := LabelCosts(search, margin, show_label)).moments
            if asked.get("branch_and_bound") is BOUNDS["branch_and_bound"]:
                asked["branch_and_bound"] = Bound(lambda *_: tree.branch())
        try:
            if start is not None:
                search.plane(allowed(start, problem))
            if resume is not None:
                take_over(resume, problem, search, costs)
            reason = _close(asked, search, check_random_state(random_state), failed)
            if costs is not None:
                interval.time_limit = time_limit
                reason = prove_labels(costs, reason, failed)
        except KeyboardInterrupt:
            if interval.labeling is None:
                raise
            reason = StopReason.INTERRUPTED
    for name, error in failed.items():
        warn(f"bound {name!r} failed: {error}", FailedBoundWarning)
    result = CertifiedInterval(
        max(interval.lower, least),
        interval.upper,
        interval.closed,
        prepared.bags.as_given(np.asarray(interval.labeling)),
        tuple(interval.events),
        tuple(interval.nodes),
        reason,
        interval.seconds,
        {name: f"{type(error).__name__}: {error}" for name, error in failed.items()},
        problem_key=problem.key,
    )
    return result if costs is None else with_labels(result, costs, tol)


def _close(
    bounds: dict[str, Bound],
    search: SwapSearch,
    random: np.random.RandomState,
    failed: dict[str, Exception],
) -> StopReason:
    """Search for labelings, where the first bound does not, then ask all; why it stopped.

    A bound's error, unless it says that bounds are false, is kept in ``failed``.
    """
    problem, interval = search.problem, search.interval
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
        return StopReason.OUT_OF_TIME
    if failed and interval.lower <= problem.least_cost:
        raise next(iter(failed.values()))
    return StopReason.PROVED if interval.closed else StopReason.EXHAUSTED
