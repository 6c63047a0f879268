"""Bags that cross: every instance is in one bag of each of several groupings."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from propcvx.arrays import Array, Indices
from propcvx.bags import COUNT_SLACK, Bags, rounded_up
from propcvx.errors import InfeasibleLabelingError, InputError
from propcvx.joint_counts import JointCounts
from propcvx.targets import SHOWN, groupings_of

WITH_CROSSING = (
    "AlterPropSVM with polish='none' and selection='objective', ConvPropSVM with the oracles "
    "'ascent', 'coordinate', 'coordinate_features', 'random_directions' and 'several', InvCal, "
    "MeanMap and LaplacianMeanMap take crossing bags; bag_target(bags, proportions) with one "
    "grouping has bags that do not cross"
)
"""What an error says would do."""


@dataclass(frozen=True)
class CrossingBags(Bags):
    """Validated bags of several groupings of the same instances, one after the other.

    What is said of bags, as their proportions and sizes, has an entry for each bag of each
    grouping.  An instance has no one bag, so :attr:`Bags.index` and what is made of it raise an
    :class:`~propcvx.errors.InputError`.

    Attributes
    ----------
    membership : sparse array of shape (n_bags, n_instances)
        1 where an instance is in a bag, 0 elsewhere.

    The others are those of :class:`Bags`.
    """

    crossing: ClassVar[bool] = True

    index: Indices = field(init=False, repr=False, compare=False)
    membership: sp.csr_array = field(kw_only=True, repr=False, compare=False)

    @classmethod
    def from_target(cls, y: NDArray[np.void]) -> CrossingBags:
        """Read the target of several groupings, or a slice of one."""
        return cls.stacked([Bags.from_target(own) for own in groupings_of(y)])

    @classmethod
    def stacked(cls, groupings: Sequence[Bags]) -> CrossingBags:
        """The bags of several groupings of the same rows."""
        first = groupings[0]
        return cls(
            proportions=np.concatenate([bags.proportions for bags in groupings]),
            labels=first.labels,
            whole=np.concatenate([bags.whole for bags in groupings]),
            codes=np.concatenate([bags.codes for bags in groupings]),
            rows=first.rows,
            ids=first.ids,
            membership=sp.csr_array(sp.vstack([bags.membership for bags in groupings])),
        )

    def __getattr__(self, name: str) -> Any:
        """What only bags that do not cross have: it names the methods that need none of it."""
        if name != "index":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self.require_partition("this")

    def require_partition(self, what: str) -> None:
        """See :meth:`Bags.require_partition`."""
        raise InputError(
            f"{what} needs bags that do not cross, and y has several bags for each instance, "
            f"{self.n_bags} in all: {WITH_CROSSING}."
        )

    def take(self, instances: Indices, bags: Indices | None = None) -> CrossingBags:
        """See :meth:`Bags.take`."""
        inside = self.membership[:, instances]
        kept = np.flatnonzero(inside.sum(axis=1)) if bags is None else bags
        inside = sp.csr_array(inside[kept])
        inside.sort_indices()  # sums are rounded in the order of their terms
        return replace(
            self,
            proportions=self.proportions[kept],
            labels=self.labels[instances],
            whole=self.whole[kept] & (inside.sum(axis=1) == self.sizes[kept]),
            codes=self.codes[kept],
            rows=self.rows[instances],
            weights=None if self.weights is None else self.weights[instances],
            membership=inside,
        )

    @property
    def n_instances(self) -> int:
        """Number of instances N."""
        return len(self.labels)

    @cached_property
    def sizes(self) -> Indices:
        """Number of instances in each bag, shape (n_bags,)."""
        return np.bincount(self.pairs[1], minlength=self.n_bags)

    @cached_property
    def pairs(self) -> tuple[Indices, Indices]:
        """See :attr:`Bags.pairs`."""
        bag, instance = self.membership.nonzero()
        order = np.argsort(instance, kind="stable")
        return instance[order], bag[order]

    @cached_property
    def starts(self) -> Indices:
        """Only bags that do not cross have one order of the instances by bag."""
        return self.index

    def positives_of(self, labeling: NDArray[Any]) -> Indices:
        """Number of positives of a labeling in each bag."""
        return np.rint(self.membership @ (labeling > 0).astype(float)).astype(np.intp)

    def with_known_apart(self) -> CrossingBags:
        """See :meth:`Bags.with_known_apart`: the label is then in no other bag."""
        known = np.flatnonzero(self.labels)
        positive, negative = self.known_counts()
        left = self.sizes - positive - negative
        rest, kept = self.proportions * self.sizes - positive, np.flatnonzero(left)
        others = self.membership[kept] @ sp.diags_array((self.labels == 0).astype(float))
        others.eliminate_zeros()
        alone = sp.csr_array(sp.eye_array(self.n_instances))[known]
        instance, bag = self.pairs
        first = bag[np.searchsorted(instance, known)]
        shares = np.clip(rest[kept] / left[kept], 0.0, 1.0)
        return replace(
            self,
            proportions=np.concatenate([shares, self.labels[known] > 0]),
            whole=np.concatenate([self.whole[kept], np.ones(len(known), dtype=bool)]),
            codes=np.concatenate([self.codes[kept], self.codes[first]]),
            membership=sp.csr_array(sp.vstack([others, alone])),
        )

    def count_range(self, epsilon: Any = 0.0) -> tuple[Indices, Indices]:
        r"""Counts with :math:`|\tilde p_k - p_k| \le \epsilon` that all bags can have at once.

        Parameters
        ----------
        epsilon : float, "rounding", "sampling", array of shape (n_bags,), dict or pandas Series
            As in :meth:`Bags.count_range`.  Where no labeling has the nearest counts of all bags,
            ``"rounding"`` allows in each bag as many positives more or fewer as it takes, the same
            number in all; so does any tolerance for bags that were cut.

        Raises
        ------
        InfeasibleLabelingError
            If no labeling has such counts in all bags at once; the message names the bags that
            miss them in the labeling of least largest gap, and the epsilon that it needs.
        """
        alone = super().count_range(epsilon)
        question = np.concatenate(alone).tobytes()
        if question not in self._ranges:
            self._ranges[question] = self._joint_range(*alone, epsilon)
        return self._ranges[question]

    @cached_property
    def _ranges(self) -> dict[bytes, tuple[Indices, Indices]]:
        return {}

    def _joint_range(self, lower: Indices, upper: Indices, epsilon: Any) -> tuple[Indices, Indices]:
        """The counts that each bag can have alone, or wider ones where no labeling has them."""
        positive, negative = self.known_counts()
        rounded = isinstance(epsilon, str) and epsilon == "rounding"
        loose = np.ones(self.n_bags, dtype=bool) if rounded else ~self.whole

        def widened(more: int) -> tuple[Indices, Indices]:
            wider = np.maximum(lower - more * loose, np.minimum(lower, positive))
            return wider, np.minimum(upper + more * loose, np.maximum(upper, self.sizes - negative))

        most = int(self.sizes[loose].max(initial=0)) + 1
        more = bisect_left(
            range(most), True, key=lambda more: self._with(*widened(more)) is not None
        )
        if more == most:
            self._raise_crossing(epsilon)
        return widened(more)

    def swapped(self) -> CrossingBags:
        """The same with positives and negatives exchanged."""
        return cast("CrossingBags", super().swapped())

    def _with(self, lower: Indices, upper: Indices) -> Array | None:
        """Some labeling with such counts; None where there is none."""

        def free(bag: Indices, rank: Indices) -> Array:
            return np.zeros(1)

        counts = JointCounts.of(self.membership, self.labels, lower, upper, free)
        return counts.best(np.zeros(self.n_instances))

    def _raise_crossing(self, epsilon: Any) -> None:
        """Name the epsilon that is enough, and the bags that need more than they are allowed."""
        if self.sign < 0:
            self.swapped()._raise_crossing(epsilon)
        wanted = self.proportions * self.sizes

        def within(least: float) -> Array | None:
            width = least * self.sizes + COUNT_SLACK
            lower = np.maximum(np.ceil(wanted - width), 0).astype(np.intp)
            upper = np.minimum(np.floor(wanted + width), self.sizes).astype(np.intp)
            return None if (lower > upper).any() else self._with(lower, upper)

        gaps = [
            np.abs(np.arange(size + 1) / size - share)
            for size, share in zip(self.sizes, self.proportions, strict=True)
        ]
        each = np.unique(np.concatenate(gaps))
        enough = each[bisect_left(each, True, key=lambda least: within(least) is not None)]
        counts = self.positives_of(cast("Array", within(enough)))
        missed = np.abs(counts - wanted) / self.sizes
        n_wrong = np.count_nonzero(missed > self.epsilons(epsilon) + COUNT_SLACK)
        wrong = np.argsort(-missed, kind="stable")[:n_wrong]
        listed = ", ".join(
            f"bag {self.name(k)} (p * n = {wanted[k]:g} of {self.sizes[k]}, there {counts[k]})"
            for k in wrong[:SHOWN]
        )
        more = f" and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
        raise InfeasibleLabelingError(
            f"no labeling has the proportions of all {self.n_bags} crossing bags at once within "
            f"epsilon={epsilon!r}; the nearest one misses those of {len(wrong)}: {listed}{more}. "
            f"For all of them an epsilon of {rounded_up(float(enough)):g} suffices; "
            "epsilon='rounding' takes the nearest counts that can be had at once."
        )
