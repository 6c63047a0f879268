r"""Local search over labelings: alternation, swaps of two labels of a bag, flips of single ones.

Every value is that of the labeling's SVM and whatever its bags cost; a step is taken only if
that falls.  A move is tried only where no lower bound shows that it cannot be better, and first the
one that costs least with the separator as it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState

from propcvx.arrays import Array, Indices
from propcvx.svm.step import Separator

BETTER = 1e-9
"""A value counts as better if it is by more than this share."""


@dataclass(frozen=True, eq=False)
class LocalSearch(ABC):
    """A search for good labelings of a problem; a subclass knows their SVMs.

    Attributes
    ----------
    problem : PropSVM
    """

    problem: Any

    @abstractmethod
    def solved(self, labeling: Array) -> Separator:
        """The SVM of a labeling, with a value that counts in what the bags cost."""

    @abstractmethod
    def least(self, plane: Separator, flipped: Indices) -> Array:
        """Lower bounds on the SVM values after flips of one or two labels, in rows.

        Minus infinity where nothing is known.
        """

    def relabeled(self, plane: Separator) -> Array:
        """The best labeling for a separator."""
        return self.problem.best_labeling(plane.scores, ties=plane.ties)

    def changes(self, plane: Separator) -> Array:
        """What flipping each label adds to the loss with the separator as it is."""
        gains = self.problem.instance_loss.reduction(plane.scores)
        return np.asarray(self.problem.C * plane.labeling * gains)

    def descend(self, labeling: Array) -> Separator:
        """Alternate and move from a labeling until neither helps."""
        best = self.alternated(self.solved(labeling))
        while (moved := self._better_move(best)) is not None:
            best = self.alternated(moved)
        return best

    def alternated(self, start: Separator) -> Separator:
        """Label for the separator, and separate the labels, while it helps."""
        return improved(start, lambda best: self.solved(self.relabeled(best)))

    def hops(self, best: Separator, random: RandomState) -> Iterator[Separator]:
        """Basin hopping: the best after each descent from one or two bags labeled anew."""
        bags = self.problem.bags
        while True:
            drawn = random.choice(bags.n_bags, size=random.randint(1, 3))
            other = self.problem.best_labeling(random.normal(size=bags.n_instances))
            labeling = np.where(np.isin(bags.index, drawn), other, best.labeling)
            end = self.descend(labeling)
            best = end if is_better(end.value, best.value) else best
            yield best

    def _better_move(self, best: Separator) -> Separator | None:
        """The separator of a better labeling that is one move away."""
        changes, problem = self.changes(best), self.problem
        swaps, (flips, costs) = problem.swaps(best.labeling, changes), problem.flips(best.labeling)
        both = ((swaps, problem.cost(best.labeling)), (flips, costs))
        order = np.concatenate([changes[moved].sum(axis=1) + cost for moved, cost in both])
        least = np.concatenate([self.least(best, moved) + cost for moved, cost in both])
        for place in np.argsort(order, kind="stable"):
            if not is_better(least[place], best.value):
                continue
            moved = swaps[place] if place < len(swaps) else flips[place - len(swaps)]
            labeling = best.labeling.copy()
            labeling[moved] *= -1.0
            other = self.solved(labeling)
            if is_better(other.value, best.value):
                return other
        return None


def improved(best: Separator, step: Callable[[Separator], Separator]) -> Separator:
    """Step after step, as long as each lowers the value."""
    while is_better((other := step(best)).value, best.value):
        best = other
    return best


def is_better(value: float, than: float) -> bool:
    """Whether a value is lower, by more than rounding."""
    return value < than - BETTER * abs(than)


def until_idle(planes: Iterator[Separator], patience: int) -> Iterator[Separator]:
    """Ever better planes, until so many in a row are no better."""
    best, idle = np.inf, 0
    for plane in planes:
        idle = 0 if is_better(plane.value, best) else idle + 1
        best = min(plane.value, best)
        yield plane
        if idle == patience:
            return
