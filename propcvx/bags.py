r"""Bags of instances with known label proportions.

A bag :math:`\mathcal{B}_k` is a set of instances of which only the share of positives
:math:`p_k` is known (Section 3.1 of the paper).  :class:`Bags` is their validated form inside the
package, read from a target ``y`` that :func:`propcvx.bag_target` makes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from propcvx.arrays import Array, Indices, Mask, Signs
from propcvx.checks import check_choice, check_number
from propcvx.class_targets import is_class_target, two_classes
from propcvx.errors import CutBagWarning, InfeasibleLabelingError, InputError, warn
from propcvx.targets import BAG_DTYPE, SHOWN, check_share, is_bag_target, known_labels

COUNT_SLACK = 1e-6
"""How far ``p * n`` may lie from an integer, in instances, and still be that count."""


@dataclass(frozen=True)
class Bags:
    """Validated bags: which instance is in which bag, and what is known of each, Equation (1).

    Attributes
    ----------
    index : int array of shape (n_instances,)
        The bag of each instance, 0 to n_bags - 1.
    proportions : float array of shape (n_bags,)
        Share of positive instances, in [0, 1].
    labels : int array of shape (n_instances,)
        Labels known beside the proportions; 0 where unknown.
    whole : bool array of shape (n_bags,)
        Whether all instances of the bag are here; the proportion of a bag that was cut holds
        only approximately, so its count is the nearest one.
    codes : int array of shape (n_bags,)
        The bag's field ``bag`` in the target: its position among the sorted ids.
    rows : int array of shape (n_instances,)
        The row of each instance in the target that the bags were read from.
    ids : sequence of hashable, optional
        The sorted ids, where the target still carries them; for messages only.
    sign : int
        -1 where positives and negatives are exchanged against that target, else 1.
    """

    index: Indices
    proportions: Array
    labels: Signs
    whole: Mask
    codes: NDArray[np.int64]
    rows: Indices
    ids: Sequence[Hashable] | None = None
    sign: int = 1

    label_values: ClassVar[tuple[float, ...]] = (-1.0, 1.0)

    @classmethod
    def from_target(cls, y: NDArray[np.void]) -> Bags:
        """Read a bag target, or a slice of one.

        Bags that a slice has cut through are kept, with a :class:`CutBagWarning`: their
        proportion then holds only approximately.
        """
        if not is_bag_target(y):
            raise InputError(
                f"y must be a bag target with fields {BAG_DTYPE.names}, got dtype "
                f"{getattr(y, 'dtype', type(y).__name__)}; make one with propcvx.bag_target."
            )
        y = two_classes(y) if is_class_target(y) else y
        if y.ndim != 1 or len(y) == 0:
            raise InputError(f"y must be a non-empty vector of instances, got shape {y.shape}.")
        codes, first, index = np.unique(y["bag"], return_index=True, return_inverse=True)
        labels = known_labels(y["label"], len(y))
        sizes = y["size"][first]
        ids = y.dtype.metadata["ids"] if y.dtype.metadata else None
        whole, rows = np.bincount(index) == sizes, np.arange(len(y))
        bags = cls(index, y["proportion"][first], labels, whole, codes, rows, ids)
        _check_proportions(bags, y["proportion"])
        warn_if_cut(bags, sizes)
        _check_known(bags)
        return bags

    def take(self, instances: Indices, bags: Indices | None = None) -> Bags:
        """The bags of some instances; those that this cuts are no longer whole.

        Parameters
        ----------
        instances : int array
            Their positions, in the order wanted.
        bags : int array, optional
            The positions of all their bags, in the order wanted; ascending where not given.
        """
        kept = np.unique(self.index[instances]) if bags is None else bags
        place = np.empty(self.n_bags, dtype=np.intp)
        place[kept] = np.arange(len(kept))
        index = place[self.index[instances]]
        return replace(
            self,
            index=index,
            proportions=self.proportions[kept],
            labels=self.labels[instances],
            whole=self.whole[kept] & (np.bincount(index) == self.sizes[kept]),
            codes=self.codes[kept],
            rows=self.rows[instances],
        )

    @cached_property
    def places(self) -> Indices:
        """Where each row of the target is among the instances."""
        return np.argsort(self.rows)

    def as_given(self, values: NDArray[Any]) -> NDArray[Any]:
        """Labels or scores of instances (last axis) for the rows and classes as they were given."""
        return self.sign * values[..., self.places]

    def in_order(self, values: NDArray[Any]) -> NDArray[Any]:
        """The way back: from labels or scores as they were given to those of the instances."""
        return self.sign * values[..., self.rows]

    def swapped(self) -> Bags:
        """The same with positives and negatives exchanged."""
        shares, labels = 1.0 - self.proportions, -self.labels
        return replace(self, proportions=shares, labels=labels, sign=-self.sign)

    def name(self, bag: int) -> str:
        """The bag in the words of a message: its id, or its position among the sorted ids."""
        code = int(self.codes[bag])
        if self.ids is not None and 0 <= code < len(self.ids):
            return repr(self.ids[code])
        return f"{code} (of the sorted ids)"

    @property
    def n_instances(self) -> int:
        """Number of instances N."""
        return len(self.index)

    @property
    def n_bags(self) -> int:
        """Number of bags K."""
        return len(self.proportions)

    @cached_property
    def sizes(self) -> Indices:
        """Number of instances in each bag, shape (n_bags,)."""
        return np.bincount(self.index, minlength=self.n_bags)

    @cached_property
    def membership(self) -> sp.csr_array:
        """Matrix of shape (n_bags, n_instances): 1 where an instance is in a bag, 0 elsewhere."""
        entries = np.ones(self.n_instances), (self.index, np.arange(self.n_instances))
        return sp.csr_array(entries, shape=(self.n_bags, self.n_instances))

    @cached_property
    def starts(self) -> Indices:
        """Position of each bag's first instance once instances are sorted by bag."""
        return np.concatenate(([0], np.cumsum(self.sizes)[:-1]))

    @cached_property
    def members(self) -> tuple[Indices, ...]:
        """The instances of each bag."""
        order = np.argsort(self.index, kind="stable")
        return tuple(np.split(order, self.starts[1:]))

    @cached_property
    def free(self) -> tuple[Indices, ...]:
        """The instances of each bag whose labels are not known."""
        return tuple(inside[self.labels[inside] == 0] for inside in self.members)

    @cached_property
    def by_size(self) -> list[tuple[Indices, Indices]]:
        """For each size of bags, these bags, and their instances with a bag in each row."""
        order = np.argsort(self.index, kind="stable")
        bags_of = {size: np.flatnonzero(self.sizes == size) for size in np.unique(self.sizes)}
        return [
            (bags, order[self.starts[bags, None] + np.arange(size)])
            for size, bags in bags_of.items()
        ]

    def proportions_of(self, labeling: NDArray[Any]) -> Array:
        r"""Share of positives of a labeling in each bag, :math:`\tilde p_k(y)` (eq:tilde_p_k)."""
        return self.positives_of(labeling) / self.sizes

    def positives_of(self, labeling: NDArray[Any]) -> Indices:
        """Number of positives of a labeling in each bag."""
        return np.bincount(self.index[labeling > 0], minlength=self.n_bags)

    def means_of(self, features: Array) -> Array:
        """Mean of the rows of ``features`` in each bag, shape (n_bags, n_features)."""
        return (self.membership @ features) / self.sizes[:, None]

    def count_range(self, epsilon: float | str = 0.0) -> tuple[Indices, Indices]:
        r"""Counts of positives with :math:`|\tilde p_k - p_k| \le \epsilon`, per bag.

        Parameters
        ----------
        epsilon : float or "rounding"
            Tolerance of the proportions, in [0, 1].  ``"rounding"`` takes for each bag the
            nearest count that its known labels allow, and of two equally near ones both.  So
            does any tolerance for a bag that was cut, beside the counts within it.

        Returns
        -------
        lower, upper : int arrays of shape (n_bags,)
            Smallest and largest feasible number of positives in each bag, taking the labels
            that are known into account.

        Raises
        ------
        InfeasibleLabelingError
            If a bag has no such count; the message names those bags, and an epsilon that
            suffices for all of them.

        Examples
        --------
        >>> from propcvx import bag_target
        >>> bags = Bags.from_target(bag_target([0, 0, 0, 1, 1], [1 / 3, 0.5]))
        >>> [count.tolist() for count in bags.count_range(0.0)]
        [[1, 1], [1, 1]]
        """
        if isinstance(epsilon, str):
            check_choice("epsilon", epsilon, ("rounding",))
            width = np.full(self.n_bags, 0.5)
        else:
            width = check_number("epsilon", epsilon, least=0.0, most=1.0) * self.sizes
            width = np.where(self.whole, width, np.maximum(width, 0.5))
        width += COUNT_SLACK
        target = self.proportions * self.sizes
        positive, negative = self.known_counts()
        allowed = positive, self.sizes - negative
        lower = np.clip(np.ceil(target - width), *allowed).astype(np.intp)
        upper = np.clip(np.floor(target + width), *allowed).astype(np.intp)
        nearest = np.clip(np.round(target), *allowed)
        infeasible = np.abs(nearest - target) > width
        if epsilon != "rounding" and infeasible.any():
            self._raise_infeasible(np.flatnonzero(infeasible), nearest, epsilon)
        return lower, upper

    @property
    def known_inside(self) -> Mask:
        """Which instances have a known label and are not alone in their bag."""
        return (self.labels != 0) & (self.sizes[self.index] > 1)

    def known_counts(self) -> tuple[Indices, Indices]:
        """Number of known positives and of known negatives in each bag."""
        return self.positives_of(self.labels), self.positives_of(-self.labels)

    def _raise_infeasible(self, wrong: Indices, nearest: Array, epsilon: float | str) -> None:
        if self.sign < 0:
            self.swapped()._raise_infeasible(wrong, self.sizes - nearest, epsilon)
        size, share = self.sizes[wrong], self.proportions[wrong]
        distance = np.abs(nearest[wrong] - share * size) - COUNT_SLACK / 2
        listed = ", ".join(
            f"bag {self.name(k)} (p * n = {p:g} * {n} = {p * n:g} positives, nearest "
            f"{nearest[k]:.0f}/{n})"
            for k, p, n in zip(wrong[:SHOWN], share, size, strict=False)
        )
        more = f" and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
        raise InfeasibleLabelingError(
            f"no labeling has the proportions of {len(wrong)} of {self.n_bags} bags within "
            f"epsilon={epsilon:g}: {listed}{more}. For all of them an epsilon of "
            f"{_rounded_up(float(np.max(distance / size))):g} suffices; epsilon='rounding' takes "
            "the nearest counts."
        )


def _rounded_up(value: float) -> float:
    """The next number of four digits."""
    unit = 10.0 ** (3 - np.floor(np.log10(value)))
    return float(np.ceil(value * unit) / unit)


def _check_proportions(bags: Bags, of_instances: Array) -> None:
    in_range = (bags.proportions >= 0.0) & (bags.proportions <= 1.0)
    first = int(np.argmin(in_range))
    check_share(float(bags.proportions[first]), bags.name(first))
    differs = bags.proportions[bags.index] != of_instances
    if differs.any():
        name = bags.name(bags.index[np.argmax(differs)])
        raise InputError(f"y['proportion'] must be one value per bag, got several in bag {name}.")


def warn_if_cut(bags: Bags, sizes: NDArray[np.int64]) -> None:
    """Warn if there are fewer instances of a bag than it had where the target was made."""
    if not bags.whole.all():
        bag = int(np.argmin(bags.whole))
        warn(
            f"{int((~bags.whole).sum())} of {bags.n_bags} bags are incomplete (the first is bag "
            f"{bags.name(bag)}, with {bags.sizes[bag]} of its {sizes[bag]} instances), so "
            "their proportions hold only approximately; split with "
            "propcvx.model_selection.BagKFold, which never cuts a bag.",
            CutBagWarning,
        )


def _check_known(bags: Bags) -> None:
    positive, negative = bags.known_counts()
    wanted = bags.proportions * bags.sizes
    wrong = (positive > wanted + 0.5) | (negative > bags.sizes - wanted + 0.5)
    wrong &= bags.whole
    if wrong.any():
        bag = int(np.argmax(wrong))
        raise InputError(
            f"labels contradict the proportion of bag {bags.name(bag)}: "
            f"{positive[bag]} known positives and {negative[bag]} known negatives of "
            f"{bags.sizes[bag]}, with proportion {bags.proportions[bag]:g}."
        )
