"""Annealing on a part of every bag, for many instances: a departure from Algorithm 1 for speed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from propcvx.alternating.algorithm import Descent, alternate
from propcvx.alternating.problem import PropSVM
from propcvx.alternating.svm_step import SVMStep
from propcvx.bags import Bags
from propcvx.history import History

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

LEAST = 256
"""Instances that are drawn of a bag of average size at least: fewer would blur its proportion."""

ALL_FROM = 0.05
"""The levels from this share of C on are walked on all instances."""


def draw_part(bags: Bags, size: int, random: RandomState) -> Indices | None:
    """The same share of every bag, drawn at random, sorted; None if that is all instances.

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
    >>> np.bincount(bags.index[draw_part(bags, 1500, RandomState(0))])
    array([500, 500, 500])
    """
    share = max(size, LEAST * bags.n_bags) / bags.n_instances
    if share >= 1.0:
        return None
    order = random.permutation(bags.n_instances)
    order = order[np.argsort(bags.index[order], kind="stable")]
    drawn = np.ceil(share * bags.sizes).astype(np.intp)
    place = np.arange(bags.n_instances) - np.repeat(bags.starts, bags.sizes)
    return np.sort(order[place < np.repeat(drawn, bags.sizes)])


@dataclass(frozen=True)
class Part:
    """A part of every bag, each instance of which stands for several.

    Attributes
    ----------
    instances : int array
    problem : PropSVM
        The problem on the part; its instance loss is multiplied accordingly.
    svm_step : SVMStep
    walked : dict
        Descents on all instances by the labeling that they start from, which starts can share.
    """

    instances: Indices
    problem: PropSVM
    svm_step: SVMStep
    walked: dict[bytes, Descent] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, problem: PropSVM, svm_step: SVMStep, instances: Indices) -> Part:
        """The part of a problem on all instances and its SVM step."""
        count = problem.bags.n_instances / len(instances)
        loss = problem.instance_loss.take(instances).times(count)
        bags = problem.bags.take(instances)
        step = replace(svm_step, features=svm_step.features[instances], loss=loss)
        return cls(instances, replace(problem, bags=bags, instance_loss=loss), step)


def alternate_with_part(
    problem: PropSVM,
    svm_step: SVMStep,
    labeling: Array,
    schedule: Sequence[float],
    *,
    part: Part,
    tol: float = 1e-4,
    max_iter: int = 100,
) -> Descent:
    """Algorithm 1 with the low levels of C* on a part of every bag, the others on all instances.

    The labels where the low levels end determine a plane, whose labeling the rest starts from:
    starts that meet there share the rest.  ``Round`` says how many instances each round was walked
    on.
    """
    low = [C for C in schedule if ALL_FROM * schedule[-1] > C]
    rest = schedule[len(low) :]
    walk = partial(alternate, tol=tol, max_iter=max_iter)
    first = walk(part.problem, part.svm_step, labeling[part.instances], low)
    plane = part.svm_step(first.labeling, low[-1])
    scores = svm_step.features @ plane.weights + plane.bias
    labels = problem.best_labeling(scores, rest[0], labeling)
    met = labels.tobytes()
    if met not in part.walked:
        part.walked[met] = walk(problem, svm_step, labels, rest)
    last = part.walked[met]
    history = History([*first.history, *last.history], last.history.stop_reason)
    return replace(last, history=history)
