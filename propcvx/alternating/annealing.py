"""Annealing of Algorithm 1 on a part of every bag, where there are many instances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from propcvx.alternating.algorithm import Alternation, Descent, Machine
from propcvx.bags import Bags

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

LEAST = 256
"""Instances that are drawn of a bag of average size at least: fewer would blur its proportion."""

ALL_FROM = 0.05
"""The levels from this share of C on are walked on all instances."""


def part_of(bags: Bags, size: int, random: RandomState) -> Indices:
    """The same share of every bag, drawn at random, sorted; all instances if there are not more.

    Parameters
    ----------
    bags : Bags
    size : int
        About how many instances to draw, where that leaves :data:`LEAST` to a bag on average.
    random : RandomState

    Examples
    --------
    >>> from propcvx import bag_target
    >>> bags = Bags.from_target(bag_target(np.arange(6000) % 3, [0.1, 0.2, 0.9]))
    >>> part = part_of(bags, 1500, RandomState(0))
    >>> np.bincount(bags.index[part])
    array([500, 500, 500])
    """
    share = max(size, LEAST * bags.n_bags) / bags.n_instances
    if share >= 1.0:
        return np.arange(bags.n_instances)
    order = random.permutation(bags.n_instances)
    order = order[np.argsort(bags.index[order], kind="stable")]
    drawn = np.ceil(share * bags.sizes).astype(np.intp)
    place = np.arange(bags.n_instances) - np.repeat(bags.starts, bags.sizes)
    return np.sort(order[place < np.repeat(drawn, bags.sizes)])


@dataclass
class Stages:
    """Algorithm 1 whose first levels are walked on a part of every bag, and the rest on all of it.

    The plane where the first levels end gives the labeling that the rest starts from.

    Attributes
    ----------
    features : array of shape (n_instances, rank)
    part : int array
        The instances of the part.
    first, rest : Alternation
        On the part, and on all instances.
    """

    features: Array
    part: Indices
    first: Alternation
    rest: Alternation

    def __call__(self, labeling: Array) -> Descent:
        """Descend from one labeling of all instances."""
        end = self.first(labeling[self.part])
        return self.rest(self._labels_of(end), end.history)

    def _labels_of(self, end: Descent) -> Array:
        """The labels of all instances for the plane of a descent on the part."""
        scores = self.features @ end.weights
        scores += end.bias
        return self.rest.problem.best_labeling(scores, self.rest.schedule[0])


def in_stages(
    run: Alternation,
    features: Array,
    machine_of: Callable[[Array], Machine],
    size: int,
    random: RandomState,
) -> Alternation | Stages:
    """``run`` with its levels below ``ALL_FROM`` on about ``size`` instances, if there are more.

    ``machine_of(features)`` makes the SVM step for the instances that are drawn.
    """
    part = part_of(run.problem.bags, size, random)
    if len(part) == len(features):
        return run
    problem, machine = run.problem.part(part), machine_of(features[part])
    cut = int(np.searchsorted(run.schedule, ALL_FROM * run.schedule[-1]))
    first = replace(run, problem=problem, machine=machine, schedule=run.schedule[:cut])
    return Stages(features, part, first, replace(run, schedule=run.schedule[cut:]))
