"""What may follow Algorithm 1: a local search from where it ended, which can only do better."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

import numpy as np
from numpy.random import RandomState

from propcvx.alternating.algorithm import Iterate
from propcvx.arrays import Array, Indices
from propcvx.history import StopReason
from propcvx.svm.local_search import LocalSearch, is_better, until_idle
from propcvx.svm.step import Separator, Step

IDLE = 3
"""Hops from one start without success in a row, after which there are no more: starts are many."""


@dataclass(frozen=True, eq=False)
class PropSVMSearch(LocalSearch):
    """The local search that may follow Algorithm 1.

    Attributes
    ----------
    problem : PropSVM
    svm_step : callable
        See :class:`propcvx.svm.step.SVMStep`.
    features : array of shape (n_instances, rank)
    """

    svm_step: Step
    features: Array

    def solved(self, labeling: Array) -> Separator:
        """The SVM of a labeling."""
        separator = self.svm_step(labeling, self.problem.C, None)
        return replace(separator, value=self.problem.objective(labeling, separator))

    def least(self, plane: Separator, flipped: Indices) -> Array:
        r"""Dual values after flips of one or two labels, in rows; nothing is known without duals.

        The duals v of the separator are changed so that they fit the new labels and still sum to
        zero: the dual value of any v that does, and stays within the box, is a lower bound.
        """
        if plane.duals is None:
            return np.full(len(flipped), -np.inf)
        duals = _after_swaps if flipped.shape[1] == 2 else _after_flips
        weights = np.broadcast_to(self.problem.instance_loss.weights, len(self.features))
        box = self.problem.C * weights
        return duals(self.features, np.clip(plane.duals, -box, box), flipped, box)


def _after_swaps(features: Array, v: Array, swaps: Indices, box: Array) -> Array:
    r"""For a positive i and a negative j that change their labels.

    :math:`v_i + v_j` stays what it is: one of them takes it, and then both move by the best t in
    opposite directions.  Nothing is known where it exceeds the box of the one that takes it.
    """
    i, j = swaps.T
    kept = v[i] + v[j]
    low, high = np.minimum(kept, 0.0), np.maximum(kept, 0.0)
    weights = v @ features + (low - v[i])[:, None] * features[i]
    weights += (high - v[j])[:, None] * features[j]
    apart = features[j] - features[i]
    square = np.maximum(np.square(apart).sum(axis=1), np.finfo(float).tiny)
    slope = 2.0 - np.einsum("pj,pj->p", weights, apart)
    room = np.minimum(box[i] + low, box[j] - high)
    t = np.clip(slope / square, 0.0, np.maximum(room, 0.0))
    total = np.abs(v).sum() - np.abs(v[i]) - np.abs(v[j]) + np.abs(kept) + 2.0 * t
    norm = np.square(weights + t[:, None] * apart).sum(axis=1)
    return np.where(room >= 0.0, total - 0.5 * norm, -np.inf)


def _after_flips(features: Array, v: Array, flips: Indices, box: Array) -> Array:
    """For one that changes its label: its dual is 0 then, those of the other label shrink."""
    i = flips[:, 0]
    sides = np.array([np.minimum(v, 0.0), np.maximum(v, 0.0)])
    sums = np.abs(sides).sum(axis=1)
    other = np.where(v[i] > 0.0, 0, 1)
    share = np.minimum(np.abs(v[i]) / np.maximum(sums[other], np.finfo(float).tiny), 1.0)
    weights = v @ features - v[i][:, None] * features[i]
    weights -= share[:, None] * (sides @ features)[other]
    total = sums.sum() - np.abs(v[i]) - share * sums[other]
    return np.asarray(total - 0.5 * np.square(weights).sum(axis=1))


Rounds = Iterable[Iterate]
Polish = Callable[[PropSVMSearch, Rounds, RandomState], Rounds]
"""``polish(search, rounds, random)``: the rounds of Algorithm 1, and what follows them."""


def as_it_is(search: PropSVMSearch, rounds: Rounds, random: RandomState) -> Rounds:
    """Algorithm 1 as printed: nothing follows."""
    return rounds


def with_search(
    search: PropSVMSearch, rounds: Rounds, random: RandomState, *, hopping: bool
) -> Iterator[Iterate]:
    """One more round if a local search from the last labeling finds a better one.

    The search tries swaps of two labels of a bag, and flips of single ones, until none is better;
    then, if ``hopping``, the same after one or two bags of the best labeling are labeled anew.
    """
    for last in rounds:
        yield last
    end = search.descend(last.labeling)
    if hopping:
        *_, end = until_idle(search.hops(end, random), IDLE)
    if is_better(end.value, last.objective):
        yield Iterate(
            number=last.number + 1,
            C_star=search.problem.C,
            labeling=end.labeling,
            separator=end,
            objective=end.value,
            n_flips=int(np.count_nonzero(end.labeling != last.labeling)),
            stop_reason=StopReason.NO_BETTER_MOVE,
        )


POLISHES: Mapping[str, Polish] = MappingProxyType(
    {
        "none": as_it_is,
        "swaps": partial(with_search, hopping=False),
        "hops": partial(with_search, hopping=True),
    }
)
"""What follows Algorithm 1, by name."""
