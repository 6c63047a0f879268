r"""Local search over labelings: alternation, swaps of two labels of a bag, flips of single ones.

Every value is that of the labeling's own SVM and whatever its bags cost; a step is taken only if
that falls.  A move is tried only where no lower bound shows that it cannot be better, and first the
one that costs least with the separator as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from numpy.random import RandomState

from propcvx.arrays import Array, Indices
from propcvx.bags.bags import Bags

BETTER = 1e-9
"""A value counts as better if it is by more than this share."""

MOST_SWAPPED = 100
"""Instances of each label of a bag that swaps are tried of: those that cost least to flip."""

T = TypeVar("T")


class Plane(Protocol):
    """A labeling and its SVM."""

    @property
    def labeling(self) -> Array:
        """Entries -1 and +1, shape (n_instances,)."""

    @property
    def value(self) -> float:
        """The SVM's value with what the bags cost."""


P = TypeVar("P", bound=Plane)


class Searched(Protocol[P]):
    """What the search asks of a problem."""

    @property
    def moves(self) -> Moves:
        """The changes of a labeling that are allowed."""

    def solved(self, labeling: Array) -> P:
        """The SVM of a labeling."""

    def relabeled(self, plane: P) -> Array:
        """The best labeling for a separator: the other half of alternation."""

    def best_for(self, scores: Array) -> Array:
        """The best labeling for scores, shape (n_instances,)."""

    def changes(self, plane: P) -> Array:
        """What flipping each label adds to the loss with the separator as it is."""

    def least(self, plane: P, flipped: Indices) -> Array:
        """Lower bounds on the SVM values after flips of one or two labels, in rows.

        Minus infinity where nothing is known.
        """


@dataclass(frozen=True, eq=False)
class Moves:
    r"""Changes of a labeling inside a bag, and what the bags cost.

    Attributes
    ----------
    bags : Bags
    costs : sequence of arrays
        Of each bag for 0, 1, ..., :math:`n_k` positives; infinite where not allowed.
    """

    bags: Bags
    costs: Sequence[Array]

    def cost(self, labeling: Array) -> float:
        """What the bags add for a labeling."""
        counts = self.bags.positives_of(labeling)
        return float(sum(cost[m] for cost, m in zip(self.costs, counts, strict=True)))

    def swaps(self, labeling: Array, changes: Array) -> Indices:
        """A positive and a negative instance of the same bag, in rows."""
        pairs = [
            np.meshgrid(*(_first(free[labeling[free] == sign], changes) for sign in (1.0, -1.0)))
            for free in self.bags.free
        ]
        return np.vstack([np.column_stack([up.ravel(), down.ravel()]) for up, down in pairs])

    def flips(self, labeling: Array) -> tuple[Indices, Array]:
        """Single instances whose other label is allowed, in rows, and what the bags then add."""
        now, counts = self.cost(labeling), self.bags.positives_of(labeling)
        after = np.full(len(labeling), np.inf)
        for free, cost, count in zip(self.bags.free, self.costs, counts, strict=True):
            after[free] = now - cost[count] + cost[count - labeling[free].astype(np.intp)]
        allowed = np.flatnonzero(np.isfinite(after))
        return allowed[:, None], after[allowed]


def _first(instances: Indices, changes: Array) -> Indices:
    return instances[np.argsort(changes[instances], kind="stable")[:MOST_SWAPPED]]


def improved(best: T, step: Callable[[T], T], value: Callable[[T], float]) -> T:
    """Step after step, as long as each lowers the value."""
    while is_better(value(other := step(best)), value(best)):
        best = other
    return best


def is_better(value: float, than: float) -> bool:
    """Whether a value is lower, by more than rounding."""
    return value < than - BETTER * abs(than)


def descend(problem: Searched[P], start: P) -> P:
    """Alternate and move until neither helps."""
    best = alternated(problem, start)
    while (moved := _better_move(problem, best)) is not None:
        best = alternated(problem, moved)
    return best


def alternated(problem: Searched[P], start: P) -> P:
    """Label for the plane, and the plane for the labels, while it helps."""
    return improved(
        start, lambda best: problem.solved(problem.relabeled(best)), lambda plane: plane.value
    )


def hops(problem: Searched[P], best: P, random: RandomState) -> Iterator[P]:
    """Basin hopping: the best plane after each descent from one or two bags labeled anew."""
    bags = problem.moves.bags
    while True:
        drawn = random.choice(bags.n_bags, size=random.randint(1, 3))
        other = problem.best_for(random.normal(size=bags.n_instances))
        labeling = np.where(np.isin(bags.index, drawn), other, best.labeling)
        end = descend(problem, problem.solved(labeling))
        best = end if is_better(end.value, best.value) else best
        yield best


def until_idle(planes: Iterator[P], patience: int) -> Iterator[P]:
    """Ever better planes, until so many in a row are no better."""
    best, idle = np.inf, 0
    for plane in planes:
        idle = 0 if is_better(plane.value, best) else idle + 1
        best = min(plane.value, best)
        yield plane
        if idle == patience:
            return


def _better_move(problem: Searched[P], best: P) -> P | None:
    """The plane of a better labeling that is one move away."""
    changes, moves = problem.changes(best), problem.moves
    swaps, (flips, costs) = moves.swaps(best.labeling, changes), moves.flips(best.labeling)
    both = ((swaps, moves.cost(best.labeling)), (flips, costs))
    order = np.concatenate([changes[moved].sum(axis=1) + cost for moved, cost in both])
    least = np.concatenate([problem.least(best, moved) + cost for moved, cost in both])
    for place in np.argsort(order, kind="stable"):
        if not is_better(least[place], best.value):
            continue
        moved = swaps[place] if place < len(swaps) else flips[place - len(swaps)]
        labeling = best.labeling.copy()
        labeling[moved] *= -1.0
        other = problem.solved(labeling)
        if is_better(other.value, best.value):
            return other
    return None
