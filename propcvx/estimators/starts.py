"""Where Algorithm 1 starts: kinds of start, and their names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.random import RandomState
from sklearn.base import clone

from propcvx.arrays import Array
from propcvx.bags.bags import Bags
from propcvx.checks import as_vector, check_choice, check_count, check_flag
from propcvx.errors import IllPosedWarning, InputError, muted
from propcvx.estimators.base import BagClassifier
from propcvx.estimators.conv import ConvPropSVM
from propcvx.estimators.ecological import EcologicalRegression
from propcvx.estimators.means import InvCal, MeanMap
from propcvx.history import Fitted
from propcvx.labelings.feasible import FeasibleLabelings, random_labeling
from propcvx.svm.kernels import FeatureMap, Kernel


class Start(ABC):
    """A kind of start; one of your own implements :meth:`labeling`.

    Attributes
    ----------
    annealing : bool
        Whether C* rises from 1e-5 C (which tends to forget the start), or is C at once.
    repeats : int
        How many labelings to start from.
    """

    annealing: bool = True
    repeats: int = 1

    def check(self, bags: Bags) -> None:
        """Raise :class:`~propcvx.errors.InputError` if it cannot be used for the bags."""
        check_flag("annealing", self.annealing)
        check_count("repeats", self.repeats)

    @abstractmethod
    def labeling(self, features: Array, bags: Bags, random: RandomState) -> Array:
        """A labeling of the bags, entries -1 and +1, with the labels that are known."""

    def fitted(self, features: Array, bags: Bags) -> Fitted | None:
        """The classifier that the labeling is of, if it is of one."""
        return None


@dataclass(frozen=True)
class RandomStart(Start):
    """Random labelings, as in the paper.

    Attributes
    ----------
    repeats : int
        How many.
    annealing : bool
        See :class:`Start`.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx import AlterPropSVM, bag_target
    >>> X = np.array([[2, 1], [1, 2], [-1, -1], [1, 0], [-1, 0], [-2, -1]])
    >>> y = bag_target([0, 0, 0, 1, 1, 1], [2 / 3, 1 / 3])
    >>> fitted = AlterPropSVM(init=RandomStart(3), random_state=0).fit(X, y)
    >>> fitted.start_objectives_.shape
    (3,)
    """

    repeats: int = 1
    annealing: bool = True

    def labeling(self, features: Array, bags: Bags, random: RandomState) -> Array:
        """See :class:`Start`."""
        return random_labeling(bags, random)


@dataclass(frozen=True)
class MethodStart(Start):
    """The labels of another method, with the count nearest to the proportion in every bag.

    Attributes
    ----------
    method : str or estimator
        A name in ``METHODS``, with its parameters there; or an estimator of this package, which is
        fitted with the kernel at hand in place of its own.
    annealing : bool
        See :class:`Start`.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx import AlterPropSVM, bag_target
    >>> X = np.array([[2, 1], [1, 2], [-1, -1], [1, 0], [-1, 0], [-2, -1]])
    >>> y = bag_target([0, 0, 0, 1, 1, 1], [2 / 3, 1 / 3])
    >>> starts = [MethodStart("mean_map", annealing=False), RandomStart(2)]
    >>> AlterPropSVM(init=starts, random_state=0).fit(X, y).start_
    MethodStart(method='mean_map', annealing=False)
    """

    method: Any
    annealing: bool = True

    def check(self, bags: Bags) -> None:
        """See :class:`Start`."""
        super().check(bags)
        if not isinstance(self.method, BagClassifier):
            check_choice("method", self.method, METHODS)

    def labeling(self, features: Array, bags: Bags, random: RandomState) -> Array:
        """See :class:`Start`."""
        scores = self.fitted(features, bags).scores(features)
        return FeasibleLabelings.nearest(bags).best(scores)

    def estimator(self) -> BagClassifier:
        """The method, not fitted."""
        return clone(METHODS[self.method] if isinstance(self.method, str) else self.method)

    def fitted(self, features: Array, bags: Bags) -> Fitted:
        """See :class:`Start`."""
        with muted(IllPosedWarning):  # the method only proposes
            return self.estimator()._run(FeatureMap(Kernel(), features), bags)


@dataclass(frozen=True)
class LabelingStart(Start):
    """A labeling.

    Attributes
    ----------
    labels : array of shape (n_instances,)
        Entries -1 and +1; labels that are known take precedence.
    annealing : bool
        See :class:`Start`.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx import AlterPropSVM, bag_target
    >>> X = np.array([[2, 1], [1, 2], [-1, -1], [1, 0], [-1, 0], [-2, -1]])
    >>> y = bag_target([0, 0, 0, 1, 1, 1], [2 / 3, 1 / 3])
    >>> start = LabelingStart([1, 1, -1, 1, -1, -1], annealing=False)
    >>> AlterPropSVM(init=start).fit(X, y).labeling_
    array([ 1.,  1., -1.,  1., -1., -1.])
    """

    labels: Any
    annealing: bool = True

    def check(self, bags: Bags) -> None:
        """See :class:`Start`."""
        super().check(bags)
        labels, n = as_vector(self.labels, bags.n_instances), bags.n_instances
        signs = labels is not None and np.isin(labels, (-1.0, 1.0)).all()
        if len(bags.class_names) > 2 or not signs:
            raise InputError(
                f"init must be one of {list(STARTS)}, a start, several of them, an estimator of "
                "propcvx, or, with two classes, a labeling of -1 and +1 for the "
                f"{n} instances, got {self.labels!r:.200}."
            )

    def labeling(self, features: Array, bags: Bags, random: RandomState) -> Array:
        """See :class:`Start`."""
        labels = np.asarray(self.labels, dtype=np.float64)
        return np.where(bags.labels == 0, labels, bags.labels)


METHODS: Mapping[str, BagClassifier] = MappingProxyType(
    {
        "ecological": EcologicalRegression(ridge=0.3),
        "mean_map": MeanMap(),
        "inv_cal": InvCal(),
        "conv": ConvPropSVM(epsilon="rounding"),
    }
)
"""Methods that can give a starting labeling, by name.

With a ridge by the evidence, alter-pSVM is as accurate as from this fixed one.
"""

STARTS = ("auto", "mixed", "random", *METHODS)
"""Names of kinds of start."""


def starts_of(init: Any, n_init: int, annealing: Any, bags: Bags, C: float) -> list[Start]:
    """The kinds of start that ``init`` means, checked."""
    random, others = (True, False) if annealing == "auto" else (annealing, annealing)
    several = isinstance(init, list | tuple) and not any(isinstance(kind, Real) for kind in init)
    starts: list[Start] = []
    for kind in init if several else [init]:
        if isinstance(kind, Start):
            starts.append(kind)
        elif isinstance(kind, BagClassifier) or (isinstance(kind, str) and kind in METHODS):
            starts.append(MethodStart(kind, others))
        elif isinstance(kind, str):
            check_choice("init", kind, STARTS)
            if kind == "auto" and _can_regress(bags):
                starts.append(MethodStart("ecological", others))
                continue
            starts.append(RandomStart(n_init, random))
            starts += _starts_by_methods(bags, C) if kind != "random" else []
        else:
            starts.append(LabelingStart(kind, others))
    if not starts:
        raise InputError("init must name at least one start, got an empty sequence.")
    for start in starts:
        start.check(bags)
    return starts


def _can_regress(bags: Bags) -> bool:
    """Whether there is something to regress on: three bags, or labels alone, that differ.

    Of two bags any line between their means fits.
    """
    seen, _ = bags.with_known_apart().of_shares()
    few = 0 < np.count_nonzero(bags.with_share) < 3
    return not few and bool(np.ptp(seen.proportions) > 0.0)


def _starts_by_methods(bags: Bags, C: float) -> list[Start]:
    """Labelings, not to be annealed, of those methods that can be fitted to the bags.

    With few random labelings alone, alter-pSVM often ends in the mirror image of a good labeling.
    The methods have the weight C, so that what they find does not depend on the scale of the data.
    """
    if bags.labels.all():
        return []
    methods = ConvPropSVM(C, epsilon="rounding"), InvCal(C_p=C)
    return [MethodStart(method, annealing=False) for method in methods]
