"""Which instance is in which bag, and what is known of each: the record, and views of it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from propcvx.arrays import Array, Indices, Mask, Signs

SHARE_UNIT = 2.0**-40
"""What shares are rounded to multiples of, so that 1 - (1 - p) is p."""


@dataclass(frozen=True)
class BagRecord:
    """Validated bags: which instance is in which bag, and what is known of each, Equation (1).

    Attributes
    ----------
    index : int array of shape (n_instances,)
        The bag of each instance, 0 to n_bags - 1.
    proportions : float array of shape (n_bags,)
        Share of positive instances, in [0, 1]; NaN where it is not known.
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
    weights : float array of shape (n_instances,), optional
        Weight of each instance relative to the mean weight; None where all weigh the same.
    mean_weight : float
        That mean.
    """

    crossing: ClassVar[bool] = False
    """Whether instances are in several bags, see :mod:`propcvx.bags.crossing`."""

    index: Indices
    proportions: Array
    labels: Signs
    whole: Mask
    codes: NDArray[np.int64]
    rows: Indices
    ids: Sequence[Hashable] | None = None
    sign: int = 1
    weights: Array | None = None
    mean_weight: float = 1.0

    label_values: ClassVar[tuple[float, ...]] = (-1.0, 1.0)

    def take(self, instances: Indices, bags: Indices | None = None) -> Self:
        """The bags of some instances; those that this cuts are no longer whole.

        Parameters
        ----------
        instances : int array
            Their positions, in the order wanted.
        bags : int array, optional
            The positions of all their bags, in the order wanted; ascending where not given.
        """
        inside = self.membership[:, instances]
        kept = np.flatnonzero(_row_sizes(inside)) if bags is None else bags
        inside = inside[kept]
        return self.regrouped(
            inside,
            proportions=self.proportions[kept],
            labels=self.labels[instances],
            whole=self.whole[kept] & (_row_sizes(inside) == self.sizes[kept]),
            codes=self.codes[kept],
            rows=self.rows[instances],
            weights=None if self.weights is None else self.weights[instances],
        )

    def regrouped(self, membership: sp.csr_array, **others: Any) -> Self:
        """The same with another :attr:`membership`, and with other attributes for it."""
        return replace(self, index=_pairs(membership)[1], **others)

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

    def swapped(self) -> Self:
        """The same with positives and negatives exchanged."""
        shares, labels = 1.0 - self.proportions, -self.labels
        return replace(self, proportions=shares, labels=labels, sign=-self.sign)

    @cached_property
    def with_share(self) -> Mask:
        """Which bags have a proportion."""
        return ~np.isnan(self.proportions)

    def gaps(self, counts: NDArray[Any], of: Any = slice(None)) -> Array:
        r""":math:`\tilde p_k - p_k` for counts of positives; 0 for bags without a proportion.

        What the rounding of shares can leave is 0, too: a large weight would make it a cost.

        Parameters
        ----------
        counts : int array
        of : index of bags
            The bags of these counts, which are all bags where it is not given.
        """
        gaps = counts / self.sizes[of] - self.proportions[of]
        return np.where(np.abs(gaps) > SHARE_UNIT, gaps, 0.0)

    def with_rounded_shares(self) -> Self:
        """The same with shares that are multiples of ``SHARE_UNIT``."""
        return replace(self, proportions=np.rint(self.proportions / SHARE_UNIT) * SHARE_UNIT)

    def with_known_apart(self) -> Self:
        r"""The same with each label that is known as a bag of one, whose share is 0 or 1.

        Its bag is the rest, with the share :math:`(p_k n_k - n_k^+) / (n_k - n_k^+ - n_k^-)` after
        :math:`n_k^+` positives and :math:`n_k^-` negatives, clipped to [0, 1] as :math:`p_k n_k`
        may be rounded; where that is a whole number up to the rounding of shares, it is that
        number.  A bag of one that has a share stays what it is.  Labels that are apart have the
        code of their bag, so that messages name it.

        Examples
        --------
        >>> from propcvx import bag_target
        >>> from propcvx.bags.bags import Bags
        >>> bags = Bags.from_target(bag_target([0, 0, 0, 0], [0.5], labels=[1, 0, 0, 0]))
        >>> bags.with_known_apart().proportions.round(3), bags.with_known_apart().index
        (array([0.333, 1.   ]), array([1, 0, 0, 0]))
        """
        known = (self.labels != 0) & (self.membership.T @ (self.sizes + ~self.with_share) > 1)
        if not known.any():
            return self
        apart, unknown = np.flatnonzero(known), (~known).astype(float)
        together = sp.csr_array(self.membership @ sp.diags_array(unknown))
        together.eliminate_zeros()
        alone = sp.csr_array(sp.eye_array(self.n_instances))[apart]
        left, positive = _row_sizes(together), self.labels[apart] > 0
        kept = np.flatnonzero(left)
        counts = self.proportions * self.sizes
        rounded = np.abs(counts - np.rint(counts)) <= SHARE_UNIT * self.sizes
        rest = np.where(rounded, np.rint(counts), counts) - self.membership[:, apart] @ positive
        instance, bag = self.pairs
        first = bag[np.searchsorted(instance, apart)]
        return self.regrouped(
            sp.csr_array(sp.vstack([together[kept], alone])),
            proportions=np.append(np.clip(rest[kept] / left[kept], 0.0, 1.0), positive),
            whole=np.append(self.whole[kept], np.ones_like(positive)),
            codes=np.append(self.codes[kept], self.codes[first]),
        )

    def of_shares(self) -> tuple[Self, Indices]:
        """The bags with a proportion, and their instances: what labels can be compared with.

        Where no bag has one, these are the labels that are known, as bags of one.
        """
        bags = self if self.with_share.any() else self.with_known_apart()
        return bags.only(bags.with_share)

    def only(self, chosen: Mask) -> tuple[Self, Indices]:
        """Some of the bags, and the instances that are in one of them."""
        instances = np.flatnonzero(self.membership.T @ chosen.astype(float))
        return self.take(instances, np.flatnonzero(chosen)), instances

    def name(self, bag: int) -> str:
        """The bag in the words of a message: its id, or its position among the sorted ids."""
        code = int(self.codes[bag])
        if self.ids is not None and 0 <= code < len(self.ids):
            return repr(self.ids[code])
        return f"{code} (of the sorted ids)"

    def names(self, codes: Indices) -> list[Hashable]:
        """The ids of bags, or their positions among the sorted ids where these are not there."""
        return codes.tolist() if self.ids is None else [self.ids[code] for code in codes]

    @property
    def n_instances(self) -> int:
        """Number of instances N."""
        return len(self.labels)

    @property
    def n_bags(self) -> int:
        """Number of bags K."""
        return len(self.proportions)

    @cached_property
    def sizes(self) -> Indices:
        """Number of instances in each bag, shape (n_bags,)."""
        return _row_sizes(self.membership)

    @cached_property
    def membership(self) -> sp.csr_array:
        """Matrix of shape (n_bags, n_instances): 1 where an instance is in a bag, 0 elsewhere."""
        entries = np.ones(self.n_instances), (self.index, np.arange(self.n_instances))
        return sp.csr_array(entries, shape=(self.n_bags, self.n_instances))

    @cached_property
    def pairs(self) -> tuple[Indices, Indices]:
        """Every instance with every bag that it is in, in the order of the instances."""
        return _pairs(self.membership)

    def require_partition(self, what: str) -> None:
        """Raise :class:`InputError` where bags cross; ``what`` is named in the message."""

    @cached_property
    def starts(self) -> Indices:
        """Position of each bag's first instance once instances are sorted by bag."""
        return np.searchsorted(np.sort(self.index), np.arange(self.n_bags))

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
        return (self.membership @ (labeling > 0)).astype(np.intp)

    @property
    def relative_weights(self) -> Array:
        """The weights, 1 where all weigh the same."""
        return np.ones(self.n_instances) if self.weights is None else self.weights

    @property
    def n_weighing(self) -> float:
        """How many instances have a weight above zero."""
        return float(np.count_nonzero(self.relative_weights))

    @property
    def total_weight(self) -> float:
        """Sum of the weights of the instances: their number where all weigh one."""
        return self.mean_weight * float(self.relative_weights.sum())

    @cached_property
    def masses(self) -> Array:
        """Sum of the relative weights in each bag: its size where all weigh the same."""
        return np.asarray(self.membership @ self.relative_weights)

    @property
    def weights_of_bags(self) -> Array:
        """Mean of the relative weights in each bag: 1 where all instances weigh the same."""
        return self.masses / self.sizes

    def means_of(self, features: Array) -> Array:
        """Weighted mean of the rows of ``features`` in each bag, shape (n_bags, n_features).

        In a bag whose instances have no weight they count the same.
        """
        plain = self.membership @ features / self.sizes[:, None]
        if self.weights is None:
            return np.asarray(plain)
        masses = self.masses[:, None]
        sums = self.membership @ (self.relative_weights[:, None] * features)
        return np.divide(sums, masses, out=plain, where=masses > 0.0)

    @cached_property
    def known_counts(self) -> tuple[Indices, Indices]:
        """Number of known positives and of known negatives in each bag."""
        return self.positives_of(self.labels), self.positives_of(-self.labels)


def _row_sizes(membership: sp.csr_array) -> Indices:
    """Number of instances in each bag."""
    return np.diff(membership.indptr).astype(np.intp)


def _pairs(membership: sp.csr_array) -> tuple[Indices, Indices]:
    """Every instance with every bag that it is in, in the order of the instances."""
    instance, bag = sp.csr_array(membership.T).nonzero()
    return instance.astype(np.intp), bag.astype(np.intp)
