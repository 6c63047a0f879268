"""Comparison of relaxations on one problem, each in a worker process of joblib."""

from __future__ import annotations

from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propcvx.arrays import Array, Tolerance
from propcvx.checks import check_labeling, check_number
from propcvx.errors import InconsistentBoundsError, InputError, PropCVXError
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.relaxation.bounds import check_consistent, gap_between, labeling_upper_bound
from propcvx.relaxation.result import RelaxationResult
from propcvx.relaxation.rounding import ROUNDINGS
from propcvx.relaxation.table import FOR_BOUNDS, RELAXATIONS, each_once, find_relaxation, name_of
from propcvx.relaxation.table import relax as solved
from propcvx.solvers import Solve
from propcvx.solvers.comparison import Row, in_worker
from propcvx.svm.training import KernelMethod, TrainingData
from propcvx.text import unique_names

MEASURED = ("loss", "value", "lower", "upper", "gap", "best_upper", "cpu_seconds", "rounds")
"""Columns of numbers, None before they are measured."""


def compare_relaxations(
    X: Any,
    y: NDArray[np.void],
    C: float = 1.0,
    relaxations: Any = tuple(RELAXATIONS),
    *,
    y_true: ArrayLike | None = None,
    epsilon: Tolerance = 0.0,
    intercept: str = "center",
    time_limit: float = 60.0,
    **kernel: Any,
) -> list[Row]:
    """Compare relaxations of eq:convex_1, without a bias, each in a worker process.

    Parameters
    ----------
    X, y, C, epsilon, intercept
        As in :class:`propcvx.ConvPropSVM`.
    relaxations : object, or sequence of objects
        Objects with the method ``relax``, or names in ``propcvx.relaxation.RELAXATIONS``.
    y_true : array of shape (n_instances,), optional
        True labels -1 and +1.
    time_limit : float
        Seconds of a relaxation, between its rounds and in its solver; soon after, it is ended.
    **kernel
        ``kernel``, ``gamma``, ``degree`` and ``coef0``.

    Returns
    -------
    list of dict
        Ready for ``pandas.DataFrame``, with None where a value does not exist: ``kind``, the name;
        ``loss`` of the relaxation and its ``value``; ``lower`` and ``upper``, which bound the
        hinge value of the best labeling, ``upper`` being the value of the labeling of the rounding
        ``"best"``; their ``gap``; ``best_upper``, the least of all rows; ``accuracy`` of that
        labeling, with ``y_true``; ``cpu_seconds``, ``rounds``, and ``history``, pairs of processor
        time and lower bound; ``status``, one of "done", "out of time", "refused", "failed",
        "crashed", with the ``reason``.

    Examples
    --------
    >>> from propcvx import bag_target
    >>> X = np.array([[1.0, 0.2], [0.8, -0.1], [-0.9, 0.3], [-1.1, 0.0]])
    >>> y = bag_target([0, 0, 0, 1], [2 / 3, 0.0])
    >>> for row in compare_relaxations(X, y, 1.0, ["diffrac", "lifted"]):
    ...     print(row["kind"], row["status"], round(row["upper"], 3))
    diffrac done 0.656
    lifted done 0.656
    """
    check_number("time_limit", time_limit, above=0.0)
    check_number("C", C, above=0.0)
    method, each = KernelMethod(**kernel), each_once(relaxations)
    data = TrainingData.of(method, X, y)
    feature_map = data.feature_map(method)
    (features, _), share = feature_map.lifted(intercept), feature_map.share_of_bounds(C)
    feasible = FeasibleLabelings.of(data.bags, epsilon)
    true = None if y_true is None else check_labeling("y_true", y_true, len(features))
    found = [find_relaxation("relaxations", relaxation) for relaxation in each]
    rows: list[Row] = []
    for name, relaxation in zip(unique_names(map(name_of, each)), found, strict=True):
        rows.append({"kind": name, **dict.fromkeys((*MEASURED, "accuracy", "status", "reason"))})
        problem = relaxation, features, feasible, float(C), true
        rows[-1] |= in_worker(_measure, *problem, time_limit, seconds=time_limit)
    best: Any = min((row["upper"] for row in rows if row["upper"] is not None), default=None)
    for row in rows:
        row["best_upper"] = best
        if row["lower"] is None:
            continue
        row["lower"] *= share
        try:
            check_consistent(f"kind {row['kind']!r}", row["lower"], best)
            row["gap"] = gap_between(row["lower"], row["upper"])
        except InconsistentBoundsError as error:
            row |= {"lower": None, "status": "refused", "reason": str(error)}
    return rows


def _measure(
    relaxation: Any,
    features: Array,
    feasible: FeasibleLabelings,
    C: float,
    true: Array | None,
    time_limit: float,
) -> Row:
    """Solve a relaxation in this process, and measure its result."""
    reached, history = list[RelaxationResult](), list[tuple[float, float]]()
    begun, worked, status = perf_counter(), process_time(), "done"

    def on_round(result: RelaxationResult) -> None:
        reached.append(result)
        history.append((process_time() - worked, result.lower))
        if perf_counter() - begun > time_limit:
            raise TimeoutError

    try:
        solve = Solve(tol=FOR_BOUNDS.tol, time_limit=time_limit)
        result = solved(relaxation, features, feasible, C, on_round, solve)
    except TimeoutError:
        result, status = reached[-1], "out of time"
    except Exception as error:
        status = "refused" if isinstance(error, InputError) else "failed"
        reason = str(error) if isinstance(error, PropCVXError) else repr(error)
        return {"status": status, "reason": reason}
    labeling = ROUNDINGS["best"](result, features, feasible, C).labeling
    proved = result.loss == "hinge" and np.isfinite(result.lower)
    return {
        "loss": result.loss,
        "value": float(result.value),
        "lower": float(result.lower) if proved else None,
        "upper": labeling_upper_bound(features, labeling, C),
        "accuracy": None if true is None else float(np.mean(labeling == true)),
        "cpu_seconds": process_time() - worked,
        "rounds": len(result.history),
        "history": history if proved else [],
        "status": status,
    }
