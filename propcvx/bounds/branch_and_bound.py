r"""Branch and bound over labelings of whole bags, with the moment bound at the nodes.

At a node every piece has a set of labelings.  The multipliers' bound is maximised; a labeling that
cannot belong to anything better is dropped; pieces with few labelings left are merged, which
tightens the bound, and all this is repeated.  Once one piece is left, its labelings' values are
exact.  Where nothing can be merged, the piece of the instance whose mean label is nearest to 0 is
branched on that instance's label.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from propcvx.bounds.interval import Interval, NodeRecord
from propcvx.bounds.maximise import STAGES, maximise
from propcvx.bounds.moments import CertifiedValues, Multipliers, certify_values, improve_duals
from propcvx.bounds.pieces import Division, divide
from propcvx.bounds.problem import LabelingProblem
from propcvx.bounds.swap_search import SwapSearch

Array = NDArray[np.float64]

N_FACTORED = 40
"""Features with whole matrices :math:`A_k`, those of most variance; the others share scales."""

MOST_MERGED = 30_000
"""Labelings that a merged piece may have."""

MOST_AT_ONCE = 1000
"""So few labelings in all are merged into one piece before any multipliers are sought."""

WARM_STAGES = ((3e-3, 40), (1e-3, 60), (3e-4, 60))
"""Stages where the multipliers are good already."""

PRECISION = 1e-6
"""Error of the values that decide which labelings are dropped, as a share of the upper bound."""


@dataclass(frozen=True, eq=False)
class Node:
    """Sets of labelings, and the multipliers and duals that bound them.

    Attributes
    ----------
    division : Division
    multipliers : Multipliers
    duals : list of arrays
    lower : float
        A lower bound on the labelings that are left.
    dropped : float
        A lower bound on those that were dropped, here or on the way here.
    index, parent, depth : int
    """

    division: Division
    multipliers: Multipliers
    duals: list[Array]
    lower: float = -np.inf
    dropped: float = np.inf
    index: int = 0
    parent: int = -1
    depth: int = 0

    @property
    def bound(self) -> float:
        """A lower bound on all labelings that the node has begun with."""
        return min(self.lower, self.dropped)


@dataclass(frozen=True, eq=False)
class BagMoments:
    """The moment bound at a node, and what follows from it.

    Attributes
    ----------
    problem : LabelingProblem
        Its features rotated to their axes of most variance.
    interval : Interval
    search : SwapSearch
        For labelings met, of the same instances.
    name : str
        The kind of bound that events name.
    slack : float
        What the rotation's rounding may have added to a bound.
    """

    problem: LabelingProblem
    interval: Interval
    search: SwapSearch
    name: str
    slack: float

    @classmethod
    def of(
        cls, problem: LabelingProblem, interval: Interval, search: SwapSearch, name: str
    ) -> BagMoments:
        r"""For a problem in any features.

        Where :math:`F = F' V + E`, margins differ by at most the rows of E times the weights.
        """
        left, lengths, axes = np.linalg.svd(problem.features, full_matrices=False)
        rotated, reach = left * lengths, problem.reach
        moved = float(np.linalg.norm(problem.features - rotated @ axes, axis=1).sum())
        bent = float(np.linalg.norm(axes @ axes.T - np.eye(len(axes))))
        slack = problem.C * reach * moved + 0.5 * reach**2 * bent
        return cls(replace(problem, features=rotated), interval, search, name, slack)

    def root(self) -> Node:
        """The node with all labelings, its multipliers equal but for what breaks the symmetry.

        Where counts are half of every bag, w and -w are alike and :math:`l_k = 0` is stationary.
        """
        division = divide(self.problem)
        multipliers = Multipliers.equal(division, N_FACTORED)
        duals = [self.problem.C * piece.labelings.astype(float) for piece in division.pieces]
        if self.interval.labeling is not None:
            multipliers = replace(multipliers, linear=0.1 * self._slopes(division))
        return Node(division, multipliers, duals)

    def _slopes(self, division: Division) -> Array:
        """Linear multipliers at which each copy is best at the weights of the best labeling."""
        plane = self.search.plane(np.asarray(self.interval.labeling))
        F = self.problem.features
        sums = np.array([plane.duals[p.instances] @ F[p.instances] for p in division.pieces])
        slopes: Array = sums - sums.mean(axis=0)
        return slopes

    def maximise(
        self, node: Node, stages: Sequence[tuple[float, int]], others: float = np.inf
    ) -> tuple[Node, CertifiedValues, list[Array]]:
        """The node with better multipliers, what they certify, and the mixtures there.

        ``others`` is a lower bound on the labelings of all other nodes.
        """
        certified: list[CertifiedValues] = []

        def certify(multipliers: Multipliers) -> None:
            certified.append(self._certify(node, multipliers))
            lower = max(node.lower, certified[-1].lower)
            self.interval.prove(self.name, min(lower, node.dropped, others))

        if len(node.division.pieces) == 1:
            multipliers = Multipliers.equal(node.division, N_FACTORED)
            mixtures = [np.ones(len(piece)) / len(piece) for piece in node.division.pieces]
        else:
            multipliers, mixtures = maximise(
                node.division,
                node.multipliers,
                node.duals,
                self.problem.C,
                unit=self.interval.upper,
                stages=stages,
                goal=self.interval.goal,
                before=self.interval.check_time,
                after_stage=certify,
            )
        certify(multipliers)
        best = certified[-1]
        lower = max(node.lower, best.lower)
        return replace(node, multipliers=multipliers, lower=lower), best, mixtures

    def _certify(self, node: Node, multipliers: Multipliers) -> CertifiedValues:
        problem, room = self.problem, max(self.interval.goal - node.lower, 0.0)
        if not np.isfinite(room):
            room = self.interval.upper
        tol = PRECISION * self.interval.upper
        args = (node.division, multipliers, node.duals, problem.C)
        improve_duals(*args, room=room, tol=tol, before=self.interval.check_time)
        certified = certify_values(*args, problem.reach)
        return replace(certified, lower=certified.lower - self.slack)


@dataclass(frozen=True, eq=False)
class BranchAndBound:
    """The tree.

    Attributes
    ----------
    moments : BagMoments
    """

    moments: BagMoments

    def run(self, root: Node) -> None:
        """Work on the node of the least lower bound until the interval closes."""
        interval, name = self.moments.interval, self.moments.name
        open_nodes, made, done = [(root.bound, 0, root)], 1, np.inf
        while open_nodes and not interval.closed:
            _, _, node = heapq.heappop(open_nodes)
            others = min(done, open_nodes[0][0] if open_nodes else np.inf)
            node, children = self._work(node, others)
            done = min(done, node.bound if not children else np.inf)
            for child in children:
                child = replace(child, index=made)
                heapq.heappush(open_nodes, (child.bound, made, child))
                made += 1
            interval.prove(name, min(done, open_nodes[0][0] if open_nodes else np.inf))

    def _work(self, node: Node, others: float) -> tuple[Node, list[Node]]:
        """Tighten a node; its children, none where it is done with."""
        interval, moments = self.moments.interval, self.moments
        if node.division.size <= MOST_AT_ONCE:
            node = _merged(node, [list(range(len(node.division.pieces)))])
        stages = STAGES if node.index == 0 else WARM_STAGES
        while True:
            node, certified, mixtures = moments.maximise(node, stages, others)
            self._round(node, certified)
            if node.lower >= interval.goal:
                return self._record(node, "closed"), []
            node, mixtures = _without_hopeless(node, certified, mixtures, interval.goal)
            groups = _groups([len(piece) for piece in node.division.pieces])
            if len(groups) == len(node.division.pieces):
                break
            node, stages = _merged(node, groups), WARM_STAGES
        if all(len(piece) == 1 for piece in node.division.pieces):
            return self._record(node, "stalled"), []
        return self._record(node, "branched"), _branches(node, certified, mixtures)

    def _round(self, node: Node, certified: CertifiedValues) -> None:
        """Descend from the labeling that takes the least of every piece."""
        chosen = [int(values.argmin()) for values in certified.values]
        labeling = node.division.labeling(chosen)
        if np.isfinite(self.moments.problem.cost(labeling)):
            self.moments.search.descend(labeling)

    def _record(self, node: Node, status: str) -> Node:
        sizes = tuple(len(piece) for piece in node.division.pieces)
        seconds = self.moments.interval.seconds
        self.moments.interval.record(
            NodeRecord(node.index, node.parent, node.depth, node.bound, status, sizes, seconds)
        )
        return node


def _without_hopeless(
    node: Node, certified: CertifiedValues, mixtures: list[Array], goal: float
) -> tuple[Node, list[Array]]:
    """The node without labelings that nothing better than the goal has."""
    division, duals, mixtures = node.division, list(node.duals), list(mixtures)
    dropped = node.dropped
    for k, piece in enumerate(division.pieces):
        values = certified.of_labelings(k)
        kept = values < goal
        kept[values.argmin()] = True
        dropped = min(dropped, float(values[~kept].min(initial=np.inf)))
        certified.values[k] = certified.values[k][kept]
        division = division.with_piece(k, piece.keep(kept))
        duals[k], mixtures[k] = duals[k][kept], mixtures[k][kept]
    return replace(node, division=division, duals=duals, dropped=dropped), mixtures


def _groups(sizes: Sequence[int]) -> list[list[int]]:
    """Which pieces to merge: neighbours in the order of their sizes, while few labelings result."""
    order = [int(k) for k in np.argsort(sizes, kind="stable")]
    if prod(sizes) <= MOST_MERGED:
        return [order]
    groups = []
    while order:
        first = order.pop(0)
        fits = order and sizes[first] * sizes[order[0]] <= MOST_MERGED
        groups.append([first, order.pop(0)] if fits else [first])
    return groups


def _merged(node: Node, groups: list[list[int]]) -> Node:
    division = node.division.merge(groups)
    duals = []
    for group in groups:
        product = node.duals[group[0]]
        for k in group[1:]:
            a, b = (i.ravel() for i in np.indices((len(product), len(node.duals[k]))))
            product = np.hstack([product[a], node.duals[k][b]])
        duals.append(product)
    multipliers = node.multipliers.merge(groups)
    return replace(node, division=division, multipliers=multipliers, duals=duals)


def _branches(node: Node, certified: CertifiedValues, mixtures: list[Array]) -> list[Node]:
    """Two children that differ in the label of one instance."""
    means = [
        np.where(np.ptp(piece.labelings, axis=0) > 0, np.abs(mixture @ piece.labelings), np.inf)
        for piece, mixture in zip(node.division.pieces, mixtures, strict=True)
    ]
    k = int(np.argmin([mean.min() for mean in means]))
    column = node.division.pieces[k].labelings[:, means[k].argmin()]
    children = []
    for kept in (column > 0, column < 0):
        lower = float(certified.of_labelings(k)[kept].min())
        duals = list(node.duals)
        duals[k] = duals[k][kept]
        division = node.division.with_piece(k, node.division.pieces[k].keep(kept))
        child = replace(node, division=division, duals=duals, lower=max(node.lower, lower))
        children.append(replace(child, parent=node.index, depth=node.depth + 1))
    return children
