r"""The best labeling's value with two features, from the arcs of directions.

In the constraint form the best labeling for some weights sorts every bag by score, so it depends on
their direction only, and the best of all labelings is that of some arc on which no bag changes its
labels.  A labeling is best on a convex cone of directions: where it is best at both ends of a
sector, it is so in between, so that few arcs have to be examined.

Any v with :math:`0 \le y_i v_i \le C` bounds a labeling's SVM value from below by
:math:`y^\top v - \tfrac12 \|F^\top v\|^2`.  Neighbours differ in few labels, so the duals of one
that is solved, set to 0 where labels differ, rule out most others.
"""

from __future__ import annotations

import numpy as np

from propcvx.arrays import Array, Signs
from propcvx.bounds.interval import Interval
from propcvx.bounds.problem import LabelingProblem
from propcvx.bounds.swap_search import SwapSearch
from propcvx.relaxation.oracles.exact import arcs, direction

SECTORS = 8
"""Sectors of the circle with equally many arcs.  As every half of the circle has half of all arcs,
each is less than that, so that it is convex."""

LABELINGS_AT_ONCE = 1024
"""Labelings whose values are computed at once."""

SCORE_ERROR = 1e-12
"""Rounding error of a score, as a share of the length of the instance; it can change a sort."""

EPSILON = float(np.finfo(float).eps)


def best_of_arcs(problem: LabelingProblem, interval: Interval, search: SwapSearch) -> None:
    """Bound the labelings of all arcs by the duals of a few, in rounds, until none can be best.

    In each round the middle one of every run of neighbours that are left is solved.
    """
    labelings = labelings_of_arcs(problem, interval)
    lower = np.zeros(len(labelings))
    left = np.arange(len(labelings))
    solved: set[int] = set()
    while len(left) and not interval.closed:
        for run in np.split(left, np.flatnonzero(np.diff(left) > 1) + 1):
            interval.check_time()
            middle = int(run[len(run) // 2])
            duals = search.plane(labelings[middle].astype(float)).duals
            solved.add(middle)
            lower[run] = np.maximum(lower[run], dual_values(problem, labelings[run], duals))
        slack = sorting_slack(problem, interval.upper)
        interval.prove("directions", float(lower.min()) - slack)
        open_ones = np.flatnonzero(lower - slack < interval.goal)
        left = np.array([k for k in open_ones if k not in solved], dtype=np.intp)


def labelings_of_arcs(problem: LabelingProblem, interval: Interval) -> Signs:
    """The best labelings of all directions, in the order of the directions.

    Returns
    -------
    labelings : int8 array of shape (n_labelings, n_instances)
        Neighbours differ.
    """
    features, feasible = problem.features, problem.feasible
    points = np.pad(features, ((0, 0), (0, 2 - features.shape[1])))
    angles = arcs(points, problem.bags.index)
    sectors = np.array_split(np.arange(len(angles)), SECTORS)
    ranges = np.array([sector[[0, -1]] for sector in sectors if len(sector)])
    labeled: dict[int, Signs] = {}
    while len(ranges):
        new = np.setdiff1d(ranges, list(labeled))
        for part in np.array_split(new, len(new) // LABELINGS_AT_ONCE + 1):
            interval.check_time()
            labels = feasible.best(points @ direction(angles[part]).T).T.astype(np.int8)
            labeled.update(zip(part.tolist(), labels, strict=True))
        open_ones = [b > a + 1 and (labeled[a] != labeled[b]).any() for a, b in ranges.tolist()]
        halves = np.insert(ranges, 1, ranges.sum(axis=1) // 2, axis=1)[open_ones]
        ranges = np.vstack([halves[:, :2], halves[:, 1:]])
    labelings = np.array([labeled[k] for k in sorted(labeled)])
    return labelings[np.append(True, np.any(labelings[1:] != labelings[:-1], axis=1))]


def sorting_slack(problem: LabelingProblem, upper: float) -> float:
    r"""How much less than those of all arcs the best value can be, as scores are rounded.

    Let the scores of the best weights be wrong by at most e.  Over the m instances where the sorted
    labeling differs from the best one, the margins of the best one sum to at most m e, and so its
    hinge losses to at least m (1 - e): there are at most :math:`upper / (C (1 - e))` of them, and
    each adds at most 2 C e.
    """
    longest = float(np.linalg.norm(problem.features, axis=1).max())
    error = SCORE_ERROR * problem.reach(upper) * longest
    most = upper / (problem.C * (1.0 - error)) if error < 1.0 else np.inf
    return 2.0 * problem.C * error * min(most, len(problem.features))


def dual_values(problem: LabelingProblem, labelings: Signs, duals: Array) -> Array:
    """Lower bounds on SVM values, in floating point, from the duals of a labeling like them."""
    values = np.empty(len(labelings))
    F, C = problem.features, problem.C
    size = np.abs(F).sum(axis=1)
    for start in range(0, len(labelings), LABELINGS_AT_ONCE):
        part = slice(start, start + LABELINGS_AT_ONCE)
        v = np.where(labelings[part] * duals > 0.0, np.clip(duals, -C, C), 0.0)
        alpha, weights = np.abs(v), v @ F
        total = alpha.sum(axis=1)
        square = np.square(weights).sum(axis=1)
        share = 4 * F.size * EPSILON
        wrong = share * (alpha @ size)  # at most, of the weights
        rounding = share * (total + square) + wrong * (np.sqrt(square) + wrong)
        values[part] = total - 0.5 * square - rounding
    return values
