r"""Bags of instances of several classes, of which the share of each class is known.

A labeling is a vector :math:`y \in \{1, \dots, K\}^N` of numbers of classes; its shares in a bag
are :math:`\tilde p_{kc}(y)`, the multi-class form of eq:tilde_p_k.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propcvx.arrays import Array, Indices
from propcvx.bags.bags import Bags, check_proportions, fields_of, warn_if_cut
from propcvx.bags.class_targets import UNIT_SUM, against_rest, classes_of
from propcvx.errors import InputError


@dataclass(frozen=True)
class ClassBags(Bags):
    """Validated bags of several classes, as :class:`~propcvx.bags.bags.Bags` are of two.

    ``proportions`` has shape (n_bags, n_classes), and ``labels`` are the numbers of the classes
    from 1 on, 0 where unknown.  What is about positives and negatives has no meaning here.

    Attributes
    ----------
    columns : int array of shape (n_classes,)
        The column of each class in the target that the bags were read from.
    class_names : sequence of hashable
        The names of these columns; for messages only.
    """

    columns: Indices = field(kw_only=True)
    class_names: Sequence[Hashable] = field(kw_only=True)

    @classmethod
    def from_target(cls, y: NDArray[np.void]) -> ClassBags:
        """Read a bag target that was made from a table, or a slice of one."""
        fields, sizes = fields_of(y)
        names = classes_of(y).tolist()
        bags = cls(**fields, columns=np.arange(len(names)), class_names=names)
        _check(bags, y)
        warn_if_cut(bags, sizes)
        return bags

    def check_known(self, epsilon: Any = "rounding") -> None:
        """See :meth:`Bags.check_known`: each class against the rest."""
        for name, place in zip(self.class_names, np.argsort(self.columns), strict=True):
            try:
                self.against_rest(int(place) + 1).check_known(epsilon)
            except InputError as error:
                raise InputError(f"class {name!r} as the positive one: {error}") from error

    @cached_property
    def label_values(self) -> tuple[int, ...]:  # type: ignore[override]
        """The numbers of the classes."""
        return tuple(range(1, self.n_classes + 1))

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return len(self.columns)

    def counts_of(self, labeling: NDArray[Any]) -> Indices:
        """Number of instances of each class in each bag, shape (n_bags, n_classes)."""
        agrees = np.equal.outer(labeling, self.label_values)
        return np.asarray(self.membership @ agrees, dtype=np.intp)

    def proportions_of(self, labeling: NDArray[Any]) -> Array:
        """Share of each class of a labeling in each bag, shape (n_bags, n_classes)."""
        return self.counts_of(labeling) / self.sizes[:, None]

    def against_rest(self, number: int) -> Bags:
        """The bags of the class of that number, which is then positive, against all others."""
        labels = against_rest(self.labels, number)
        shares = self.proportions[:, number - 1]
        own = self.index, shares, labels, self.whole, self.codes, self.rows, self.ids
        return Bags(*own, weights=self.weights, mean_weight=self.mean_weight)

    def permuted(self, order: Indices) -> ClassBags:
        """The same with the classes in another order."""
        shares, columns = self.proportions[:, order], self.columns[order]
        labels = np.concatenate([[0], np.argsort(order) + 1])[self.labels]
        return replace(self, proportions=shares, labels=labels, columns=columns)


def _check(bags: ClassBags, y: NDArray[np.void]) -> None:
    """Shares are one row per bag that sums to one, and labels are numbers of classes."""
    wrong = ~(np.abs(bags.proportions.sum(axis=1) - 1.0) <= UNIT_SUM)
    if wrong.any():
        name = bags.name(int(np.argmax(wrong)))
        raise InputError(f"y['proportion'] must sum to one, which it does not in bag {name}.")
    if not np.isin(bags.labels, (0, *bags.label_values)).all():
        raise InputError(f"y['label'] must be 0 or a number of a class, {bags.label_values}.")
    for number, shares in enumerate(y["proportion"].T, start=1):
        check_proportions(bags.against_rest(number), shares)
