"""Relaxations and bounds side by side on one problem: ``propcvx relax``."""

from __future__ import annotations

import json
import platform
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from types import MappingProxyType
from typing import Any

import numpy as np
from cvxpy import OPTIMAL
from numpy.typing import NDArray
from tqdm import tqdm

import propcvx
from propcvx.bounds import BOUNDS, Bound, OutOfTimeError
from propcvx.checks import check_choice
from propcvx.errors import InputError, SolverError
from propcvx.estimators import ConvPropSVM, certify
from propcvx.experiments.programs import sample_in_bags
from propcvx.history import StopReason
from propcvx.plotting import bounds_over_time, interval_comparison
from propcvx.relaxation import RELAXATIONS, CuttingPlanes, MixedInteger, RelaxationResult
from propcvx.relaxation.bounds import check_crossing, gap_between
from propcvx.relaxation.oracles import SemidefiniteOracle
from propcvx.relaxation.table import BUILT_IN, TOL, each_once, find_relaxation, name_of, relax
from propcvx.targets import bag_target
from propcvx.text import cell_text, text_table, unique_names

Array = NDArray[np.float64]
Row = dict[str, Any]
Kind = Callable[..., Row]
"""``kind(X, y, C, limits, posed)`` gives columns of a row, and the labeling."""

COLUMNS = (
    *("loss", "value", "lower", "upper", "gap", "best_upper", "best_gap", "seconds"),
    *("cpu_seconds", "cuts", "rounds", "nodes", "bag_error", "accuracy", "labels_right"),
    *("status", "reason", "warnings", "history"),
)
STATUS = {
    StopReason.OUT_OF_TIME: "out of time",
    StopReason.INTERRUPTED: "interrupted",
    StopReason.SOLVER_FAILED: "solver failed",
}
"""How a row ended; ``"done"`` for all other reasons."""

ERRORS = {InputError: "refused", SolverError: "solver failed", MemoryError: "solver failed"}
"""Status of a row that has nothing, by its error; ``"failed"`` for all others."""


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
    on_row: Callable[[Row], None] = lambda row: None,
    **posed: Any,
) -> list[Row]:
    r"""Ask relaxations and bounds for the best labeling's value, eq:convex_1.

    .. math::

        \min_{y \in \mathcal{Y}} \min_w \tfrac12 \|w\|^2 + C \sum_i \max(0, 1 - y_i w^\top F_i)

    The problem is the same for all, without a bias.  First comes ``"search"``, which looks for
    good labelings alone.

    Parameters
    ----------
    X : array of shape (n_instances, n_features)
    y : bag target of shape (n_instances,)
        Made by :func:`propcvx.bag_target`.
    C : float
        Weight of the hinge loss.
    labels : array of shape (n_instances,), optional
        True labels -1, +1, to judge by.
    kinds : "all", str, object, or sequence of these
        Names in ``propcvx.experiments.laboratory.KINDS`` or of registered relaxations, objects with
        the method ``relax``, and a :class:`propcvx.bounds.Bound`, asked in this order.
    time_limit : float
        Seconds for each of them, after which it returns what it has.  A single step, such as a
        semidefinite program of an oracle, is not cut short.
    tol : float
        Relative gap at which a labeling counts as proved optimal.
    random_state : int, RandomState or None
        Of the search for labelings.
    on_row : callable
        Called with each row as it is ready, before ``best_upper`` is known.
    **posed
        ``epsilon``, ``kernel``, ``gamma``, ``degree``, ``coef0`` and ``intercept`` as in
        :class:`propcvx.ConvPropSVM`.

    Returns
    -------
    list of dict
        Ready for ``pandas.DataFrame``; None where there is nothing to say.  ``kind``, the name;
        ``loss`` of the relaxation, and its ``value`` by that loss; ``lower`` and ``upper``, which
        bound the best labeling's hinge value, the latter by that of the labeling found here,
        whatever the loss; ``gap``, ``(upper - lower) / upper``; the smallest of all upper bounds,
        ``best_upper``, and ``best_gap`` to it; wall and processor time; ``cuts``, ``rounds``,
        ``nodes``; of the labeling's own SVM, ``bag_error`` and ``accuracy`` on the instances, and
        ``labels_right`` of the labeling itself; ``status``, one of "done", "proved optimal",
        "out of time", "refused", "solver failed", "failed", "interrupted", and the ``reason`` of
        one that has nothing; ``warnings``; ``history``, when the lower bound rose, in processor
        time, and to what.
        After Ctrl-C, those that were finished and the one that was interrupted.

    Raises
    ------
    InputError
        If an argument cannot be used.  That a relaxation or bound cannot do the problem is a row.

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
    limits = {"time_limit": time_limit, "tol": tol, "random_state": random_state}
    rows: list[Row] = []
    for name, kind in find_kinds(kinds).items():
        row: Row = {"kind": name, **dict.fromkeys(COLUMNS)}
        rows.append(row)
        wall, cpu = perf_counter(), process_time()
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                row.update(kind(X, y, C, limits, posed))
            row.update(seconds=perf_counter() - wall, cpu_seconds=process_time() - cpu)
            row["warnings"] = sorted({str(one.message) for one in caught})
            row.update(_labeling_columns(row.pop("labeling"), X, y, C, labels, posed))
            row["gap"] = _gap(row, row["upper"])
            if row["gap"] is not None and row["gap"] <= tol:
                row["status"] = "proved optimal"
        except KeyboardInterrupt:
            row.update(status="interrupted", reason="before it had anything")
        except Exception as error:
            if name == "search":  # what it cannot do is wrong in the arguments
                raise
            row.update(_nothing(error))
        on_row(row)
        if row["status"] == "interrupted":
            break
    uppers = [row["upper"] for row in rows if row["upper"] is not None]
    for row in rows if uppers else []:
        try:
            row["best_gap"] = _gap(row, min(uppers))
        except InputError as error:
            row.update(_nothing(error))
        row["best_upper"] = min(uppers)
    return rows


def _labeling_columns(labeling: Array, X: Any, y: Any, C: float, labels: Any, posed: Row) -> Row:
    """What is measured of a labeling and of its own SVM."""
    known = bag_target(np.arange(len(labeling)), (labeling > 0).astype(float))
    exact = {**posed, "epsilon": 0.0, "bias": "none", "rounding": "best_cut"}
    svm = ConvPropSVM(C, **exact).fit(X, known)
    row = {"upper": float(svm.relaxation_.upper), "bag_error": 0.0 - float(svm.score(X, y))}
    if labels is None:
        return row
    true = np.asarray(labels) > 0
    accuracy = float(np.mean((svm.decision_function(X) > 0) == true))
    return {**row, "accuracy": accuracy, "labels_right": float(np.mean((labeling > 0) == true))}


def _gap(row: Row, upper: float) -> float | None:
    """The gap of a row's lower bound; an error where it contradicts the upper bound."""
    if row["lower"] is None:
        return None
    check_crossing(f"kind {row['kind']!r}", row["lower"], upper)
    return gap_between(row["lower"], upper)


def _nothing(error: Exception) -> Row:
    """The columns of a row that has nothing, and why."""
    status = next((ERRORS[one] for one in ERRORS if isinstance(error, one)), "failed")
    return {**dict.fromkeys(COLUMNS), "status": status, "reason": str(error) or repr(error)}


# --- what is compared -------------------------------------------------------------------------


def bounded(bounds: Sequence[Any], X: Any, y: Any, C: float, limits: Row, posed: Row) -> Row:
    """What :func:`~propcvx.estimators.certify` finds with these bounds; with none, its search."""
    lowers: list[tuple[float, float]] = []
    cpu = process_time()

    def on_event(event: Any) -> None:
        lowers.append((process_time() - cpu, event.lower))

    result = certify(X, y, C, kinds=list(bounds), on_event=on_event, **limits, **posed)
    return {
        "loss": "hinge",
        "value": result.lower,
        "lower": result.lower,
        "labeling": result.labeling,
        "history": _rises(lowers),
        "status": STATUS.get(result.stop_reason, "done"),
        "nodes": len(result.nodes) or None,
    }


def relaxed(
    parameters: Callable[[float], Row], X: Any, y: Any, C: float, limits: Row, posed: Row
) -> Row:
    """What :class:`propcvx.ConvPropSVM` finds with these parameters and the rounding ``"best"``."""
    model = ConvPropSVM(C, rounding="best", **parameters(limits["time_limit"]), **posed)
    timed = TimeLimit(model.relaxation, limits["time_limit"])
    result = model.set_params(relaxation=timed).fit(X, y).relaxation_
    proves = result.loss == "hinge" and np.isfinite(result.lower)
    status = STATUS.get(result.history.stop_reason, "done")
    return {
        "loss": result.loss,
        "value": result.value,
        "lower": result.lower if proves else None,
        "labeling": np.where(model.soft_labeling_ > 0, 1.0, -1.0),
        "history": _rises(timed.lowers_) if proves else [],
        "status": STATUS[StopReason.OUT_OF_TIME] if timed.late_ else status,
        "cuts": result.history[-1].n_cuts,
        "rounds": len(result.history),
    }


def _rises(lowers: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Times at which a lower bound was better than before."""
    rises = [(0.0, -np.inf)]
    for seconds, lower in lowers:
        if lower > rises[-1][1]:
            rises.append((float(seconds), float(lower)))
    return rises[1:]


class TimeLimit:
    """A relaxation that ends after the round in which its time is over, with what it has.

    Parameters
    ----------
    relaxation : str or object
        A name in ``propcvx.relaxation.RELAXATIONS``, or an object with the method ``relax``.
    seconds : float
        Time limit.

    Attributes
    ----------
    lowers_ : list of (float, float)
        Processor time and lower bound after each round.
    late_ : bool
        Whether the time was over before it was done.
    """

    def __init__(self, relaxation: Any, seconds: float) -> None:
        self.relaxation, self.seconds = relaxation, seconds
        self.name = name_of(relaxation)

    def relax(self, *problem: Any, on_round: Any, **how: Any) -> RelaxationResult:
        """Relax; ``on_round``, whose work is not the relaxation's, is not called."""
        wall, cpu, rounds = perf_counter(), process_time(), list[RelaxationResult]()
        self.lowers_, self.late_ = list[tuple[float, float]](), False

        def check_time(result: RelaxationResult) -> None:
            rounds[:] = [result]
            self.lowers_.append((process_time() - cpu, result.lower))
            self.late_ = perf_counter() - wall > self.seconds
            if self.late_ and result.history.stop_reason is None:
                raise OutOfTimeError

        try:
            result = relax(self.relaxation, *problem, on_round=check_time, **how)
            self.late_ = self.late_ and result.history[-1].status != OPTIMAL
        except OutOfTimeError:
            result = rounds[0]
        self.lowers_.append((process_time() - cpu, result.lower))
        return replace(result, stopped_by=None)


def _parameters(relaxation: Any, **others: Any) -> Callable[[float], Row]:
    return lambda seconds: {"relaxation": relaxation, **others}


def _by_scs(relaxation: str) -> Callable[[float], Row]:
    """One long program; a bound from its multipliers holds at any accuracy, so a low one does."""
    low = {"relaxation": relaxation, "solver": "scs", "solver_tol": 1e-4}
    return lambda seconds: {**low, "solver_options": {"time_limit_secs": float(seconds)}}


def _oracles() -> dict[str, Any]:
    """Oracles with which Algorithm 2 is run on."""
    names = ("coordinate", "ascent", "random_directions", "several", "eigenvalue")
    exact = ("exhaustive", "sweep", "mixed_integer")
    semidefinite = partial(SemidefiniteOracle, tol=1e-4)
    return {**{name: name for name in (*names, *exact)}, "semidefinite": semidefinite}


def _kinds() -> dict[str, Kind]:
    found = {name: _parameters(relaxation) for name, relaxation in BUILT_IN.items()}
    found |= {"lifted": _by_scs("lifted"), "diffrac": _by_scs("diffrac")}
    found["mixed_integer"] = lambda seconds: {"relaxation": MixedInteger(seconds=float(seconds))}
    for name, oracle in _oracles().items():
        planes = CuttingPlanes(master="epigraph", oracle=oracle, max_cuts=200)
        found[f"cutting_planes:{name}"] = _parameters(planes)
    return {
        "search": partial(bounded, ()),
        **{name: partial(relaxed, parameters) for name, parameters in found.items()},
        **{name: partial(bounded, (name,)) for name in BOUNDS if name not in found},
    }


KINDS: Mapping[str, Kind] = MappingProxyType(_kinds())
"""What is compared, by name: ``"search"``, which proves nothing, relaxations, and bounds."""


def find_kinds(kinds: Any) -> dict[str, Kind]:
    """What was asked for by name, each once, the search first."""
    if isinstance(kinds, str) and kinds == "all":
        kinds = list({**KINDS, **RELAXATIONS})
    names, found = zip(*map(_find, each_once(["search", *each_once(kinds)])), strict=True)
    return dict(zip(unique_names(names), found, strict=True))


def _find(given: Any) -> tuple[str, Kind]:
    """Name and function of a name, a relaxation or a bound."""
    if isinstance(given, str) and check_choice("kinds", given, {**KINDS, **RELAXATIONS}) in KINDS:
        return given, KINDS[given]
    if isinstance(given, Bound):
        return name_of(given.run), partial(bounded, (given,))
    own = _parameters(find_relaxation("kinds", given), solver_tol=TOL)
    return name_of(given), partial(relaxed, own)


# --- the command ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """What is compared on: random instances of a data set in random bags."""

    data: str
    instances: int
    C: float
    bag_size: int = 8
    epsilon: float = 0.0
    kernel: str = "linear"
    gamma: float | str = "scale"
    seed: int = 0

    def __str__(self) -> str:
        kernel = "" if self.kernel == "linear" else f", {self.kernel} kernel, gamma={self.gamma}"
        return (
            f"{self.data}, N={self.instances}, bags of {self.bag_size}, C={self.C:g}, "
            f"epsilon={self.epsilon:g}{kernel}"
        )

    def compare(self, kinds: Any, **how: Any) -> list[Row]:
        """Rows of :func:`compare_relaxations`."""
        sample = sample_in_bags(self.data, self.instances, self.bag_size, self.seed)
        how |= {name: getattr(self, name) for name in ("epsilon", "kernel", "gamma")}
        how |= {"labels": sample.labels, "random_state": self.seed, "kinds": kinds}
        return compare_relaxations(sample.X, sample.y, self.C, **how)


def run_comparison(
    problems: Sequence[Problem],
    kinds: str | Sequence[str] = "all",
    *,
    time_limit: float = 60.0,
    file: Path | None = None,
    figure: Path | None = None,
    curves: Path | None = None,
) -> None:
    """Compare on each problem; print a table as soon as it is done.

    Parameters
    ----------
    problems : sequence of Problem
    kinds : "all" or sequence of str
        Names in ``propcvx.experiments.laboratory.KINDS``.
    time_limit : float
        Seconds for each of them.
    file : Path, optional
        Where to keep all as JSON; written again after each problem.
    figure, curves : Path, optional
        Where to draw the intervals, and the bounds against time; likewise.

    Raises
    ------
    InputError
        If an argument cannot be used.
    KeyboardInterrupt
        After Ctrl-C, when what was done is printed, kept and drawn.
    """
    done: list[tuple[Problem, list[Row]]] = []
    with tqdm(total=len(problems) * len(find_kinds(kinds)), leave=False) as bar:

        def on_row(row: Row) -> None:
            bar.set_postfix_str(f"last: {row['kind']}")
            bar.update()

        for problem in problems:
            rows = problem.compare(kinds, time_limit=time_limit, on_row=on_row)
            done.append((problem, rows))
            bar.clear()
            print(f"{problem}\n\n{comparison_text(rows)}\n", flush=True)
            _keep(done, time_limit, file, figure, curves)
            if rows[-1]["status"] == "interrupted":
                raise KeyboardInterrupt


def _keep(
    done: Sequence[tuple[Problem, list[Row]]],
    time_limit: float,
    file: Path | None,
    figure: Path | None,
    curves: Path | None,
) -> None:
    content = {
        "propcvx": propcvx.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "time_limit": time_limit,
        "comparisons": [{"problem": asdict(problem), "rows": rows} for problem, rows in done],
    }
    panels = [(str(problem), rows) for problem, rows in done]
    try:
        if file is not None:
            file.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n")
        if figure is not None:
            interval_comparison(panels).savefig(figure, dpi=150)
        if curves is not None:
            bounds_over_time(panels).savefig(curves, dpi=150)
    except (OSError, ValueError) as error:
        raise InputError(f"the comparison cannot be written: {error}.") from error


FORMATS = {
    **{"lower": ".5g", "upper": ".5g", "gap": ".2%", "best_gap": ".2%", "seconds": ".1f"},
    **{"cuts": "d", "rounds": "d", "nodes": "d", "bag_error": ".3f", "accuracy": ".1%"},
}
"""The columns that are printed, and how."""


def comparison_text(rows: Sequence[Row]) -> str:
    """Rows as text; the best upper bound and the reasons of those that have nothing below."""
    lines = [
        {
            "kind": row["kind"],
            **{name: cell_text(row[name], pattern) for name, pattern in FORMATS.items()},
            "status": row["status"] + (", square loss" if row["loss"] == "square" else ""),
        }
        for row in rows
    ]
    best = cell_text(rows[0]["best_upper"], ".6g")
    notes = [f"  {row['kind']}: {row['reason']}" for row in rows if row["reason"]]
    head = f"\nbest upper bound {best}; best_gap is the gap of a lower bound to it"
    return "\n".join([text_table(lines), head, *notes])
