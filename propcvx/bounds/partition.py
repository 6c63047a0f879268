r"""Blocks: sets of instances with the labelings that they can have.

A bag is a block with its feasible labelings.  Bags are merged into blocks with the product of
their labelings.  A bag with too many labelings is divided into blocks of a few instances with all
their labelings; its count is then priced, see :mod:`propcvx.bounds.moments`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import comb, prod

import numpy as np

from propcvx.arrays import Array, Indices, Mask, Signs
from propcvx.svm.problem import LabelingProblem

MOST_LABELINGS = 1000
"""Number of labelings above which a bag is divided."""

PIECE_SIZE = 8
"""Number of instances in a block of a divided bag."""


@dataclass(frozen=True, eq=False)
class Block:
    r"""Some instances and the labelings that they can have.

    Attributes
    ----------
    instances : int array of shape (n,)
    features : array of shape (n, rank)
        Their rows of F.
    labelings : int8 array of shape (P, n)
        Entries -1 and +1.
    duals : array of shape (P, n)
        The duals v of each labeling's SVM, :math:`0 \le y_i v_i \le C`; they are improved in place.
    costs : array of shape (P,)
        The costs of the bags inside of the block.
    counts : int array of shape (P, D)
        Positives that a labeling puts into each of the D divided bags.
    """

    instances: Indices
    features: Array
    labelings: Signs
    duals: Array
    costs: Array
    counts: Indices

    def __len__(self) -> int:
        return len(self.labelings)


@dataclass(frozen=True, eq=False)
class Partition:
    """All instances in blocks, and the costs of the bags that are divided among them.

    Attributes
    ----------
    blocks : tuple of Piece
    costs : tuple of arrays
        Costs of each divided bag for 0, 1, ... positives; ``[0]`` once one block has all of it.
    members : tuple of int arrays
        Instances of each divided bag.
    C : float
        Weight of the hinge loss.
    reach : float
        Length of weights above which labelings are omitted from all bounds.
    """

    blocks: tuple[Block, ...]
    costs: tuple[Array, ...]
    members: tuple[Indices, ...]
    C: float
    reach: float

    @property
    def size(self) -> int:
        """Number of combinations of the blocks' labelings."""
        return prod(len(block) for block in self.blocks)

    def labeling(self, choices: Sequence[int]) -> Array:
        """Combine one labeling of each block into a labeling of all instances."""
        labeling = np.empty(sum(len(block.instances) for block in self.blocks))
        for block, choice in zip(self.blocks, choices, strict=True):
            labeling[block.instances] = block.labelings[choice]
        return labeling

    def merge(self, groups: Sequence[Sequence[int]], choices: Mapping[int, Indices]) -> Partition:
        """Merge blocks by groups of their positions.

        ``choices[k]`` has the combinations of labelings that group k keeps, in columns.
        """
        merged = [self.blocks[group[0]] for group in groups]
        for k, choice in choices.items():
            merged[k] = _product([self.blocks[block] for block in groups[k]], choice)
        costs = list(self.costs)
        for place, block in enumerate(merged):
            for bag, members in enumerate(self.members):
                if len(costs[bag]) > 1 and np.isin(members, block.instances).all():
                    total = block.costs + costs[bag][block.counts[:, bag]]
                    others = np.arange(len(costs)) != bag
                    block = replace(block, costs=total, counts=block.counts * others)
                    costs[bag] = np.zeros(1)
            merged[place] = block
        return replace(self, blocks=tuple(merged), costs=tuple(costs))

    def merge_all(self) -> Partition:
        """Merge all blocks, with all combinations of their labelings."""
        choices = np.array([*product(*(range(len(block)) for block in self.blocks))]).T
        return self.merge([range(len(self.blocks))], {0: choices})

    def keep(self, k: int, labelings: Mask) -> Partition:
        """Restrict block k to some of its labelings."""
        block, names = self.blocks[k], ("labelings", "duals", "costs", "counts")
        block = replace(block, **{name: getattr(block, name)[labelings] for name in names})
        return replace(self, blocks=(*self.blocks[:k], block, *self.blocks[k + 1 :]))


def divide(problem: LabelingProblem) -> Partition:
    """Make every bag a block, or several blocks if it has more than ``MOST_LABELINGS``."""
    bags = list(zip(problem.bags.members, problem.costs, strict=True))
    large = [k for k, bag in enumerate(bags) if _number(problem, *bag) > MOST_LABELINGS]
    blocks = []
    for k, (members, cost) in enumerate(bags):
        priced = np.array([k == other for other in large], dtype=np.intp)
        parts = [(members, cost)]
        if k in large:
            split = np.array_split(members, -(-len(members) // PIECE_SIZE))
            parts = [(part, np.zeros(len(part) + 1)) for part in split]
        blocks += [_piece(problem, *part, priced) for part in parts]
    divided, costs = [bags[k][0] for k in large], [bags[k][1] for k in large]
    return Partition(tuple(blocks), tuple(costs), tuple(divided), problem.C, problem.reach())


def _number(problem: LabelingProblem, members: Indices, cost: Array) -> int:
    """Count the labelings of a bag."""
    labels = problem.bags.labels[members]
    free, positive = int((labels == 0).sum()), int((labels > 0).sum())
    allowed = np.flatnonzero(np.isfinite(cost)) - positive
    return sum(comb(free, int(m)) for m in allowed if 0 <= m <= free)


def _piece(problem: LabelingProblem, members: Indices, cost: Array, priced: Indices) -> Block:
    """Build a block of some instances of a bag; ``priced`` is 1 for a divided bag."""
    labels = problem.bags.labels[members]
    free, positive = np.flatnonzero(labels == 0), int((labels > 0).sum())
    allowed = np.flatnonzero(np.isfinite(cost[positive : positive + len(free) + 1]))
    choices = [list(choice) for count in allowed for choice in combinations(free, int(count))]
    labelings = np.tile(np.where(labels > 0, 1, -1).astype(np.int8), (len(choices), 1))
    for row, choice in zip(labelings, choices, strict=True):
        row[choice] = 1
    positives = (labelings > 0).sum(axis=1)
    counts = np.outer(positives, priced)
    duals = problem.C * labelings.astype(float)
    return Block(members, problem.features[members], labelings, duals, cost[positives], counts)


def _product(blocks: Sequence[Block], combinations: Indices) -> Block:
    """Build a block of some combinations, in columns, of the labelings of some blocks."""
    parts = list(zip(blocks, combinations, strict=True))
    return Block(
        np.concatenate([block.instances for block in blocks]),
        np.vstack([block.features for block in blocks]),
        np.hstack([block.labelings[choice] for block, choice in parts]),
        np.hstack([block.duals[choice] for block, choice in parts]),
        np.sum([block.costs[choice] for block, choice in parts], axis=0),
        np.sum([block.counts[choice] for block, choice in parts], axis=0),
    )
