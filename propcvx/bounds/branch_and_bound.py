r"""The moment bound, and branch and bound over labelings of whole bags with it at the nodes.

At a node every block has a set of labelings.  First the bound is maximized over the multipliers.
Then labelings that cannot belong to a better labeling are dropped.  Then blocks are merged with
the pairs of labelings that are left, if they are few, which tightens the bound.  These steps are
repeated.  Once one block is left, the values of its labelings are exact.  If no blocks can be
merged, the search branches on the label of the instance whose mean label is nearest to 0.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np

from propcvx.arrays import Indices
from propcvx.bounds.interval import Interval, NodeRecord
from propcvx.bounds.maximize import STAGES, maximize
from propcvx.bounds.moments import (
    MOST_PAIRS,
    CertifiedValues,
    Multipliers,
    certify_values,
    find_pairs,
    improve_duals,
    soft_least,
)
from propcvx.bounds.partition import Partition, divide
from propcvx.bounds.swap_search import SwapSearch
from propcvx.svm.problem import LabelingProblem

N_FACTORED = 40
"""Number of features, by variance, with whole matrices :math:`A_k`; in the others every bag has
the same multiple of I."""

MOST_MERGED = 30_000
"""Labelings that a merged block may have."""

MOST_AT_ONCE = 1000
"""Total of labelings up to which all blocks are merged into one before multipliers are sought."""

WARM_STAGES = ((3e-3, 40), (1e-3, 60), (3e-4, 60))
"""Stages for multipliers that are good already."""

VALUE_ERROR = 1e-6
"""Error of the values that decide which labelings are dropped, relative to the upper bound."""


@dataclass(frozen=True, eq=False)
class Node:
    """Sets of labelings, and the multipliers of the bound on their values.

    Attributes
    ----------
    division : Division
    multipliers : Multipliers
    lower : float
        A lower bound on the labelings that are left.
    dropped : float
        A lower bound on the labelings that were dropped in this node and in its ancestors.
    index, parent, depth : int
    stages : sequence of (temperature, iterations)
        The stages in which its multipliers are improved next; without any they are only evaluated.
    """

    partition: Partition
    multipliers: Multipliers
    lower: float = -np.inf
    dropped: float = np.inf
    index: int = 0
    parent: int = -1
    depth: int = 0
    stages: Sequence[tuple[float, int]] = STAGES

    @property
    def bound(self) -> float:
        """A lower bound on all labelings of the node, including the dropped ones."""
        return min(self.lower, self.dropped)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of labelings that are left of each block."""
        return tuple(map(len, self.partition.blocks))

    def with_label(self, instance: int, label: float) -> Node | None:
        """Restrict the node to labelings with a label; None if there are none."""
        columns = [np.flatnonzero(block.instances == instance) for block in self.partition.blocks]
        (k,) = (k for k, column in enumerate(columns) if len(column))
        mask = self.partition.blocks[k].labelings[:, columns[k][0]] == label
        return replace(self, partition=self.partition.keep(k, mask)) if mask.any() else None


@dataclass(eq=False)
class MomentBound:
    r"""Branch-and-bound tree with the moment bound at each node.

    The features are rotated to their axes of most variance.  With :math:`F = F' V + E`, margins
    differ by at most the rows of E times the weights: ``rotation_error`` is the sum of
    these rows' lengths, and ``axes_error`` is the distance of V from a rotation.

    Attributes
    ----------
    problem : LabelingProblem
        Given in any features, kept in the rotated ones.
    interval : Interval
    search : SwapSearch
        The search for labelings that nodes suggest, of the same instances.
    name : str
        The bound that events name.
    open_nodes : list of Node
        The nodes that are not finished, in the order of their lower bounds.
    finished_lower : float
        A lower bound on the labelings of all other nodes without children.
    """

    problem: LabelingProblem
    interval: Interval
    search: SwapSearch
    name: str

    def __post_init__(self) -> None:
        problem = self.problem
        vectors, lengths, axes = np.linalg.svd(problem.features, full_matrices=False)
        rotated = vectors * lengths
        self.rotation_error = float(np.linalg.norm(problem.features - rotated @ axes, axis=1).sum())
        self.axes_error = float(np.linalg.norm(axes @ axes.T - np.eye(len(axes))))
        self.problem = replace(problem, features=rotated)

    def root(self) -> Node:
        """Build the node with all labelings; its multipliers are equal up to a broken symmetry.

        If counts are half of every bag, w and -w are equivalent and :math:`l_k = 0` is stationary.
        """
        partition = divide(self.problem)
        multipliers = Multipliers.equal(partition, N_FACTORED)
        # with l equal to these slopes each block is best at the weights of the best labeling
        duals = self.search.evaluate(np.asarray(self.interval.labeling)).duals
        slopes = np.array([duals[block.instances] @ block.features for block in partition.blocks])
        linear = 0.1 * (slopes - slopes.mean(axis=0))
        return Node(partition, replace(multipliers, linear=linear))

    def maximize(self, node: Node, other_lower: float = np.inf) -> tuple[Node, CertifiedValues]:
        """Improve the multipliers of a node, and return it with its certified values.

        ``other_lower`` is a lower bound on the labelings of all other nodes.
        """
        interval, partition = self.interval, node.partition
        candidates: Iterable[Multipliers] = [node.multipliers]
        if len(partition.blocks) > 1 and node.stages:
            candidates = maximize(partition, node.multipliers, interval, node.stages)
        tol = VALUE_ERROR * interval.upper
        for multipliers in candidates:
            improve_duals(partition, multipliers, 0.0, tol, interval.check_time)
            node, certified = self.bound_node(replace(node, multipliers=multipliers), other_lower)
        margin = self.interval.goal - certified.lower
        improve_duals(partition, node.multipliers, margin, tol, interval.check_time)
        node, certified = self.bound_node(node, other_lower)
        return replace(node, stages=WARM_STAGES), certified

    def bound_node(self, node: Node, other_lower: float) -> tuple[Node, CertifiedValues]:
        """Certify a node with its multipliers, and return it with its proved bound.

        Bounds must hold for the weights of labelings up to twice the upper bound; a larger bound
        proves only that the value is above this limit, too.  All rounding errors are multiplied by
        the length of these weights, which for a large C is far below the length for all labelings.
        """
        limit = 2.0 * self.interval.upper
        partition = replace(node.partition, reach=self.problem.reach(limit))
        node = replace(node, partition=partition)
        certified = self.certify_node(node)
        node = replace(node, lower=max(node.lower, min(certified.lower, limit)))
        self.interval.prove(self.name, min(node.bound, other_lower))
        return node, certified

    def certify_node(self, node: Node) -> CertifiedValues:
        """Compute the values that the multipliers of a node certify."""
        certified, reach = certify_values(node.partition, node.multipliers), node.partition.reach
        slack = self.problem.C * reach * self.rotation_error + 0.5 * reach**2 * self.axes_error
        return replace(certified, rest=certified.rest - slack)

    def branch(self) -> None:
        """Work on the tree of all labelings until the interval closes."""
        self.open_nodes, self.n_nodes, self.finished_lower = [self.root()], 1, np.inf
        while self.open_nodes and not self.interval.closed:
            self.step()

    def step(self) -> None:
        """Work on the node of the least lower bound."""
        first, *others = self.open_nodes
        node, status, certified = self.work(first, self._lower_bound(others))
        children: list[Node] = []
        if status == "open":
            status, children = "branched", self._children(node, certified)
        else:
            self.finished_lower = min(self.finished_lower, node.bound)
        for child in children:
            insort(others, child, key=attrgetter("bound", "index"))
        self.open_nodes = others
        place = node.index, node.parent, node.depth
        record = NodeRecord(*place, node.bound, status, node.sizes, self.interval.seconds)
        self.interval.record(record)
        self.interval.prove(self.name, self._lower_bound(self.open_nodes))

    def _lower_bound(self, nodes: Sequence[Node]) -> float:
        """Return a lower bound on the labelings of sorted nodes and of finished nodes."""
        return min([self.finished_lower, *(node.bound for node in nodes[:1])])

    def work(self, node: Node, other_lower: float) -> tuple[Node, str, CertifiedValues]:
        """Tighten a node; return it, its status (closed, listed or open) and certified values."""
        if node.partition.size <= MOST_AT_ONCE:
            multipliers = node.multipliers.merge([range(len(node.sizes))])
            node = replace(node, partition=node.partition.merge_all(), multipliers=multipliers)
        while True:
            node, certified = self.maximize(node, other_lower)
            # descend from the labeling that takes the least of every block
            labeling = node.partition.labeling(
                [int(values.argmin()) for values in certified.values]
            )
            if np.isfinite(self.problem.cost(labeling)):
                upper, _ = self.interval.upper, self.search.descend(labeling)
                if self.interval.upper < upper:
                    node, certified = self.bound_node(node, other_lower)
            if node.lower >= self.interval.goal:
                return node, "closed", certified
            node = _drop_hopeless(node, certified, self.interval.goal)
            if len(node.sizes) == 1:
                return node, "listed", certified
            merged = self._merged(node, certified)
            if not all(merged.sizes):
                return replace(merged, lower=max(node.lower, merged.dropped)), "closed", certified
            if merged is node:
                return node, "open", certified
            node = merged

    def _merged(self, node: Node, certified: CertifiedValues) -> Node:
        """Merge neighbors in the order of their sizes if few pairs of labelings are left.

        If few combinations are left in all, the next blocks are merged without better multipliers.
        """
        order: list[int] = np.argsort(node.sizes, kind="stable").tolist()
        groups: list[list[int]] = []
        choices: dict[int, Indices] = {}
        for pair in (order[k : k + 2] for k in range(0, len(order), 2)):
            goal = self.interval.goal - certified.lower_without(pair)
            pairs = find_pairs(node.partition, node.multipliers, pair, goal, MOST_MERGED)
            if pairs is None:
                groups += [[block] for block in pair]
            else:
                choices[len(groups)] = pairs
                groups.append(pair)
        if not choices:
            return node
        partition = node.partition.merge(groups, choices)
        stages = () if partition.size <= MOST_PAIRS else WARM_STAGES
        node = replace(node, partition=partition, multipliers=node.multipliers.merge(groups))
        return replace(node, dropped=min(node.dropped, self.interval.goal), stages=stages)

    def _children(self, node: Node, certified: CertifiedValues) -> list[Node]:
        """Build two children that differ in the label of one instance."""
        temperature = WARM_STAGES[-1][0] * self.interval.upper / len(node.sizes)
        means = np.full(self.problem.bags.n_instances, np.inf)
        for block, values in zip(node.partition.blocks, certified.values, strict=True):
            mean = np.abs(soft_least(values, temperature)[1] @ block.labelings)
            open_ones = np.ptp(block.labelings, axis=0) > 0
            means[block.instances] = np.where(open_ones, mean, np.inf)
        instance = int(means.argmin())
        child = replace(node, parent=node.index, depth=node.depth + 1)
        pair = (child.with_label(instance, 1.0), child.with_label(instance, -1.0))
        children = [replace(node, index=self.n_nodes + k) for k, node in enumerate(pair) if node]
        self.n_nodes += len(children)
        return children


def _drop_hopeless(node: Node, certified: CertifiedValues, goal: float) -> Node:
    """Drop labelings that cannot be better from a node, and in place from its certified values."""
    partition, dropped = node.partition, node.dropped
    for k in range(len(partition.blocks)):
        values = certified.of_labelings(k)
        mask = values < goal
        mask[values.argmin()] = True
        dropped = min(dropped, float(values[~mask].min(initial=np.inf)))
        certified.values[k] = certified.values[k][mask]
        partition = partition.keep(k, mask)
    return replace(node, partition=partition, dropped=dropped)
