"""Certificates of single labels in ``certify``: what it begins with, and what it returns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from propcvx.arrays import Array
from propcvx.bounds import (
    CertifiedInterval,
    LabelCosts,
    LabelingProblem,
    OutOfTimeError,
    SwapSearch,
)
from propcvx.checks import as_vector, check_number
from propcvx.errors import CrossedBoundsError, InputError, UnprovedWarning, warn
from propcvx.history import StopReason

MARGIN = 0.1
"""Labels are worked on until the other one is proved to cost so much."""


def margin_of(labels: Any) -> float:
    """Up to which cost labels are to be proved; 0 where they are not asked for."""
    if isinstance(labels, bool):
        return MARGIN if labels else 0.0
    return check_number("labels", labels, least=0.0)


def allowed(start: Any, problem: LabelingProblem) -> Array:
    """The labeling to begin with, in the order of the problem."""
    bags = problem.bags
    given = as_vector(start, bags.n_instances)
    if given is None or not np.isin(given, (-1.0, 1.0)).all():
        raise InputError(
            f"start must be a labeling of -1 and +1, shape ({bags.n_instances},), got {start!r}."
        )
    labeling = bags.in_order(given).astype(np.float64)
    if not np.isfinite(problem.cost(labeling)):
        raise InputError(
            "start must be a labeling that y allows: it has other numbers of positives, or changes "
            "a known label. That of a fit is of the very X and y that it was fitted to."
        )
    return labeling


def take_over(
    resume: CertifiedInterval,
    problem: LabelingProblem,
    search: SwapSearch,
    costs: LabelCosts | None,
) -> None:
    """Begin with all that an earlier result has proved."""
    if resume.problem_key != problem.key:
        raise InputError(
            "resume must be a result for the same X, y and parameters of the problem; this one is "
            "of another problem."
        )
    bags = problem.bags
    search.plane(bags.in_order(resume.labeling).astype(np.float64))
    search.interval.lower, search.interval.prover = resume.lower, "the result to resume"
    if costs is not None and resume.label_costs is not None:
        costs.labeling = bags.in_order(resume.labeling).astype(np.float64)
        known = resume.label_costs, resume.label_costs_at_most, resume.label_seconds
        least, most, seconds = (np.asarray(values)[bags.rows] for values in known)
        costs.least, costs.most = resume.upper * (1.0 + least), resume.upper * (1.0 + most)
        costs.seconds = seconds


def prove_labels(costs: LabelCosts, reason: StopReason, failed: dict[str, Exception]) -> StopReason:
    """Prove single labels; why it stopped.  An error, unless bounds are false, is kept."""
    try:
        costs.run()
    except OutOfTimeError:
        return StopReason.OUT_OF_TIME
    except CrossedBoundsError:
        raise
    except Exception as error:
        failed["labels"] = error
    return StopReason.PROVED if costs.interval.closed else reason


def with_labels(result: CertifiedInterval, costs: LabelCosts, tol: float) -> CertifiedInterval:
    """The result with the costs of the labels in the order of the rows."""
    places = costs.search.problem.bags.places
    least, most = (values[places] for values in costs.costs)
    status = np.where(least > tol, "proved", np.where(most <= tol, "tied", "open"))
    if result.stop_reason is not StopReason.PROVED and (status == "open").all():
        warn(
            f"No label is proved, as {result.stop_reason.value}; label_costs has what little is "
            "known. A larger time_limit, a smaller C or smaller bags help.",
            UnprovedWarning,
        )
    return replace(
        result,
        label_costs=least,
        label_costs_at_most=most,
        label_status=status,
        label_seconds=costs.seconds[places],
    )
