"""Every kind of relaxation and bound on one problem: one row each."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propcvx.bounds import Bound
from propcvx.checks import check_choice
from propcvx.errors import InputError, SolverError
from propcvx.experiments.laboratory.variants import (
    KINDS,
    Kind,
    Question,
    Reached,
    by_tolerance,
    certified,
    relaxed,
)
from propcvx.history import StopReason
from propcvx.relaxation import RELAXATIONS
from propcvx.relaxation.bounds import check_crossing, gap_between
from propcvx.relaxation.table import each_once, find_relaxation, name_of
from propcvx.text import unique_names

Row = dict[str, Any]

STATUS = {
    StopReason.PROVED: "proved optimal",
    StopReason.OUT_OF_TIME: "out of time",
    StopReason.INTERRUPTED: "interrupted",
    StopReason.SOLVER_FAILED: "solver failed",
}
"""How a row ended; ``"done"`` for all others, and ``"refused"`` where it did not begin."""

FAULTS: dict[type[Exception], str] = {
    InputError: "refused",
    SolverError: STATUS[StopReason.SOLVER_FAILED],
    MemoryError: STATUS[StopReason.SOLVER_FAILED],
}
"""The status of a row that has nothing, by its error; ``"failed"`` for all others."""

EMPTY: Row = dict.fromkeys(
    (
        *("loss", "value", "lower", "upper", "gap", "best_upper", "best_gap", "seconds"),
        *("cpu_seconds", "cuts", "rounds", "nodes", "bag_error", "accuracy", "labels_right"),
        *("status", "reason", "warnings", "history"),
    )
)


def compare_relaxations(
    X: Any,
    y: NDArray[np.void],
    C: float = 1.0,
    *,
    labels: Any = None,
    kinds: Any = "all",
    epsilon: float | str = 0.0,
    kernel: Any = "linear",
    gamma: float | str = "scale",
    degree: int = 3,
    coef0: float = 1.0,
    intercept: str = "center",
    time_limit: float = 60.0,
    tol: float = 1e-4,
    random_state: Any = 0,
    on_row: Callable[[Row], None] = lambda row: None,
) -> list[Row]:
    r"""Ask all kinds of relaxation and bound for the best labeling's value, eq:convex_1.

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
    epsilon, kernel, gamma, degree, coef0, intercept
        As in :class:`propcvx.ConvPropSVM`.
    time_limit : float
        Seconds for each kind, after which it says what it has.  A single step of one, such as a
        semidefinite program of an oracle, is not cut short.
    tol : float
        Relative gap at which a labeling counts as proved optimal.
    random_state : int, RandomState or None
        Of the search for labelings.
    on_row : callable
        Called with each row as it is ready, before ``best_upper`` is known.

    Returns
    -------
    list of dict
        Ready for ``pandas.DataFrame``; None where there is nothing to say.  ``kind``; ``loss`` of
        the relaxation, and its ``value`` by that loss; ``lower`` and ``upper``, which bound the
        best labeling's hinge value, the latter by that of the kind's own labeling, whatever its
        loss; ``gap``, ``(upper - lower) / upper``; the smallest of all upper bounds,
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
        If an argument cannot be used.  That a kind cannot do the problem is a row.

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
    asked = check_kinds(kinds)
    features = dict(kernel=kernel, gamma=gamma, degree=degree, coef0=coef0, intercept=intercept)
    question = Question(X, y, C, epsilon, features, time_limit, tol, random_state)
    if labels is not None and np.shape(labels) != (len(y),):
        raise InputError(
            f"labels must be one for each of {len(y)} instances, got shape {np.shape(labels)}."
        )
    rows: list[Row] = []
    for name, kind in asked.items():
        if rows and rows[-1]["status"] == STATUS[StopReason.INTERRUPTED]:
            break
        rows.append(_row(name, kind, question, labels))
        on_row(rows[-1])
    _add_best(rows)
    return rows


def check_kinds(kinds: Any) -> dict[str, Kind]:
    """Kinds by name, each once, the search first."""
    if isinstance(kinds, str) and kinds == "all":
        kinds = list({**KINDS, **RELAXATIONS})
    names, found = zip(*map(_kind, each_once(["search", *each_once(kinds)])), strict=True)
    return dict(zip(unique_names(names), found, strict=True))


def _kind(given: Any) -> tuple[str, Kind]:
    """Name and kind of a name, a relaxation or a bound."""
    if isinstance(given, Bound):
        return name_of(given.run), partial(certified, kinds=(given,))
    if isinstance(given, str) and given not in RELAXATIONS:
        check_choice("kinds", given, list({**KINDS, **RELAXATIONS}))
    if isinstance(given, str) and given in KINDS:
        return given, KINDS[given]
    relaxation = find_relaxation("kinds", given)
    return name_of(given), partial(relaxed, relaxation=relaxation, options=by_tolerance)


def _row(name: str, kind: Kind, question: Question, labels: Any) -> Row:
    """One kind; what it cannot do is in the row, but that the search cannot is an error."""
    row: Row = {"kind": name, **EMPTY}
    start, cpu = perf_counter(), process_time()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            reached = kind(question)
        row.update(seconds=perf_counter() - start, cpu_seconds=process_time() - cpu)
        row["warnings"] = sorted({str(one.message) for one in caught})
        row.update(_judged(reached, question, labels))
        check_crossing(f"kind {name!r}", reached.lower, row["upper"])
    except Exception as error:
        if name == "search":
            raise
        fault = next((fault for of, fault in FAULTS.items() if isinstance(error, of)), "failed")
        row.update(EMPTY, status=fault, reason=str(error) or type(error).__name__)
    except KeyboardInterrupt:
        row.update(status=STATUS[StopReason.INTERRUPTED], reason="before it had anything")
    return row


def _judged(reached: Reached, question: Question, labels: Any) -> Row:
    """The numbers of a row."""
    separator = question.separator(reached.labeling)
    lower, upper = reached.lower, float(separator.relaxation_.upper)
    gap = _gap(lower, upper)
    proved = gap is not None and gap <= question.tol
    status = STATUS[StopReason.PROVED] if proved else STATUS.get(reached.reason, "done")
    row = {
        "loss": reached.loss,
        "value": _finite(reached.value),
        "lower": _finite(lower),
        "upper": upper,
        "gap": gap,
        "cuts": reached.cuts,
        "rounds": reached.rounds,
        "nodes": reached.nodes,
        "bag_error": 0.0 - float(separator.score(question.X, question.y)),
        "status": status,
        "history": reached.history,
    }
    if labels is not None:
        true = np.asarray(labels) > 0
        row["accuracy"] = float(np.mean((separator.decision_function(question.X) > 0) == true))
        row["labels_right"] = float(np.mean((reached.labeling > 0) == true))
    return row


def _add_best(rows: list[Row]) -> None:
    """Add the best upper bound; a kind whose lower bound is above it has nothing to say."""
    best = min((row["upper"] for row in rows if row["upper"] is not None), default=np.inf)
    for row in rows if np.isfinite(best) else []:
        try:
            lower = -np.inf if row["lower"] is None else row["lower"]
            check_crossing(f"kind {row['kind']!r}", lower, best)
            row["best_gap"] = _gap(lower, best)
        except InputError as error:
            row.update(EMPTY, status=FAULTS[InputError], reason=str(error))
        row["best_upper"] = best


def _gap(lower: float, upper: float) -> float | None:
    return gap_between(lower, upper) if np.isfinite(lower) else None


def _finite(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None
