r"""What the other label of each instance costs at least: certificates of single labels.

Let U be the best value known and :math:`V_i` the best value of all labelings in which instance i
has the other label than in the labeling of that value.  The cost of the other label is
:math:`(V_i - U) / U`.

:math:`V_i` is bounded from below in a separate tree for each label.  It begins with the multipliers
of the root of all labelings, which hold for any part of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from propcvx.bounds.branch_and_bound import BagMoments, Node
from propcvx.bounds.interval import Interval, OutOfTimeError
from propcvx.bounds.swap_search import SwapSearch
from propcvx.svm.step import Separator

LEAST = 1e-6
"""The cost that is proved of all labels before more is proved of any: twice the tolerance, or this
if it is more."""


@dataclass(eq=False)
class LabelCosts:
    """Bounds on the best value with each label forced to its opposite, while they improve.

    Attributes
    ----------
    search : SwapSearch
        The search whose interval has the best labeling that is known.
    margin : float
        The work on a label ends when the cost of the other label is known exactly or proved to be
        at least this.
    n_jobs : int, optional
        Processes that grow trees of labels; the trees are the same for any number.
    least, most : arrays of shape (n_instances,)
        The best value with the other label is between them; infinite where it is not allowed.
    seconds : array of shape (n_instances,)
        Time of the work on each label.
    """

    search: SwapSearch
    margin: float
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        self.interval, self.labeling = self.search.interval, np.empty(0)
        n = self.search.problem.bags.n_instances
        self.least, self.most, self.seconds = np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n)
        self._parallel = Parallel(self.n_jobs, return_as="generator")
        effective_n_jobs(self._parallel.n_jobs)  # raises an error where it has no meaning

    def as_given(self) -> dict[str, Any]:
        """What a ``CertifiedInterval`` has of single labels, in the order of the rows."""
        tol, places = self.interval.tol, self.search.problem.bags.places
        values = np.maximum(self.least, self.interval.lower)
        both = (values, np.maximum(self.most, values))
        least, most = (values[places] / self.interval.upper - 1.0 for values in both)
        return {
            "label_costs": least,
            "label_costs_at_most": most,
            "label_status": np.where(least > tol, "proved", np.where(most <= tol, "tied", "open")),
            "label_seconds": self.seconds[places],
        }

    def run(self) -> None:
        """Prove of all labels that the other label costs something, then that it costs the margin.

        Labels whose other label seems to cost most come first.
        """
        first = min(max(2.0 * self.interval.tol, LEAST), self.margin)
        self._look_up(self.search.known)
        for margin in (first, self.margin):
            tried: set[tuple[int, float]] = set()
            while left := [i for i in self._unproved(margin) if self._side(i) not in tried]:
                tried.update(map(self._side, left))
                self._work(left, margin)
                self.interval.check_time()

    def _side(self, i: int) -> tuple[int, float]:
        return i, float(self.labeling[i])

    def _unproved(self, margin: float) -> list[int]:
        """Labels for which the cost of the other is neither known nor proved to be the margin."""
        exact = self.most * (1.0 - self.interval.tol)
        enough = np.minimum(exact, self.interval.upper * (1.0 + margin))
        order = np.argsort(-self.most, kind="stable")
        return [int(i) for i in order[self.least[order] < enough[order]]]

    def _work(self, left: Sequence[int], margin: float) -> None:
        """Bound the best values with the other label of some instances, each in its own tree."""
        sides, best = [self._side(i) for i in left], self.search.plane(self.labeling)
        root, enough = self._root, self.interval.upper * (1.0 + margin)
        searches = [self._inner(i, -label) for i, label in sides]
        trees = self._parallel(
            delayed(_grown)(search, best, root.with_label(i, -label), enough)
            for search, (i, label) in zip(searches, sides, strict=True)
        )
        try:
            for done, (side, (search, seconds)) in enumerate(zip(sides, trees, strict=True), 1):
                self.seconds[side[0]] += seconds
                self._take(side, search)
                self.interval.progress.set_postfix(margin=margin, labels=f"{done} of {len(left)}")
        except KeyboardInterrupt:  # what a tree in this process has reached counts
            for side, search in zip(sides, searches, strict=True):
                self._take(side, search)
            raise

    def _take(self, side: tuple[int, float], search: SwapSearch) -> None:
        """Take what a search for labelings with the other label of an instance has."""
        (i, label), inner = side, search.interval
        self.search.known.update(search.known)
        if self.labeling[i] == label:
            self.least[i] = max(self.least[i], inner.lower)
            self.most[i] = min(self.most[i], inner.upper)
        self.interval.offer("label costs", np.asarray(inner.labeling), inner.upper)
        self._look_up(search.known)

    def _inner(self, i: int, label: float) -> SwapSearch:
        """A search for labelings with a label, and their interval."""
        outer, problem = self.interval, self.search.problem
        labels = problem.bags.labels.copy()
        labels[i] = label
        problem = replace(problem, bags=replace(problem.bags, labels=labels))
        left = outer.time_limit - outer.seconds
        inner = Interval(outer.tol, left, gram_lower=outer.gram_lower, lower=self.least[i])
        return replace(self.search, problem=problem, interval=inner, known={})

    @cached_property
    def _root(self) -> Node:
        """The node of all labelings with good multipliers."""
        moments = BagMoments(self.search.problem, self.interval, self.search, "label costs")
        return replace(moments.maximise(moments.root())[0], stages=())

    def _look_up(self, known: Mapping[bytes, Separator]) -> None:
        """Take the best labeling from the interval, and upper bounds from labelings solved anew.

        Where the best one has changed, all that are known are looked at.
        """
        best = np.asarray(self.interval.labeling)
        if not np.array_equal(best, self.labeling):
            known = self.search.known
            if len(self.labeling):
                changed = best != self.labeling
                self.least[changed], self.most[changed] = -np.inf, np.inf
            self.labeling = best
        for plane in known.values():
            other = plane.labeling != best
            self.most[other] = np.minimum(self.most[other], plane.value)


def _grown(
    search: SwapSearch, plane: Separator, start: Node | None, enough: float
) -> tuple[SwapSearch, float]:
    """The search after a tree of the labelings of a node, if it has any, and its seconds.

    The node is copied, as duals are improved in place: no tree depends on those before it.
    """
    began = perf_counter()
    if start is None:
        search.interval.lower = np.inf
        return search, 0.0
    with suppress(OutOfTimeError):
        search.descend(search.relabeled(plane))
        tree = BagMoments(search.problem, search.interval, search, "label costs", enough=enough)
        tree.branch(deepcopy(start))
    return search, perf_counter() - began
