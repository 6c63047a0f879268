"""The table of relaxations, and their comparison on one problem, each in a worker process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter, process_time
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propcvx.arrays import Array, Tolerance
from propcvx.checks import check_labeling, check_number, resolve
from propcvx.errors import InconsistentBoundsError, InputError, PropCVXError
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.relaxation.bounds import check_consistent, gap_between, labeling_upper_bound
from propcvx.relaxation.cutting_planes import CuttingPlanes
from propcvx.relaxation.lifted import Diffrac, Lifted
from propcvx.relaxation.mixed_integer import MixedInteger
from propcvx.relaxation.result import RelaxationResult, check_result
from propcvx.relaxation.rounding import ROUNDINGS
from propcvx.solvers import Solve
from propcvx.solvers.comparison import Row, in_worker
from propcvx.svm.training import KernelMethod, TrainingData
from propcvx.text import unique_names

FOR_BOUNDS = Solve(tol=1e-6)
"""Tolerance if only a relaxation's bound is needed, which holds at any tolerance."""

RELAXATIONS: Mapping[str, Any] = MappingProxyType(
    {
        "cutting_planes": CuttingPlanes(),
        "lifted": Lifted(),
        "mixed_integer": MixedInteger(),
        "diffrac": Diffrac(),
    }
)
"""Relaxations by name."""


def find_relaxation(relaxation: Any, argument: str = "relaxation") -> Any:
    """Return the relaxation of a name, or the object itself if it has the method ``relax``."""
    return resolve(argument, relaxation, RELAXATIONS, "relax")


def name_of(relaxation: Any) -> str:
    """Return the name itself, the object's own ``name``, or the name of its class."""
    if isinstance(relaxation, str):
        return relaxation
    name = getattr(relaxation, "name", None) or getattr(relaxation, "__name__", None)
    return str(name or type(relaxation).__name__)


def find_all(kinds: Any, find: Callable[[Any], Any]) -> dict[str, Any]:
    """Find each of several relaxations or bounds, one or a sequence of them, under its own name."""
    several = kinds if isinstance(kinds, list | tuple) else [kinds]
    unique = list({kind if isinstance(kind, str) else id(kind): kind for kind in several}.values())
    return dict(zip(unique_names(map(name_of, unique)), map(find, unique), strict=True))


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
    """Compare relaxations of Equation (9), eq:convex_1, without a bias, each in a worker process.

    Parameters
    ----------
    X, y, epsilon, intercept
        As in :class:`propcvx.ConvPropSVM`.
    C : float, default=1.0
        Weight of the hinge loss; a number, not ``"scale"``.
    relaxations : str, object, or sequence of these, default: all four names
        Objects with the method ``relax``, or names in
        :data:`~propcvx.relaxation.comparison.RELAXATIONS`.
    y_true : array of shape (n_instances,), optional
        True labels -1 and +1.
    time_limit : float, default=60.0
        Limit in seconds for each relaxation; its worker process is ended shortly after.
    **kernel
        ``kernel``, ``gamma``, ``degree`` and ``coef0``.

    Returns
    -------
    list of dict
        A row for each relaxation, ready for ``pandas.DataFrame``; None where there is no value.

        - ``kind``, ``loss``, ``value``: name, loss and objective value of the relaxation;
        - ``lower``, ``upper``: bounds on the hinge value of the best labeling; ``upper`` is the
          value of the labeling of the rounding ``"best"``;
        - ``gap``, ``best_upper``: their relative gap, and the smallest ``upper`` of all rows;
        - ``accuracy``: of that labeling, if there is ``y_true``;
        - ``cpu_seconds``, ``rounds``: processor time and number of rounds;
        - ``history``: pairs of processor time and lower bound;
        - ``status``, ``reason``: "done", "out of time", "refused", "failed" or "crashed", and why.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.relaxation import compare_relaxations
    >>> from propcvx import bag_target
    >>> X = np.array([[1.0, 0.2], [0.8, -0.1], [-0.9, 0.3], [-1.1, 0.0]])
    >>> y = bag_target([0, 0, 0, 1], [2 / 3, 0.0])
    >>> for row in compare_relaxations(X, y, 1.0, ["diffrac", "lifted"]):
    ...     print(row["kind"], row["status"], round(row["upper"], 3))
    diffrac done 0.656
    lifted done 0.656
    """
    check_number("time_limit", time_limit, low=0.0)
    check_number("C", C, low=0.0)
    method = KernelMethod(**kernel)
    relaxations = find_all(relaxations, lambda kind: find_relaxation(kind, "relaxations"))
    data = TrainingData.from_arrays(method, X, y)
    feature_map = data.feature_map(method)
    (features, _), fraction = feature_map.with_intercept(intercept), feature_map.bound_factor(C)
    feasible = FeasibleLabelings.from_bags(data.bags, epsilon)
    true = None if y_true is None else check_labeling("y_true", y_true, len(features))
    rows: list[Row] = []
    for name, relaxation in relaxations.items():
        rows.append({"kind": name, **dict.fromkeys((*MEASURED, "accuracy", "status", "reason"))})
        problem = relaxation, features, feasible, float(C), true
        rows[-1] |= in_worker(_measure, *problem, time_limit, seconds=time_limit)
    best: Any = min((row["upper"] for row in rows if row["upper"] is not None), default=None)
    for row in rows:
        row["best_upper"] = best
        if row["lower"] is None:
            continue
        row["lower"] *= fraction
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
    results, history = list[RelaxationResult](), list[tuple[float, float]]()
    start, cpu_start, status = perf_counter(), process_time(), "done"
    source = f"relaxation {name_of(relaxation)}"

    def on_round(result: RelaxationResult) -> None:
        check_result(source, result, feasible)
        results.append(result)
        history.append((process_time() - cpu_start, result.lower))
        if perf_counter() - start > time_limit:
            raise TimeoutError

    try:
        solve = Solve(tol=FOR_BOUNDS.tol, time_limit=time_limit)
        result = relaxation.relax(features, feasible, C, solve=solve, on_round=on_round)
        check_result(source, result, feasible)
    except TimeoutError:
        result, status = results[-1], "out of time"
    except Exception as error:
        status = "refused" if isinstance(error, InputError) else "failed"
        reason = str(error) if isinstance(error, PropCVXError) else repr(error)
        return {"status": status, "reason": reason}
    labeling = ROUNDINGS["best"](result, features, feasible, C).labeling
    has_bound = result.loss == "hinge" and np.isfinite(result.lower)
    return {
        "loss": result.loss,
        "value": float(result.value),
        "lower": float(result.lower) if has_bound else None,
        "upper": labeling_upper_bound(features, labeling, C),
        "accuracy": None if true is None else float(np.mean(labeling == true)),
        "cpu_seconds": process_time() - cpu_start,
        "rounds": len(result.history),
        "history": history if has_bound else [],
        "status": status,
    }
