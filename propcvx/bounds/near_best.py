r"""How many positives of some sets of instances the labelings near the best one can have.

The multipliers of :mod:`propcvx.bounds.moments` bound the value of every labeling from below by a
sum over pieces, :math:`g(y) + c(y) \ge r + \sum_k v_k(y)`.  So the least of these bounds over the
labelings with m positives in a set is found exactly, piece after piece:
:math:`W(m) = r + \min \{ \sum_k v_k(j_k) \mid \sum_k j_k = m \}`, where :math:`v_k(j)` is the least
of the labelings of piece k with j positives in the set.  A labeling whose value is at most V has
only counts with :math:`W(m) \le V`.  One tree serves all sets.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from propcvx.arrays import Array, Indices
from propcvx.bounds.branch_and_bound import BagMoments, Node
from propcvx.bounds.interval import Interval
from propcvx.bounds.moments import CertifiedValues
from propcvx.bounds.problem import LabelingProblem
from propcvx.bounds.swap_search import SwapSearch


@dataclass(eq=False)
class NearBest:
    """Counts of positives of labelings within ``delta`` of the best one: a bound of ``certify``.

    Attributes
    ----------
    sets : sparse array of shape (n_sets, n_instances)
        1 for the instances of a set, in the order of the rows as they were given.
    delta : float
        Share of the best value by which that of a labeling may be larger.
    """

    sets: sp.csr_array
    delta: float
    _leaves: list[Node] = field(default_factory=list, init=False, repr=False)

    def run(self, problem: LabelingProblem, interval: Interval, search: SwapSearch) -> None:
        """Branch until the counts of all sets are known or time is over, and keep the leaves."""
        self._inside = self.sets[:, problem.bags.rows].toarray()
        allowance = self.delta + interval.tol
        self._tree = BagMoments(problem, interval, search, "near best", allowance, self._is_leaf)
        self._tree.start()
        try:
            while self._tree.open_nodes:
                self._tree.step()
        finally:
            self._leaves = [*self._tree.leaves, *self._tree.open_nodes]

    def counts(self) -> tuple[Indices, Indices]:
        """Least and largest count of each set, by what is proved so far.

        Returns
        -------
        least, most : int arrays of shape (n_sets,)
            0 and the size of the set where nothing is proved.
        """
        sizes = np.asarray(self.sets.sum(axis=1)).astype(np.intp)
        in_no_leaf = min((leaf.dropped for leaf in self._leaves), default=-np.inf)
        if not self._leaves or self._is_near(min(self._tree.finished_lower, in_no_leaf)):
            return np.zeros_like(sizes), sizes
        tree = self._tree
        ends = np.array([self._range(leaf, tree.certified(leaf)) for leaf in self._leaves])
        least, most = ends[:, 0].min(axis=0), ends[:, 1].max(axis=0)
        return (least, most) if tree.problem.bags.sign > 0 else (sizes - most, sizes - least)

    @property
    def _limit(self) -> float:
        """The largest value V of a labeling that counts as near."""
        return self._tree.interval.upper * (1.0 + self.delta)

    def _is_near(self, lower: float) -> bool:
        """Whether a labeling with this lower bound for the features may have a value up to V."""
        return bool(np.isfinite(lower) and self._tree.interval.gram_lower(lower) <= self._limit)

    def _range(self, node: Node, certified: CertifiedValues) -> tuple[Indices, Indices]:
        """Least and largest count of each set in a node; without any, the size + 1 and -1."""
        bounds = self._least_values(node, certified)
        possible = [np.flatnonzero([self._is_near(value) for value in least]) for least in bounds]
        lengths = map(len, bounds)
        least = [int(counts.min(initial=n)) for counts, n in zip(possible, lengths, strict=True)]
        return np.array(least), np.array([int(counts.max(initial=-1)) for counts in possible])

    def _least_values(self, node: Node, certified: CertifiedValues) -> list[Array]:
        """W(m) of each set for m = 0, 1, ..."""
        bounds = [np.array([certified.rest]) for _ in self._inside]
        for piece, values in zip(node.division.pieces, certified.values, strict=True):
            positives = (piece.labelings > 0) @ self._inside[:, piece.instances].T
            for place, counts in enumerate(positives.T.astype(np.intp)):
                least = np.full(int(counts.max()) + 1, np.inf)
                np.minimum.at(least, counts, values)
                bounds[place] = _least_sums(bounds[place], least)
        return bounds

    def _is_leaf(self, node: Node, certified: CertifiedValues) -> bool:
        """Whether branching cannot help: values are exact, or known labelings have both counts."""
        if len(node.sizes) == 1:
            return True
        known, best = self._tree.search.known.values(), self._tree.interval.labeling
        near = [solved.labeling for solved in known if solved.value <= self._limit]
        reached = self._inside @ (np.array([best, *near]) > 0).T
        least, most = self._range(node, certified)
        return bool((least >= reached.min(axis=1)).all() and (most <= reached.max(axis=1)).all())


def _least_sums(first: Array, second: Array) -> Array:
    """The least sum of an entry of each whose places have a given sum, for all such sums."""
    sums = np.full(len(first) + len(second) - 1, np.inf)
    places = np.add.outer(np.arange(len(first)), np.arange(len(second)))
    np.minimum.at(sums, places, np.add.outer(first, second))
    return sums
