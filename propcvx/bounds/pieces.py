r"""Pieces: sets of instances with the labelings that they can have.

A bag is a piece with its feasible labelings.  Bags are merged into pieces with the product of
their labelings.  A bag with too many labelings is divided into pieces of a few instances with all
their labelings; its count is then priced, see :mod:`propcvx.bounds.moments`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import comb, prod

import numpy as np

from propcvx.arrays import Array, Indices, Mask, Signs
from propcvx.bounds.problem import LabelingProblem

MOST_LABELINGS = 1000
"""A bag with more labelings is divided."""

PIECE_SIZE = 8
"""Instances in a piece of a divided bag."""


@dataclass(frozen=True, eq=False)
class Piece:
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
        The costs of the bags inside of the piece.
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
class Division:
    """All instances in pieces, and the costs of the bags that are divided among them.

    Attributes
    ----------
    pieces : tuple of Piece
    costs : tuple of arrays
        Of each divided bag, its cost for 0, 1, ... positives; ``[0]`` once a piece holds all of it.
    members : tuple of int arrays
        Its instances.
    C : float
        Weight of the hinge loss.
    reach : float
        Labelings whose weights are longer than this are left out of all bounds.
    """

    pieces: tuple[Piece, ...]
    costs: tuple[Array, ...]
    members: tuple[Indices, ...]
    C: float
    reach: float

    @property
    def size(self) -> int:
        """Number of combinations of the pieces' labelings."""
        return prod(len(piece) for piece in self.pieces)

    def labeling(self, chosen: Sequence[int]) -> Array:
        """The whole labeling that takes one labeling of each piece."""
        labeling = np.empty(sum(len(piece.instances) for piece in self.pieces))
        for piece, choice in zip(self.pieces, chosen, strict=True):
            labeling[piece.instances] = piece.labelings[choice]
        return labeling

    def merge(self, groups: Sequence[Sequence[int]], kept: Mapping[int, Indices]) -> Division:
        """Pieces merged as groups of their positions say.

        ``kept[k]`` has the combinations of labelings that group k keeps, in columns.
        """
        merged = [self.pieces[group[0]] for group in groups]
        for k, chosen in kept.items():
            merged[k] = _product([self.pieces[piece] for piece in groups[k]], chosen)
        costs = list(self.costs)
        for place, piece in enumerate(merged):
            for bag, inside in enumerate(self.members):
                if len(costs[bag]) > 1 and np.isin(inside, piece.instances).all():
                    total = piece.costs + costs[bag][piece.counts[:, bag]]
                    others = np.arange(len(costs)) != bag
                    piece = replace(piece, costs=total, counts=piece.counts * others)
                    costs[bag] = np.zeros(1)
            merged[place] = piece
        return replace(self, pieces=tuple(merged), costs=tuple(costs))

    def whole(self) -> Division:
        """All pieces merged, with all combinations of their labelings."""
        chosen = np.array([*product(*(range(len(piece)) for piece in self.pieces))]).T
        return self.merge([range(len(self.pieces))], {0: chosen})

    def keep(self, k: int, labelings: Mask) -> Division:
        """The division with some labelings of piece k only."""
        piece, each = self.pieces[k], ("labelings", "duals", "costs", "counts")
        piece = replace(piece, **{name: getattr(piece, name)[labelings] for name in each})
        return replace(self, pieces=(*self.pieces[:k], piece, *self.pieces[k + 1 :]))


def divide(problem: LabelingProblem) -> Division:
    """Every bag a piece, or several where it has more than ``MOST_LABELINGS``."""
    bags = list(zip(problem.bags.members, problem.costs, strict=True))
    large = [k for k, bag in enumerate(bags) if _number(problem, *bag) > MOST_LABELINGS]
    pieces = []
    for k, (members, cost) in enumerate(bags):
        priced = np.array([k == other for other in large], dtype=np.intp)
        parts = [(members, cost)]
        if k in large:
            split = np.array_split(members, -(-len(members) // PIECE_SIZE))
            parts = [(part, np.zeros(len(part) + 1)) for part in split]
        pieces += [_piece(problem, *part, priced) for part in parts]
    divided, costs = [bags[k][0] for k in large], [bags[k][1] for k in large]
    return Division(tuple(pieces), tuple(costs), tuple(divided), problem.C, problem.reach())


def _number(problem: LabelingProblem, members: Indices, cost: Array) -> int:
    """How many labelings a bag has."""
    known = problem.bags.labels[members]
    free, positive = int((known == 0).sum()), int((known > 0).sum())
    allowed = np.flatnonzero(np.isfinite(cost)) - positive
    return sum(comb(free, int(m)) for m in allowed if 0 <= m <= free)


def _piece(problem: LabelingProblem, members: Indices, cost: Array, priced: Indices) -> Piece:
    """Some instances of a bag with all their labelings; ``priced`` is 1 for a divided bag."""
    known = problem.bags.labels[members]
    free, positive = np.flatnonzero(known == 0), int((known > 0).sum())
    allowed = np.flatnonzero(np.isfinite(cost[positive : positive + len(free) + 1]))
    chosen = [list(some) for count in allowed for some in combinations(free, int(count))]
    labelings = np.tile(np.where(known > 0, 1, -1).astype(np.int8), (len(chosen), 1))
    for row, some in zip(labelings, chosen, strict=True):
        row[some] = 1
    positives = (labelings > 0).sum(axis=1)
    counts = np.outer(positives, priced)
    duals = problem.C * labelings.astype(float)
    return Piece(members, problem.features[members], labelings, duals, cost[positives], counts)


def _product(pieces: Sequence[Piece], combinations: Indices) -> Piece:
    """Some combinations of the labelings of some pieces, in columns."""
    parts = list(zip(pieces, combinations, strict=True))
    return Piece(
        np.concatenate([piece.instances for piece in pieces]),
        np.vstack([piece.features for piece in pieces]),
        np.hstack([piece.labelings[chosen] for piece, chosen in parts]),
        np.hstack([piece.duals[chosen] for piece, chosen in parts]),
        np.sum([piece.costs[chosen] for piece, chosen in parts], axis=0),
        np.sum([piece.counts[chosen] for piece, chosen in parts], axis=0),
    )
