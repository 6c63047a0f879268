r"""The moment bound, and branch and bound over labelings of whole bags with it at the nodes.

At a node every piece has a set of labelings.  The multipliers' bound is maximised; a labeling that
cannot belong to anything better is dropped; pieces with few labelings left are merged, which
tightens the bound, and all this is repeated.  Once one piece is left, its labelings' values are
exact.  Where nothing can be merged, the piece of the instance whose mean label is nearest to 0 is
branched on that instance's label.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from propcvx.arrays import Array
from propcvx.bounds.interval import Interval, NodeRecord
from propcvx.bounds.maximise import STAGES, maximise
from propcvx.bounds.moments import (
    CertifiedValues,
    Multipliers,
    certify_values,
    improve_duals,
    soft_least,
)
from propcvx.bounds.pieces import Division, Piece, divide
from propcvx.bounds.problem import LabelingProblem
from propcvx.bounds.swap_search import SwapSearch

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
    """Sets of labelings, and the multipliers that bound them.

    Attributes
    ----------
    division : Division
    multipliers : Multipliers
    lower : float
        A lower bound on the labelings that are left.
    dropped : float
        A lower bound on those that were dropped, here or on the way here.
    index, parent, depth : int
    stages : sequence of (temperature, iterations)
        How its multipliers are improved next; in no stage they are only evaluated.
    """

    division: Division
    multipliers: Multipliers
    lower: float = -np.inf
    dropped: float = np.inf
    index: int = 0
    parent: int = -1
    depth: int = 0
    stages: Sequence[tuple[float, int]] = STAGES

    @property
    def bound(self) -> float:
        """A lower bound on all labelings that the node has begun with."""
        return min(self.lower, self.dropped)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Labelings that are left of each piece."""
        return tuple(map(len, self.division.pieces))

    def merged(self, groups: Sequence[Sequence[int]]) -> Node:
        """The node with pieces merged."""
        division, multipliers = self.division.merge(groups), self.multipliers.merge(groups)
        return replace(self, division=division, multipliers=multipliers)

    def with_label(self, instance: int, label: float) -> Node | None:
        """Its labelings with a label, None if there are none; the multipliers to be evaluated."""
        inside = [np.flatnonzero(piece.instances == instance) for piece in self.division.pieces]
        (k,) = (k for k, place in enumerate(inside) if len(place))
        kept = self.division.pieces[k].labelings[:, inside[k][0]] == label
        if not kept.any():
            return None
        return replace(self, division=self.division.keep(k, kept), stages=())


class BagMoments:
    r"""The moment bound at a node, and the tree.

    The features are rotated to their axes of most variance.  Where :math:`F = F' V + E`, margins
    differ by at most the rows of E times the weights: ``slack`` is what the rotation's rounding may
    have added to a bound.

    Parameters
    ----------
    problem : LabelingProblem
        In any features.
    interval : Interval
    search : SwapSearch
        For labelings that nodes suggest, of the same instances.
    name : str
        The bound that events name.

    Attributes
    ----------
    begun : Node or None
        The root once its multipliers are good: trees of fewer labelings can begin with these.
    listed : callable
        Told of all labelings of a node where one piece is left, and of their values.
    open_nodes : list of (float, int, Node)
        A heap of the nodes that are not done with, the one of the least lower bound first.
    """

    def __init__(
        self, problem: LabelingProblem, interval: Interval, search: SwapSearch, name: str
    ) -> None:
        self.interval, self.search, self.name = interval, search, name
        left, lengths, axes = np.linalg.svd(problem.features, full_matrices=False)
        rotated, reach = left * lengths, problem.reach
        moved = float(np.linalg.norm(problem.features - rotated @ axes, axis=1).sum())
        bent = float(np.linalg.norm(axes @ axes.T - np.eye(len(axes))))
        self.slack = problem.C * reach * moved + 0.5 * reach**2 * bent
        self.problem = replace(problem, features=rotated)
        self.begun: Node | None = None
        self.listed: Callable[[Piece, Array], None] = lambda piece, values: None
        self.open_nodes: list[tuple[float, int, Node]] = []
        self.made, self.done = 1, np.inf

    def inside(self, interval: Interval, search: SwapSearch) -> BagMoments:
        """The same for an interval and a search of fewer labelings."""
        other = copy(self)
        other.interval, other.search, other.listed = interval, search, lambda piece, values: None
        return other

    def root(self) -> Node:
        """The node with all labelings, its multipliers equal but for what breaks the symmetry.

        Where counts are half of every bag, w and -w are alike and :math:`l_k = 0` is stationary.
        """
        division = divide(self.problem)
        multipliers = Multipliers.equal(division, N_FACTORED)
        if self.interval.labeling is not None:
            # each copy is best at the weights of the best labeling where l is all of these slopes
            duals = self.search.plane(self.interval.labeling).duals
            slopes = np.array([duals[p.instances] @ p.features for p in division.pieces])
            multipliers = replace(multipliers, linear=0.1 * (slopes - slopes.mean(axis=0)))
        return Node(division, multipliers)

    def maximise(self, node: Node, others: float = np.inf) -> tuple[Node, CertifiedValues]:
        """The node with better multipliers, and what they certify.

        ``others`` is a lower bound on the labelings of all other nodes.
        """
        interval, division = self.interval, node.division
        found: Iterable[Multipliers] = [node.multipliers]
        if len(division.pieces) == 1:
            found = [Multipliers.equal(division, N_FACTORED)]
        elif node.stages:
            found = maximise(division, node.multipliers, interval, node.stages)
        for multipliers in found:
            margin = max(interval.goal - node.lower, 0.0)
            margin = margin if np.isfinite(margin) else interval.upper
            tol = PRECISION * interval.upper
            improve_duals(division, multipliers, margin, tol, interval.check_time)
            certified = certify_values(division, multipliers)
            certified = replace(certified, lower=certified.lower - self.slack)
            node = replace(node, multipliers=multipliers, lower=max(node.lower, certified.lower))
            interval.prove(self.name, min(node.bound, others))
        return replace(node, stages=WARM_STAGES), certified

    def branch(self, root: Node | None = None) -> None:
        """Work on the node of the least lower bound until the interval closes."""
        root = root or self.root()
        self.open_nodes, self.made, self.done = [(root.bound, 0, root)], 1, np.inf
        while self.open_nodes and not self.interval.closed:
            self.step()

    def step(self) -> None:
        """Work on the node of the least lower bound."""
        _, _, node = self.open_nodes[0]
        node, status, children = self.work(node, self._others())
        heapq.heappop(self.open_nodes)
        place = node.index, node.parent, node.depth
        record = NodeRecord(*place, node.bound, status, node.sizes, self.interval.seconds)
        self.interval.record(record)
        self.done = min(self.done, node.bound if not children else np.inf)
        for child in children:
            child = replace(child, index=self.made, parent=node.index, depth=node.depth + 1)
            heapq.heappush(self.open_nodes, (child.bound, self.made, child))
            self.made += 1
        least = self.open_nodes[0][0] if self.open_nodes else np.inf
        self.interval.prove(self.name, min(self.done, least))

    def _others(self) -> float:
        """A lower bound on the labelings of all nodes but the one of the least lower bound."""
        return min([self.done, *(bound for bound, _, _ in self.open_nodes[1:3])])

    def work(self, node: Node, others: float) -> tuple[Node, str, list[Node]]:
        """Tighten a node; what became of it, and its children."""
        if node.division.size <= MOST_AT_ONCE:
            node = node.merged([range(len(node.sizes))])
        while True:
            node, certified = self.maximise(node, others)
            self.begun = self.begun or node
            # descend from the labeling that takes the least of every piece
            labeling = node.division.labeling([int(values.argmin()) for values in certified.values])
            if np.isfinite(self.problem.cost(labeling)):
                self.search.descend(labeling)
            if node.lower >= self.interval.goal:
                return node, "closed", []
            node = _without_hopeless(node, certified, self.interval.goal)
            if len(node.sizes) == 1:
                self.listed(node.division.pieces[0], certified.of_labelings(0))
                return node, "listed", []
            groups = _groups(node.sizes)
            if len(groups) == len(node.sizes):
                break
            node = node.merged(groups)
        temperature = WARM_STAGES[-1][0] * self.interval.upper / len(node.sizes)
        return node, "branched", _branches(node, certified, temperature)


def _without_hopeless(node: Node, certified: CertifiedValues, goal: float) -> Node:
    """The node, and in place its certified values, without labelings that cannot be better."""
    division, dropped = node.division, node.dropped
    for k in range(len(division.pieces)):
        values = certified.of_labelings(k)
        kept = values < goal
        kept[values.argmin()] = True
        dropped = min(dropped, float(values[~kept].min(initial=np.inf)))
        certified.values[k] = certified.values[k][kept]
        division = division.keep(k, kept)
    return replace(node, division=division, dropped=dropped)


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


def _branches(node: Node, certified: CertifiedValues, temperature: float) -> list[Node]:
    """Two children that differ in the label of one instance."""
    means = []
    for piece, values in zip(node.division.pieces, certified.values, strict=True):
        mean = np.abs(soft_least(values, temperature)[1] @ piece.labelings)
        means.append(np.where(np.ptp(piece.labelings, axis=0) > 0, mean, np.inf))
    k = int(np.argmin([mean.min() for mean in means]))
    values = certified.of_labelings(k)
    column = node.division.pieces[k].labelings[:, means[k].argmin()]
    children = []
    for kept in (column > 0, column < 0):
        lower = max(node.lower, float(values[kept].min()))
        children.append(replace(node, division=node.division.keep(k, kept), lower=lower))
    return children
