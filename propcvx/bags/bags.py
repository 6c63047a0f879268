r"""Bags of instances with known label proportions.

A bag :math:`\mathcal{B}_k` is a set of instances of which only the proportion of positives
:math:`p_k` is known (Section 3.1 of the paper), or the proportion of each of several classes.
:class:`Bags` is their validated form inside the package, read from a target ``y`` that
:func:`propcvx.bag_target` makes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from propcvx.arrays import Array, Indices, Mask
from propcvx.bags import counts
from propcvx.bags.counts import PROPORTION_UNIT
from propcvx.bags.targets import (
    BAG_DTYPE,
    ONE_CLASS,
    UNIT_SUM,
    against_rest,
    classes_of,
    encode_ids,
    ids_of,
    is_bag_target,
    is_class_target,
    known_labels,
    names_of,
)
from propcvx.checks import check_number, check_proportion
from propcvx.errors import InputError, SplitBagWarning, warn

JOINED = "; of targets joined one after the other, make one with bag_target of all their bags"
"""Advice if bags have merged because their positions among the sorted ids are equal."""


@dataclass(frozen=True, eq=False)
class Bags:
    """Validated bags: membership of instances, proportions and known labels, Equation (1).

    Make them by :meth:`from_target`.  With a proportion of each class, labels are class numbers 1,
    2, ..., and attributes about positives
    and negatives have no meaning.  A row may also stand for many instances: the mean of a bag
    stands for all of the bag.

    Attributes
    ----------
    membership : sparse array of shape (n_bags, n_instances)
        1 where an instance is in a bag, 0 elsewhere.
    proportions : float array of shape (n_bags,), or (n_bags, n_classes)
        Proportion of positive instances, in [0, 1]; NaN where it is not known.  With several
        classes, the proportion of each class.
    labels : int array of shape (n_instances,)
        Labels known in addition to the proportions, -1 and 1, or class numbers; 0
        where unknown.
    is_complete : bool array of shape (n_bags,)
        Whether all instances of the bag are here.  The proportion of a split bag holds only
        approximately, so its count is the nearest count.
    codes : int array of shape (n_bags,)
        The bag's field ``bag`` in the target: its position among the sorted ids.
    ids : sequence of hashable, optional
        The sorted ids, if the target still carries them, for messages and as keys of parameters
        of each bag; without them :attr:`codes` are the keys.
    class_names : sequence of hashable
        The names of the classes of a table; for messages only.
    weights : float array of shape (n_instances,), optional
        Weight of each instance relative to the mean weight; None where all weigh the same.
    mean_weight : float
        Mean weight of the instances.
    multiplicities : float array of shape (n_instances,), optional
        How many instances each row stands for, with ``weights`` the sum of their weights; a bag
        then has one row, their mean.  None where rows are instances.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx import Bags, bag_target
    >>> bags = Bags.from_target(bag_target(["a", "a", "b", "b", "b"], {"a": 0.5, "b": 1 / 3}))
    >>> bags.sizes, bags.proportions.round(2)
    (array([2, 3]), array([0.5 , 0.33]))
    >>> bags.means_of(np.arange(5.0)[:, None])
    array([[0.5],
           [3. ]])
    """

    membership: sp.csr_array
    proportions: Array
    labels: NDArray[Any]
    is_complete: Mask
    codes: NDArray[np.int64]
    ids: Sequence[Hashable] | None = None
    class_names: Sequence[Hashable] = ()
    weights: Array | None = None
    mean_weight: float = 1.0
    multiplicities: Array | None = None

    check_values, epsilons, key_by_id = counts.check_values, counts.epsilons, counts.key_by_id
    count_range, check_known = counts.count_range, counts.check_known

    @classmethod
    def from_target(cls, y: NDArray[np.void], *, table: bool = False) -> Bags:
        """Read a bag target, or a slice of one.

        Bags that a slice has split are kept, with a :class:`~propcvx.errors.SplitBagWarning`: their
        proportion then holds only approximately.

        Parameters
        ----------
        y : bag target of shape (n_instances,)
        table : bool, default=False
            Whether a target from a table is read with the proportion of each class.  Otherwise it
            must be of two classes, of which the second is positive.
        """
        if not is_bag_target(y):
            raise InputError(
                f"y must be a bag target with fields {BAG_DTYPE.names}; got dtype "
                f"{getattr(y, 'dtype', type(y).__name__)}. Make one with propcvx.bag_target."
            )
        by_class, names = is_class_target(y), classes_of(y).tolist()
        if len(names) > 2 and not table:
            raise InputError(f"y must have two classes; got {len(names)}: {names}; {ONE_CLASS}.")
        if y.ndim != 1 or len(y) == 0:
            raise InputError(f"y must be a non-empty vector of instances; got shape {y.shape}.")
        codes, first, place = np.unique(y["bag"], return_index=True, return_inverse=True)
        p, sizes = y["proportion"].reshape(len(y), -1), y["size"][first]
        bags = cls(
            membership=sp.csr_array((np.ones(len(y)), (place, np.arange(len(y))))),
            proportions=p[first] if by_class else p[first, 0],
            labels=y["label"] if by_class else known_labels(y["label"], len(y)),
            is_complete=np.bincount(place) == sizes,
            codes=codes,
            ids=ids_of(y),
            class_names=names,
        )
        _check_values(bags, p, place)
        _warn_if_cut(bags, sizes)
        return bags.against_rest(2) if by_class and not table else bags

    @classmethod
    def from_rows(
        cls, names: Sequence[Any], proportions: Array, sizes: Array, masses: Array
    ) -> Bags:
        """Build bags with one row each, which stands for all instances of the bag.

        Parameters
        ----------
        names : sequence of hashable
        proportions, sizes, masses : arrays of shape (n_bags,)
            The proportion of each bag, the number of its instances, and the sum of their relative
            weights.
        """
        ids, codes = encode_ids(names, keyed=True)
        return cls(
            membership=sp.csr_array(sp.eye_array(len(names))),
            proportions=proportions,
            labels=np.zeros(len(names), dtype=np.int8),
            is_complete=np.ones(len(names), dtype=bool),
            codes=codes,
            ids=ids,
            weights=masses,
            multiplicities=sizes,
        )

    # The shape of what is known

    @property
    def n_instances(self) -> int:
        """Number of instances N."""
        return len(self.labels)

    @property
    def n_bags(self) -> int:
        """Number of bags K."""
        return len(self.proportions)

    @property
    def multiclass(self) -> bool:
        """Whether there is a proportion of each class, and labels are class numbers."""
        return self.proportions.ndim == 2

    @property
    def n_classes(self) -> int:
        """Number of classes, at least 2."""
        return self.proportions.shape[1] if self.multiclass else 2

    @property
    def label_values(self) -> tuple[Any, ...]:
        """Labels of the classes: -1 and 1, or with several classes the numbers from 1 on."""
        return tuple(range(1, self.n_classes + 1)) if self.multiclass else (-1.0, 1.0)

    # Which instance is in which bag

    @cached_property
    def index(self) -> Indices:
        """Bag of each instance, 0 to n_bags - 1, int array of shape (n_instances,)."""
        return sp.csr_array(self.membership.T).nonzero()[1].astype(np.intp)

    @cached_property
    def sizes(self) -> Any:
        """Number of instances in each bag, shape (n_bags,)."""
        if self.multiplicities is not None:
            return self.membership @ self.multiplicities
        return _row_sizes(self.membership)

    @cached_property
    def members(self) -> tuple[Indices, ...]:
        """Instances of each bag, ascending: a tuple of int arrays."""
        return tuple(np.split(np.argsort(self.index, kind="stable"), self.membership.indptr[1:-1]))

    @cached_property
    def unlabeled(self) -> tuple[Indices, ...]:
        """Instances of each bag whose labels are not known: a tuple of int arrays."""
        return tuple(rows[self.labels[rows] == 0] for rows in self.members)

    @cached_property
    def by_size(self) -> list[tuple[Indices, Indices]]:
        """For each size: the bags of that size, and their instances, a row for each bag.

        A list of pairs of int arrays, of shapes (n,) and (n, size) for n bags, ascending by size.
        """
        order, first = np.argsort(self.index, kind="stable"), self.membership.indptr[:-1]
        bags_of = {size: np.flatnonzero(self.sizes == size) for size in np.unique(self.sizes)}
        return [
            (bags, order[first[bags, None] + np.arange(size)]) for size, bags in bags_of.items()
        ]

    # The same bags in another form

    def take(self, instances: Indices, bags: Indices | None = None) -> Bags:
        """Return the bags of some instances; bags that this splits are no longer whole.

        Parameters
        ----------
        instances : int array
            Their positions, in the order wanted.
        bags : int array, optional
            The positions of all their bags, in the order wanted; ascending where not given.

        Returns
        -------
        Bags
            With instances and bags in these orders.
        """
        membership = self.membership[:, instances]
        bags = np.flatnonzero(_row_sizes(membership)) if bags is None else bags
        membership = membership[bags]
        complete = _row_sizes(membership) == _row_sizes(self.membership)[bags]
        described = ("labels", "weights", "multiplicities")
        of_rows = {name: getattr(self, name) for name in described}
        return self._regrouped(
            membership,
            proportions=self.proportions[bags],
            is_complete=self.is_complete[bags] & complete,
            codes=self.codes[bags],
            **{name: x if x is None else x[instances] for name, x in of_rows.items()},
        )

    def select(self, mask: Mask) -> tuple[Bags, Indices]:
        """Return some of the bags, and the instances that are in them.

        Parameters
        ----------
        mask : boolean array of shape (n_bags,)
            The bags to select.

        Returns
        -------
        bags : Bags
            The selected bags.
        instances : int array
            The positions of their instances, ascending.
        """
        instances = np.flatnonzero(self.membership.T @ mask.astype(float))
        return self.take(instances, np.flatnonzero(mask)), instances

    def select_with_proportion(self) -> tuple[Bags, Indices]:
        """Return the bags with a proportion, and their instances.

        If no bag has a proportion, return the known labels as singleton bags.
        """
        bags = self if self.has_proportion.any() else self.isolate_known_labels()
        return bags.select(bags.has_proportion)

    def _regrouped(self, membership: sp.csr_array, **others: Any) -> Bags:
        """Replace :attr:`membership`, and the attributes that depend on it."""
        membership.sort_indices()  # sums are rounded in the order of their terms
        return replace(self, membership=membership, **others)

    def against_rest(self, number: int) -> Bags:
        """Return binary bags in which the class of that number is positive, and all others not."""
        labels, p = against_rest(self.labels, number), self.proportions[:, number - 1]
        return replace(self, proportions=p, labels=labels)

    def round_proportions(self) -> Bags:
        """Return bags with proportions rounded to multiples of ``PROPORTION_UNIT``."""
        return replace(
            self, proportions=np.rint(self.proportions / PROPORTION_UNIT) * PROPORTION_UNIT
        )

    def isolate_known_labels(self) -> Bags:
        r"""Move each known label to a singleton bag, whose proportion is 0 or 1.

        The other instances of its bag have the proportion
        :math:`(p_k n_k - n_k^+) / (n_k - n_k^+ - n_k^-)` after :math:`n_k^+` positives and
        :math:`n_k^-` negatives.  The proportion is clipped to [0, 1], as :math:`p_k n_k` may be
        rounded.  If :math:`p_k n_k` is a whole number up to the rounding of proportions, that
        number is used.  A singleton bag with a proportion does not change.  The new bags have the
        code of their former bag, so that messages name it.

        Examples
        --------
        >>> from propcvx import Bags, bag_target
        >>> bags = Bags.from_target(bag_target([0, 0, 0, 0], [0.5], labels=[1, 0, 0, 0]))
        >>> bags.isolate_known_labels().proportions.round(3), bags.isolate_known_labels().index
        (array([0.333, 1.   ]), array([1, 0, 0, 0]))
        """
        is_known = (self.labels != 0) & (
            self.membership.T @ (self.sizes + ~self.has_proportion) > 1
        )
        if not is_known.any():
            return self
        instances, unknown = np.flatnonzero(is_known), (~is_known).astype(float)
        membership = sp.csr_array(self.membership @ sp.diags_array(unknown))
        membership.eliminate_zeros()
        singletons = sp.csr_array(sp.eye_array(self.n_instances))[instances]
        sizes, positive = _row_sizes(membership), self.labels[instances] > 0
        nonempty = np.flatnonzero(sizes)
        totals = self.proportions * self.sizes
        rounded = np.abs(totals - np.rint(totals)) <= PROPORTION_UNIT * self.sizes
        totals = np.where(rounded, np.rint(totals), totals)
        totals -= self.membership[:, instances] @ positive
        return self._regrouped(
            sp.csr_array(sp.vstack([membership[nonempty], singletons])),
            proportions=np.append(np.clip(totals[nonempty] / sizes[nonempty], 0.0, 1.0), positive),
            is_complete=np.append(self.is_complete[nonempty], np.ones_like(positive)),
            codes=np.append(self.codes[nonempty], self.codes[self.index[instances]]),
        )

    # The ids of the target

    def name(self, bag: int) -> str:
        """Format the bag for a message: its id, or its position among the sorted ids."""
        code = int(self.codes[bag])
        if self.ids is not None and 0 <= code < len(self.ids):
            return repr(self.ids[code])
        return f"{code} (of the sorted ids)"

    def names(self, codes: Indices) -> list[Hashable]:
        """Return the ids of bags, or their positions among the sorted ids if the ids are lost.

        Parameters
        ----------
        codes : int array
            Entries of :attr:`codes`.

        Returns
        -------
        list of hashable
            A name for each code.
        """
        return names_of(codes, self.ids)

    # Proportions and counts of labels

    @cached_property
    def has_proportion(self) -> Mask:
        """Mask of the bags that have a proportion, of shape (n_bags,)."""
        return ~np.isnan(self.proportions.sum(axis=1) if self.multiclass else self.proportions)

    def positives_of(self, labeling: NDArray[Any]) -> Indices:
        """Count the positives of a labeling in each bag, int array of shape (n_bags,)."""
        return (self.membership @ (labeling > 0)).astype(np.intp)

    def proportions_of(self, labeling: NDArray[Any]) -> Array:
        r"""Compute the proportions of a labeling in each bag, :math:`\tilde p_k(y)`, Equation (3).

        They have the shape of :attr:`proportions`.
        """
        if self.multiclass:
            agrees = np.equal.outer(labeling, self.label_values)
            return np.asarray(self.membership @ agrees) / self.sizes[:, None]
        return np.asarray(self.positives_of(labeling) / self.sizes)

    def gaps(self, counts: NDArray[Any], rows: Any = slice(None)) -> Array:
        r"""Compute :math:`\tilde p_k - p_k` for counts of positives; 0 without a proportion.

        Differences within the rounding of proportions are 0, too; a large weight would make them a
        cost.

        Parameters
        ----------
        counts : int array
            Number of positives.
        rows : slice or int array
            The bags of these counts; by default all bags.
        """
        gaps = counts / self.sizes[rows] - self.proportions[rows]
        return np.where(np.abs(gaps) > PROPORTION_UNIT, gaps, 0.0)

    @cached_property
    def known_counts(self) -> tuple[Indices, Indices]:
        """Numbers of known positives and negatives, two int arrays of shape (n_bags,)."""
        return self.positives_of(self.labels), self.positives_of(-self.labels)

    # Weights and means

    @property
    def relative_weights(self) -> Array:
        """Weights relative to their mean, shape (n_instances,); 1 if all weights are equal."""
        return np.ones(self.n_instances) if self.weights is None else self.weights

    @property
    def n_weighing(self) -> float:
        """Number of instances with a weight above zero."""
        if self.multiplicities is not None:
            return float(self.multiplicities.sum())
        return float(np.count_nonzero(self.relative_weights))

    @property
    def total_weight(self) -> float:
        """Sum of the weights of the instances; their number if all weights are one."""
        return self.mean_weight * float(self.relative_weights.sum())

    @cached_property
    def masses(self) -> Array:
        """Sum of the relative weights in each bag, shape (n_bags,); its size if they are equal."""
        return np.asarray(self.membership @ self.relative_weights)

    @property
    def weights_of_bags(self) -> Array:
        """Mean of the relative weights in each bag, shape (n_bags,); 1 if all are equal."""
        return np.asarray(self.masses / self.sizes)

    def means_of(self, features: Array) -> Array:
        """Compute the weighted mean of the rows of each bag, shape (n_bags, n_features).

        In a bag whose weights are all 0, the instances have equal weights.
        """
        if self.multiplicities is not None:
            return features
        plain = self.membership @ features / self.sizes[:, None]
        if self.weights is None:
            return np.asarray(plain)
        masses = self.masses[:, None]
        sums = self.membership @ (self.relative_weights[:, None] * features)
        return np.divide(sums, masses, out=plain, where=masses > 0.0)


def sampling_epsilon(y: NDArray[np.void], level: float = 0.95) -> dict[Hashable, float]:
    r"""Compute tolerances for proportions of the populations that the bags are samples of.

    The bag is then a sample of size :math:`n_k` of the population, and its proportion differs from
    :math:`p_k` by sampling.  :math:`p_k` lies in the Wilson (score) interval of a count of
    positives exactly if

    .. math::

        |\tilde p_k - p_k| \le z \sqrt{p_k (1 - p_k) / n_k}

    with :math:`z` the two-sided quantile of the normal distribution for the level.

    Parameters
    ----------
    y : bag target of shape (n_instances,)
        Made by :func:`propcvx.bag_target`.
    level : float, default=0.95
        Level of the interval, in (0, 1).  From 0.69 on, at least one count of every bag is within
        the tolerance; below, ``epsilon`` may be too small for some bags.

    Returns
    -------
    dict
        Tolerances keyed by bag id, to pass as ``epsilon`` (of InvCal: with ``scaled_epsilon``).
        At most 1, which is the tolerance of a
        bag without a proportion.

    Examples
    --------
    >>> from propcvx import bag_target, sampling_epsilon
    >>> y = bag_target(["a"] * 4 + ["b"] * 100, {"a": 0.5, "b": 0.5})
    >>> {bag: round(width, 3) for bag, width in sampling_epsilon(y).items()}
    {'a': 0.49, 'b': 0.098}
    """
    check_number("level", level, 0.0, 1.0)
    bags = Bags.from_target(y)
    return bags.key_by_id(counts.sampling_widths(bags, level))


def _row_sizes(membership: sp.csr_array) -> Indices:
    """Count the rows in each bag."""
    return np.diff(membership.indptr).astype(np.intp)


def _check_values(bags: Bags, p: Array, place: Indices) -> None:
    """Raise unless the proportions in the rows of a target, and its class numbers, are valid."""
    proportions = bags.proportions.reshape(bags.n_bags, -1)
    wrong = ~(np.isnan(proportions) | (proportions >= 0.0) & (proportions <= 1.0))
    if wrong.any():
        bag = int(np.argmax(wrong.any(axis=1)))
        check_proportion(float(proportions[bag][wrong[bag]][0]), bags.name(bag))
    if bags.multiclass and (wrong := ~(np.abs(proportions.sum(axis=1) - 1.0) <= UNIT_SUM)).any():
        total, name = proportions[wrong][0].sum(), bags.name(int(np.argmax(wrong)))
        raise InputError(f"y['proportion'] must sum to one; got {total:.9g} in bag {name}.")
    if bags.multiclass and (wrong := ~np.isin(bags.labels, (0, *bags.label_values))).any():
        got = bags.labels[wrong][0]
        raise InputError(f"y['label'] must be 0 or one of {bags.label_values}; got {got}.")
    expected = proportions[place]
    differs = ~((expected == p) | np.isnan(expected) & np.isnan(p)).all(axis=1)
    if differs.any():
        name = bags.name(place[np.argmax(differs)])
        raise InputError(
            f"y['proportion'] must be one value per bag; got several in bag {name}{JOINED}."
        )


def _warn_if_cut(bags: Bags, sizes: NDArray[np.int64]) -> None:
    """Warn if the number of instances of a bag has changed since the target was made."""
    if bags.is_complete.all():
        return
    wrong, fault, preposition = ~bags.is_complete, "lack", "of"
    advice = "; propcvx.BagKFold never splits a bag"
    if (bags.sizes > sizes).any():
        wrong, fault, preposition, advice = bags.sizes > sizes, "have too many", "for", JOINED
    bag = int(np.argmax(wrong))
    warn(
        f"{int(wrong.sum())} of {bags.n_bags} bags {fault} rows (the first is bag "
        f"{bags.name(bag)}, with {bags.sizes[bag]} {preposition} its {sizes[bag]} instances), so "
        f"their proportions hold only approximately{advice}.",
        SplitBagWarning,
    )
