r"""Bags of instances of several classes, of which the share of each class is known.

A labeling is a vector :math:`y \in \{1, \dots, K\}^N` of numbers of classes; its shares in a bag
are :math:`\tilde p_{kc}(y)`, the multi-class form of eq:tilde_p_k.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propcvx.arrays import Array, Indices, Mask
from propcvx.bags import Bags, warn_if_cut
from propcvx.class_targets import UNIT_SUM, classes_of
from propcvx.errors import InputError


@dataclass(frozen=True)
class ClassBags(Bags):
    """Validated bags of several classes, as :class:`~propcvx.bags.Bags` are of two.

    ``proportions`` has shape (n_bags, n_classes), and ``labels`` are the numbers of the classes
    from 1 on, 0 where unknown.  What is about positives and negatives has no meaning here.

    Attributes
    ----------
    classes : tuple
        Names of the classes, in the order of the columns of ``proportions``.
    """

    classes: tuple[Any, ...] = ()

    @classmethod
    def from_target(cls, y: NDArray[np.void]) -> ClassBags:
        """Read a bag target that was made from a table, or a slice of one."""
        if y.ndim != 1 or len(y) == 0:
            raise InputError(f"y must be a non-empty vector of instances, got shape {y.shape}.")
        codes, first, index = np.unique(y["bag"], return_index=True, return_inverse=True)
        shares, sizes, classes = y["proportion"][first], y["size"][first], classes_of(y).tolist()
        whole, rows = np.bincount(index) == sizes, np.arange(len(y))
        ids = y.dtype.metadata["ids"] if y.dtype.metadata else None
        bags = cls(index, shares, y["label"], whole, codes, rows, ids, classes=tuple(classes))
        bags._check(y["proportion"])
        warn_if_cut(bags, sizes)
        return bags

    def _check(self, of_instances: Array) -> None:
        right = (of_instances == self.proportions[self.index]) & (of_instances >= 0.0)
        wrong = ~(right.all(axis=1) & (np.abs(of_instances.sum(axis=1) - 1.0) <= UNIT_SUM))
        if wrong.any():
            name = self.name(self.index[np.argmax(wrong)])
            raise InputError(
                "y['proportion'] must be one row of shares per bag that sums to one, which bag "
                f"{name} has not."
            )
        if not np.isin(self.labels, (0, *self.label_values)).all():
            raise InputError(f"y['label'] must be 0 or a number of a class, {self.label_values}.")
        known, wanted = self.counts_of(self.labels), self.proportions * self.sizes[:, None]
        excess = np.where(self.whole[:, None], known - wanted, 0.0)
        if (excess > 0.5).any():
            bag, column = np.unravel_index(np.argmax(excess), excess.shape)
            raise InputError(
                f"labels contradict the proportions of bag {self.name(int(bag))}: "
                f"{known[bag, column]} of {self.sizes[bag]} instances are known to be of class "
                f"{self.classes[column]!r}, whose share is {self.proportions[bag, column]:g}."
            )

    @cached_property
    def with_share(self) -> Mask:
        """All of them: a row of a table has its shares."""
        return np.ones(self.n_bags, dtype=bool)

    @cached_property
    def label_values(self) -> tuple[int, ...]:  # type: ignore[override]
        """The numbers of the classes."""
        return tuple(range(1, self.n_classes + 1))

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return self.proportions.shape[1]

    def counts_of(self, labeling: NDArray[Any]) -> Indices:
        """Number of instances of each class in each bag, shape (n_bags, n_classes)."""
        known, most = labeling > 0, self.n_bags * self.n_classes
        places = self.index * self.n_classes + labeling.astype(np.intp) - 1
        return np.bincount(places[known], minlength=most).reshape(self.n_bags, self.n_classes)

    def proportions_of(self, labeling: NDArray[Any]) -> Array:
        """Share of each class of a labeling in each bag, shape (n_bags, n_classes)."""
        return self.counts_of(labeling) / self.sizes[:, None]

    def order_of(self, classes: NDArray[Any]) -> Indices:
        """Where each of some classes is among the columns."""
        return np.array([self.classes.index(name) for name in classes.tolist()])

    def against_rest(self, number: int) -> Bags:
        """The bags of the class of that number, which is then positive, against all others."""
        labels = np.where(self.labels == number, 1, -np.sign(self.labels)).astype(np.int8)
        shares = self.proportions[:, number - 1]
        own = self.index, shares, labels, self.whole, self.codes, self.rows, self.ids
        return Bags(*own, weights=self.weights, mean_weight=self.mean_weight)

    def permuted(self, order: Indices) -> ClassBags:
        """The same with the classes in another order."""
        numbers = np.concatenate([[0], np.argsort(order) + 1])
        return replace(
            self,
            proportions=self.proportions[:, order],
            labels=numbers[self.labels],
            classes=tuple(self.classes[k] for k in order),
        )
