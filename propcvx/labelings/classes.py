r"""The labeling step of several classes: the best labels for fixed scores, bag by bag.

In each bag it is a transportation problem with convex costs of the numbers of instances of each
class, which :func:`scipy.optimize.linear_sum_assignment` solves: each class has as many places as
there are instances, and its r-th place costs what the r-th instance of the class adds to the loss
of the proportions.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from propcvx.arrays import Array, Indices
from propcvx.bags.bags import Bags
from propcvx.bags.counts import COUNT_SLACK
from propcvx.errors import InputError
from propcvx.labelings.losses import PROPORTION_LOSSES, ProportionLoss

TIE = 1e-10
"""What a whole preference between tied labelings counts, relative to how much the losses differ."""


def class_hinge(scores: Array) -> Array:
    r"""The loss of Crammer and Singer of every label, :math:`\max_d f_{id} + 1[d \ne c] - f_{ic}`.

    Parameters
    ----------
    scores : array of shape (n_instances, n_classes)

    Returns
    -------
    array of shape (n_instances, n_classes)

    Examples
    --------
    >>> class_hinge(np.array([[2.0, 0.0, -1.0]]))
    array([[0., 3., 4.]])
    """
    wrong = 1.0 - np.eye(scores.shape[1])
    return np.max(scores[:, None] + wrong, axis=2) - scores


def hinge_sum(scores: Array, Y: Array) -> float:
    """The sum of the losses of labels, given as ones in the column of each instance's class."""
    return float(np.sum(np.max(scores + 1.0 - Y, axis=1) - np.sum(Y * scores, axis=1)))


def check_class_loss(loss: ProportionLoss) -> ProportionLoss:
    """Raise ``InputError`` unless the labeling step of several classes is exact for it."""
    nearest = isinstance(loss.epsilon, str) and loss.epsilon == "rounding"
    if isinstance(loss.dead_zone, str) or not (loss.epsilon is None or nearest):
        raise InputError(
            f"proportion loss {loss.name!r} with epsilon={loss.epsilon or loss.dead_zone!r} is for "
            "two classes; with more, constraint('rounding') or a finite loss will do, as "
            "epsilon_insensitive(0.1)."
        )
    return loss


def class_loss(loss: ProportionLoss, bags: Bags, counts: Indices) -> Array:
    r"""The loss of each bag, :math:`\tfrac12 \sum_c h(\tilde p_{kc} - p_{kc})`.

    Parameters
    ----------
    loss : ProportionLoss
    bags : Bags
    counts : int array of shape (n_bags, n_classes)
        Instances of each class, in numbers that the loss allows.
    """
    gaps = counts / bags.sizes[:, None] - bags.proportions
    return np.asarray(0.5 * loss.of_differences(bags, gaps.T).sum(axis=0))


def best_classes(
    losses: Array,
    bags: Bags,
    loss: ProportionLoss,
    weights: Array,
    ties: Array | None = None,
) -> Array:
    r"""The labels of least loss, the multi-class form of eq:solving_y.

    .. math::

        \min_{y \in \{1, \dots, K\}^N} \sum_i L_{i y_i}
        + \sum_k \tfrac{\omega_k}{2} \sum_c h(\tilde p_{kc}(y) - p_{kc})

    For two classes and an even h it is the problem of
    :func:`propcvx.labelings.feasible.best_labeling`.

    Parameters
    ----------
    losses : array of shape (n_instances, n_classes)
        The loss L of each label, :func:`class_hinge` of the scores.
    bags : Bags
        Labels that are known stay as they are.
    loss : ProportionLoss
        The function h.
    weights : array of shape (n_bags,)
        The weights :math:`\omega_k`.
    ties : array of shape (n_instances, n_classes), optional
        Of labelings as good as each other but for 1e-10 of the differences between losses, one for
        which the sum of these is largest is taken.

    Returns
    -------
    labeling : float array of shape (n_instances,)
        Numbers of classes, from 1 on.

    Examples
    --------
    >>> from propcvx import bag_target
    >>> bags = Bags.from_target(bag_target([0, 0, 0], [[1 / 3, 1 / 3, 1 / 3]]), table=True)
    >>> scores = np.array([[2.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.5, 0.0]])
    >>> best_classes(class_hinge(scores), bags, PROPORTION_LOSSES["absolute"], np.array([30.0]))
    array([1., 3., 2.])
    """
    labeling, known = bags.labels.astype(np.float64), bags.counts_of(bags.labels)
    costs = losses
    if ties is not None:
        costs = losses - _unit(losses) / (np.abs(ties).max() or 1.0) * ties
    for bag, free in enumerate(bags.free):
        if not len(free):
            continue
        rank = known[bag][:, None] + np.arange(len(free) + 1)
        gaps = rank / bags.sizes[bag] - bags.proportions[bag][:, None]
        price = np.diff(0.5 * weights[bag] * loss.of_differences(bags, gaps, bag))
        if loss.epsilon is not None:
            rises = np.diff(bags.sizes[bag] * np.abs(gaps))
            rises -= np.sort(rises, axis=None)[len(free) - 1]
            needed = np.where(np.abs(rises) > 2.0 * COUNT_SLACK, np.sign(rises), 0.0)
            spread = float(np.ptp(costs[free], axis=1).sum()) + len(free) * float(np.ptp(price))
            price += (1.0 + 2.0 * spread) * needed
        table = costs[free][:, :, None] + price
        _, place = linear_sum_assignment(table.reshape(len(free), -1))
        labeling[free] = place // len(free) + 1
    return labeling


def nearest_classes(scores: Array, bags: Bags) -> Array:
    """The labels of largest sum of scores with the counts nearest to each bag's shares."""
    loss = PROPORTION_LOSSES["constraint"]
    return best_classes(-scores, bags, loss, np.ones(bags.n_bags))


def _unit(losses: Array) -> float:
    """``TIE`` times how much losses differ beside what is due to the instance or the class."""
    apart = losses - losses.mean(axis=0)
    apart -= apart.mean(axis=1, keepdims=True)
    rounding = len(losses) * np.finfo(float).eps * np.abs(losses).max()
    spread = float(np.abs(apart).max())
    return TIE * (spread if spread > rounding else 1.0)
