"""Bags that cross: every instance is in one bag of each of several groupings."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NoReturn, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from propcvx.arrays import Array, Indices
from propcvx.bags.bags import COUNT_SLACK, Bags
from propcvx.bags.joint_counts import least_widening
from propcvx.bags.targets import groupings_of
from propcvx.errors import InfeasibleLabelingError, InputError

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
        groupings = [Bags.from_target(own) for own in groupings_of(y)]
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
        if name == "index":
            self.require_partition("this")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def require_partition(self, what: str) -> None:
        """See :meth:`Bags.require_partition`."""
        raise InputError(
            f"{what} needs bags that do not cross, and y has several bags for each instance, "
            f"{self.n_bags} in all: {WITH_CROSSING}."
        )

    def regrouped(self, membership: sp.csr_array, **others: Any) -> CrossingBags:
        """See :meth:`Bags.regrouped`."""
        membership.sort_indices()  # sums are rounded in the order of their terms
        return replace(self, membership=membership, **others)

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
        found = self._at_once(epsilon)
        if found is None:
            self._raise_crossing(epsilon)
        return found[:2]

    def _at_once(self, epsilon: Any) -> tuple[Indices, Indices, Indices] | None:
        """The range of counts, and counts in it that all bags can have; None without such."""
        try:
            lower, upper = super().count_range(epsilon)
        except InfeasibleLabelingError:
            return None
        loose = ~self.whole | (isinstance(epsilon, str) and epsilon == "rounding")
        question = np.concatenate([lower, upper, loose]).tobytes()
        if question not in self._answers:
            self._answers[question] = least_widening(self, lower, upper, loose)
        labeling = self._answers[question]
        if labeling is None:
            return None
        counts = self.positives_of(labeling)
        more = np.maximum(lower - counts, counts - upper).max().clip(0) * loose
        positive, negative = self.known_counts
        wider = np.maximum(lower - more, positive), np.minimum(upper + more, self.sizes - negative)
        return *wider, counts

    @cached_property
    def _answers(self) -> dict[bytes, Array | None]:
        """Labelings by the counts that were asked for."""
        return {}

    def _raise_crossing(self, epsilon: Any) -> NoReturn:
        """Name the bags that need more than they are allowed in a labeling of least largest gap."""
        (positive, negative), n = self.known_counts, self.sizes
        ranges = zip(positive, n - negative, n, self.proportions, strict=True)
        gaps = [np.abs(np.arange(low, high + 1) / n - p) for low, high, n, p in ranges]
        each = np.unique(np.concatenate(gaps))
        enough = bisect_left(each, True, key=lambda one: self._at_once(one) is not None)
        *_, counts = cast("tuple[Indices, ...]", self._at_once(each[enough]))
        epsilons, alone = self.epsilons(epsilon), np.array([of_bag.min() for of_bag in gaps])
        width = np.where(self.whole, n * epsilons, np.maximum(n * epsilons, 0.5))
        missed = n * np.where(self.whole, np.abs(self.gaps(counts)), alone)
        wrong = np.flatnonzero(missed > width + COUNT_SLACK)
        what = f"all {self.n_bags} crossing bags at once"
        near = bool((n * alone <= 0.5 + COUNT_SLACK).all())
        self._raise_infeasible(what, wrong, counts.astype(float), epsilons, rounding=near)
