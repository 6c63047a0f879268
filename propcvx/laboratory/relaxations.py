"""Relaxations and bounds side by side on one problem."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from time import perf_counter, process_time
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from propcvx.arrays import Array
from propcvx.bags.targets import bag_target
from propcvx.bounds import BOUNDS, Bound, Event, LabelingProblem, certify
from propcvx.bounds.table import by_name, relaxation_bound
from propcvx.errors import CrossedBoundsError, InputError, SolverError
from propcvx.estimators import ConvPropSVM
from propcvx.history import StopReason
from propcvx.relaxation import RELAXATIONS, CuttingPlanes, MixedInteger, RelaxationResult
from propcvx.relaxation.bounds import check_crossing, gap_between
from propcvx.relaxation.oracles import ORACLES, SemidefiniteOracle
from propcvx.relaxation.rounding import ROUNDINGS
from propcvx.relaxation.table import each_once

Row = dict[str, Any]

EMPTY: Row = {
    **dict.fromkeys(("loss", "value", "lower", "upper", "gap", "best_upper", "best_gap")),
    **dict.fromkeys(("seconds", "cpu_seconds", "cuts", "rounds", "nodes", "bag_error")),
    **dict.fromkeys(("accuracy", "labels_right", "status", "reason", "warnings", "history")),
}
"""The columns of a row beside its kind, before anything is computed."""

STATUS = {
    StopReason.OUT_OF_TIME: "out of time",
    StopReason.INTERRUPTED: "interrupted",
    StopReason.SOLVER_FAILED: "solver failed",
}
"""Status of a row by the reason why the method stopped; ``"done"`` for all other reasons."""

ERRORS = {InputError: "refused", SolverError: "solver failed", MemoryError: "solver failed"}
"""Status of a row by the error that left it empty; ``"failed"`` for all others."""

ROUGHLY_SEMIDEFINITE = partial(SemidefiniteOracle, tol=1e-4)
"""A faster oracle; its bounds hold at any accuracy."""

KINDS: Mapping[str, Any] = MappingProxyType(
    {
        "search": Bound(lambda problem, interval, search: None),
        **RELAXATIONS,
        "mixed_integer": MixedInteger(seconds=np.inf),
        **{
            f"cutting_planes:{name}": CuttingPlanes(master="epigraph", oracle=oracle, max_cuts=200)
            for name, oracle in {**ORACLES, "semidefinite": ROUGHLY_SEMIDEFINITE}.items()
            if name != "coordinate_features"
        },
        **{name: name for name in BOUNDS},
    }
)
"""What is compared, by name: the search for labelings alone, relaxations, and bounds.

Of the two coordinate oracles, the one along the axes of the variance is compared.
"""


def compare_relaxations(
    X: Any,
    y: NDArray[np.void],
    C: float = 1.0,
    *,
    labels: Any = None,
    kinds: Any = "all",
    time_limit: float = 60.0,
    tol: float = 1e-4,
    random_state: Any = 0,
    verbose: bool = False,
    **posed: Any,
) -> list[Row]:
    r"""Compare relaxations and bounds on the best labeling's value, eq:convex_1.

    .. math::

        \min_{y \in \mathcal{Y}} \min_w \tfrac12 \|w\|^2 + C \sum_i \max(0, 1 - y_i w^\top F_i)

    The problem is the same for all, without a bias.  The first row is always ``"search"``, which
    looks for good labelings and bounds nothing.

    Parameters
    ----------
    X : array of shape (n_instances, n_features)
    y : bag target of shape (n_instances,)
        Made by :func:`propcvx.bag_target`.
    C : float
        Weight of the hinge loss.
    labels : array of shape (n_instances,), optional
        True labels -1, +1, for accuracies.
    kinds : "all", str, object, or sequence of these
        Names in ``propcvx.laboratory.relaxations.KINDS``, objects with the method ``relax``, and a
        :class:`propcvx.bounds.Bound`, computed in this order.
    time_limit : float
        Seconds for each of them; then it returns what it has reached.  A single step, such as a
        semidefinite program of an oracle, is not interrupted.
    tol : float
        Relative gap at which a labeling counts as proved optimal.
    random_state : int, RandomState or None
        Of the search for labelings.
    verbose : bool
        Show progress.
    **posed
        ``epsilon``, ``kernel``, ``gamma``, ``degree``, ``coef0`` and ``intercept`` as in
        :class:`propcvx.ConvPropSVM`.

    Returns
    -------
    list of dict
        Ready for ``pandas.DataFrame``; None where a value does not exist.  ``kind``, the name;
        ``loss`` of the relaxation, and its ``value`` by that loss; ``lower`` and ``upper``, which
        bound the best labeling's hinge value, ``upper`` being the hinge value of this kind's
        labeling, whatever the loss; ``gap``, ``(upper - lower) / upper``; the smallest of all upper
        bounds, ``best_upper``, and ``best_gap`` to it; wall and processor time; ``cuts``,
        ``rounds``, ``nodes``; ``bag_error`` and ``accuracy`` of the labeling's SVM on the
        instances, and ``labels_right`` of the labeling itself; ``status``, one of "done",
        "proved optimal", "out of time", "refused", "solver failed", "failed", "interrupted", and
        the ``reason`` of a failure or of an empty row; ``warnings``; ``history``, pairs of
        processor time and the lower bound, whenever it rose.
        After Ctrl-C, the rows that were finished and the one that was interrupted.

    Raises
    ------
    InputError
        If an argument cannot be used.  A relaxation or bound that cannot do the problem is a row
        with the reason.

    Examples
    --------
    >>> from propcvx import bag_target
    >>> X = np.array([[1.0, 0.2], [0.8, -0.1], [-0.9, 0.3], [-1.1, 0.0]])
    >>> y = bag_target([0, 0, 0, 1], [2 / 3, 0.0])
    >>> for row in compare_relaxations(X, y, kinds=["diffrac", "enumeration"]):
    ...     print(row["kind"], row["status"], round(row["upper"], 3))
    search done 0.656
    diffrac done 0.656
    enumeration proved optimal 0.656
    """
    if labels is not None and np.shape(labels) != (len(y),):
        raise InputError(
            f"labels must be one for each of {len(y)} instances, got shape {np.shape(labels)}."
        )
    settings = {"C": C, "time_limit": time_limit, "tol": tol, "random_state": random_state, **posed}
    rows: list[Row] = []
    given = list(KINDS) if isinstance(kinds, str) and kinds == "all" else each_once(kinds)
    chosen = by_name(["search", *given], KINDS)
    for name, kind in tqdm(chosen.items(), disable=not verbose, leave=False):
        row = {"kind": name, **EMPTY}
        rows.append(row)
        try:
            labeling = _certified(row, kind, X, y, settings)
            _judge(row, labeling, X, y, C, labels, posed)
        except KeyboardInterrupt:
            row |= {**EMPTY, "status": "interrupted", "reason": "before it had anything"}
        except Exception as error:
            if name == "search":  # it fails only if an argument cannot be used
                raise
            _fail(row, error)
        if row["status"] == "interrupted":
            break
    best = min((row["upper"] for row in rows if row["upper"] is not None), default=None)
    for row in rows:
        try:
            _measure_gaps(row, best, tol)
        except CrossedBoundsError as error:
            _fail(row, error)
        row["best_upper"] = best
    return rows


def _certified(row: Row, kind: Any, X: Any, y: NDArray[np.void], settings: Row) -> Array:
    """The labeling that ``certify`` finds with one relaxation or bound, whose row is filled."""
    wall, cpu = perf_counter(), process_time()
    rises: list[tuple[float, float]] = []
    rounds: list[tuple[LabelingProblem, RelaxationResult]] = []  # only the last round

    def on_event(event: Event) -> None:
        if event.lower > (rises[-1][1] if rises else -np.inf):
            rises.append((process_time() - cpu, float(event.lower)))

    def on_round(*reached: Any) -> None:
        rounds[:] = [reached]

    bound = kind
    if not isinstance(kind, str | Bound):
        bound = relaxation_bound(row["kind"], kind, on_round, finds=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = certify(X, y, kinds=bound, on_event=on_event, **settings)
    labeling, of_relaxation = result.labeling, Row()
    for problem, last in rounds:
        best = ROUNDINGS["best"](last, problem.features, problem.feasible, problem.C)
        of_relaxation, labeling = _columns(last), problem.bags.as_given(best.labeling)
    row |= {
        "loss": "hinge",
        "value": result.lower,
        "lower": result.lower,
        "history": rises,
        "nodes": len(result.nodes) or None,
        "status": "failed" if result.failures else STATUS.get(result.stop_reason, "done"),
        "reason": next(iter(result.failures.values()), None),
        "warnings": sorted({str(warning.message) for warning in caught}),
        "seconds": perf_counter() - wall,
        "cpu_seconds": process_time() - cpu,
        **of_relaxation,
    }
    return labeling


def _columns(result: RelaxationResult) -> Row:
    """What a row has from a relaxation alone."""
    last, stopped = result.history[-1], result.history.stop_reason
    columns = {"loss": result.loss, "value": result.value, "cuts": last.n_cuts}
    columns["rounds"] = len(result.history)
    if stopped in STATUS:
        columns["status"] = STATUS[stopped]
    if result.loss != "hinge" or result.lower == -np.inf:
        columns |= {"lower": None, "history": []}
    return columns


def _judge(row: Row, labeling: Array, X: Any, y: Any, C: float, labels: Any, posed: Row) -> None:
    """Measure a labeling and the SVM of its labels."""
    known = bag_target(np.arange(len(labeling)), (labeling > 0).astype(float))
    exact = {**posed, "epsilon": 0.0, "bias": "none", "rounding": "best_cut"}
    svm = ConvPropSVM(C, **exact).fit(X, known)
    row["upper"] = float(svm.relaxation_.upper)
    row["bag_error"] = 0.0 - float(svm.score(X, y))
    if labels is not None:
        true = np.asarray(labels) > 0
        row["accuracy"] = float(np.mean((svm.decision_function(X) > 0) == true))
        row["labels_right"] = float(np.mean((labeling > 0) == true))


def _measure_gaps(row: Row, best: float | None, tol: float) -> None:
    """Measure the gaps of a lower bound; raise an error if it is above the best upper bound."""
    if row["lower"] is None or best is None:
        return
    check_crossing(f"kind {row['kind']!r}", row["lower"], best)
    row["gap"], row["best_gap"] = (gap_between(row["lower"], up) for up in (row["upper"], best))
    if row["gap"] <= tol and row["status"] not in ("failed", "interrupted"):
        row["status"] = "proved optimal"


def _fail(row: Row, error: Exception) -> None:
    """Empty a row of all but its kind, and give the reason."""
    status = next((ERRORS[kind] for kind in ERRORS if isinstance(error, kind)), "failed")
    row |= {**EMPTY, "status": status, "reason": str(error) or repr(error)}
