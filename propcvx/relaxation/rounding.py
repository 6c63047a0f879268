r"""Roundings of the relaxation's matrix M to a labeling and its separator.

A rounding converts the result of a relaxation to a :class:`~propcvx.svm.step.Separator`.  Soft
roundings keep a real-valued labeling and the relaxation's alpha, as in the paper, and choose its
sign, which M does not identify.  Feasible roundings use the best of some feasible labelings by the
SVM value, and its SVM.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from propcvx.arrays import Array, Weight
from propcvx.bags.metrics import proportion_error
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.labelings.losses import HINGE
from propcvx.relaxation.result import RelaxationResult
from propcvx.svm.step import LabelingSVM, Separator, improve

TIED = 1e-9
"""Relative difference below which the sign is not identified."""


Rounding = Callable[[RelaxationResult, Array, FeasibleLabelings, Weight], Separator]
"""``rounding(result, features, feasible, C) -> Separator``."""


# --- soft labelings ---------------------------------------------------------------------------


def rank_one(result: RelaxationResult) -> Array:
    r"""Compute the best rank-one approximation of M as :math:`y y^\top`, for Equation (22).

    Return :math:`y` or :math:`-y`, whichever agrees with the vector of largest weight.
    """
    root = np.sqrt(result.weights)[:, None] * result.vectors
    _, singular, right = np.linalg.svd(root, full_matrices=False)
    labeling = singular[0] * right[0]
    agrees = labeling @ result.vectors[np.argmax(result.weights)] >= 0
    return np.asarray(labeling if agrees else -labeling)


def mean_labeling(result: RelaxationResult) -> Array:
    r"""Compute the mean :math:`\sum_t \mu_t v_t`, with the sums of bags that the vectors share."""
    return np.asarray(result.weights @ result.vectors)


@dataclass(frozen=True)
class SoftRounding:
    """A real-valued labeling, the separator of the relaxation's alpha, and its sign.

    Attributes
    ----------
    labeling : callable
        ``labeling(result)``, real-valued, of shape (n_instances,); :func:`by_bags` has its sign.
    """

    labeling: Callable[[RelaxationResult], Array]

    def __call__(
        self, result: RelaxationResult, features: Array, feasible: FeasibleLabelings, C: Weight
    ) -> Separator:
        """Round M to a real-valued labeling and its separator."""
        labeling = self.labeling(result)
        weights = result.separator_weights(features, labeling, C)
        sign = by_bags(features @ weights, feasible)
        return Separator(sign * labeling, sign * weights)


def by_bags(scores: Array, feasible: FeasibleLabelings) -> float:
    r"""Choose the sign of the smaller bag error on the training bags, as in the paper.

    If the errors are equal, choose the sign with which a bag's mean score grows with its
    proportion, and otherwise +1.  If no bag has a proportion, known labels are singleton bags.

    Parameters
    ----------
    scores : array of shape (n_instances,)
        The scores of the separator.
    feasible : FeasibleLabelings

    Examples
    --------
    >>> from propcvx import Bags, bag_target
    >>> bags = Bags.from_target(bag_target([0, 0, 1, 1], [0.0, 0.5]))
    >>> by_bags(np.array([1.0, 1.0, 1.0, -1.0]), FeasibleLabelings.from_bags(bags, 0.0))
    -1.0
    """
    bags, instances = feasible.bags.select_with_proportion()
    scores = scores[instances]
    excess = proportion_error(bags, scores) - proportion_error(bags, -scores)
    if abs(excess) > TIED:
        return -1.0 if excess > 0.0 else 1.0
    means, weights = bags.means_of(scores[:, None])[:, 0], bags.weights_of_bags
    centered = weights * (bags.proportions - np.average(bags.proportions, weights=weights))
    covariance = float(centered @ (means - means.mean()))
    return -1.0 if covariance < -TIED * np.abs(scores).max() else 1.0


# --- feasible labelings -----------------------------------------------------------------------


def candidates_of(result: RelaxationResult, feasible: FeasibleLabelings) -> Array:
    """Collect the relaxation's labelings, and the nearest to the leading axis and the mean."""
    axis, mean = rank_one(result), mean_labeling(result)
    nearest = feasible.best(np.column_stack([axis, -axis, mean])).T
    return np.vstack([nearest, result.labelings])


@dataclass(frozen=True)
class FeasibleRounding:
    """The best of some feasible labelings by the SVM value, with its SVM.

    Attributes
    ----------
    polished : bool
        Whether the labeling is then improve by alternation.
    """

    polished: bool = False

    def __call__(
        self, result: RelaxationResult, features: Array, feasible: FeasibleLabelings, C: Weight
    ) -> Separator:
        """Round M to the best of some feasible labelings and its SVM."""
        svm = LabelingSVM(features, C)
        best = svm.best(candidates_of(result, feasible))
        return alternate_labels(best, svm, feasible) if self.polished else best


def alternate_labels(start: Separator, svm: LabelingSVM, feasible: FeasibleLabelings) -> Separator:
    """Alternate between feasible labels and SVM, as Algorithm 1 at C, while the value improves.

    Parameters
    ----------
    start : Separator
        A feasible labeling and its SVM.
    svm : LabelingSVM
    feasible : FeasibleLabelings
        The set; its labeling step is one sort of each bag (Proposition 3).
    """
    relative = svm.C / np.max(svm.C)

    def step(separator: Separator) -> Separator:
        return svm.separate(feasible.best(relative * HINGE.reduction(separator.scores)))

    return improve(start, step)


ROUNDINGS: Mapping[str, Rounding] = MappingProxyType(
    {
        "rank_one": SoftRounding(rank_one),
        "mean": SoftRounding(mean_labeling),
        "best": FeasibleRounding(),
        "polished": FeasibleRounding(polished=True),
    }
)
"""Roundings by name."""
