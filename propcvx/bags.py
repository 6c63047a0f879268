r"""Bags of instances with known label proportions.

A bag :math:`\mathcal{B}_k` is a set of instances of which only the share of positives
:math:`p_k` is known (Section 3.1 of the paper).  :class:`Bags` is their validated form inside the
package, read from a target ``y`` that :func:`propcvx.bag_target` makes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import ndtri

from propcvx.arrays import Array, Indices, Mask, Signs
from propcvx.checks import as_vector, check_choice, check_number
from propcvx.class_targets import is_class_target, two_classes
from propcvx.errors import CutBagWarning, InfeasibleLabelingError, InputError, warn
from propcvx.targets import (
    BAG_DTYPE,
    SHOWN,
    as_mapping,
    check_share,
    is_bag_target,
    known_labels,
    some_of,
)

COUNT_SLACK = 1e-6
"""How far ``p * n`` may lie from an integer, in instances, and still be that count."""


SAMPLING_LEVEL = 0.95
"""The level of the intervals that ``epsilon="sampling"`` takes."""


@dataclass(frozen=True)
class Bags:
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
    """Whether instances are in several bags, see :mod:`propcvx.crossing`."""

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

    @classmethod
    def from_target(cls, y: NDArray[np.void]) -> Bags:
        """Read a bag target, or a slice of one.

        Bags that a slice has cut through are kept, with a :class:`CutBagWarning`: their
        proportion then holds only approximately.  Of several groupings, the bags are
        :class:`propcvx.crossing.CrossingBags`.
        """
        if not is_bag_target(y):
            raise InputError(
                f"y must be a bag target with fields {BAG_DTYPE.names}, got dtype "
                f"{getattr(y, 'dtype', type(y).__name__)}; make one with propcvx.bag_target."
            )
        y = two_classes(y) if is_class_target(y) else y
        if y.ndim == 1 and y.dtype["bag"].shape:
            from propcvx.crossing import CrossingBags  # a kind of Bags, so not at the top

            return CrossingBags.from_target(y)
        fields, sizes = fields_of(y)
        bags = cls(**{**fields, "labels": known_labels(y["label"], len(y))})
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

    def regrouped(self, membership: sp.csr_array, **others: Any) -> Bags:
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

    def swapped(self) -> Bags:
        """The same with positives and negatives exchanged."""
        shares, labels = 1.0 - self.proportions, -self.labels
        return replace(self, proportions=shares, labels=labels, sign=-self.sign)

    @cached_property
    def with_share(self) -> Mask:
        """Which bags have a proportion."""
        return ~np.isnan(self.proportions)

    def gaps(self, counts: NDArray[Any], of: Any = slice(None)) -> Array:
        r""":math:`\tilde p_k - p_k` for counts of positives; 0 for bags without a proportion.

        Parameters
        ----------
        counts : int array
        of : index of bags
            The bags of these counts, which are all bags where it is not given.
        """
        return np.where(self.with_share[of], counts / self.sizes[of] - self.proportions[of], 0.0)

    def with_known_apart(self) -> Bags:
        r"""The same with each label that is known as a bag of one, whose share is 0 or 1.

        Its bag is the rest, with the share :math:`(p_k n_k - n_k^+) / (n_k - n_k^+ - n_k^-)` after
        :math:`n_k^+` positives and :math:`n_k^-` negatives, clipped to [0, 1] as :math:`p_k n_k`
        may be rounded.  A bag of one that has a share stays what it is.  Labels that are apart have
        the code of their bag, so that messages name it.

        Examples
        --------
        >>> from propcvx import bag_target
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
        rest = self.proportions * self.sizes - self.membership[:, apart] @ positive
        instance, bag = self.pairs
        first = bag[np.searchsorted(instance, apart)]
        return self.regrouped(
            sp.csr_array(sp.vstack([together[kept], alone])),
            proportions=np.append(np.clip(rest[kept] / left[kept], 0.0, 1.0), positive),
            whole=np.append(self.whole[kept], np.ones_like(positive)),
            codes=np.append(self.codes[kept], self.codes[first]),
        )

    def of_shares(self) -> tuple[Bags, Indices]:
        """The bags with a proportion, and their instances: what labels can be compared with.

        Where no bag has one, these are the labels that are known, as bags of one.
        """
        bags = self if self.with_share.any() else self.with_known_apart()
        return bags.only(bags.with_share)

    def only(self, chosen: Mask) -> tuple[Bags, Indices]:
        """Some of the bags, and the instances that are in one of them."""
        instances = np.flatnonzero(self.membership.T @ chosen.astype(float))
        return self.take(instances, np.flatnonzero(chosen)), instances

    def name(self, bag: int) -> str:
        """The bag in the words of a message: its id, or its position among the sorted ids."""
        code = int(self.codes[bag])
        if self.ids is not None and 0 <= code < len(self.ids):
            return repr(self.ids[code])
        return f"{code} (of the sorted ids)"

    def each(self, argument: str, values: Any, wanted: str, least: float, most: float) -> Array:
        """What is given for each bag, in the order of these.

        Parameters
        ----------
        argument, wanted : str
            What the values are called in messages, and what would do.
        values : array of shape (n_bags,), dict or pandas Series
            An array is in the order of the sorted ids; a dict or Series is keyed by bag id, and
            may have other bags too.
        least, most : float
            The range that they must be in.

        Raises
        ------
        InputError
            If a dict or Series lacks a bag, or it is not one number in the range for each.
        """
        codes, place = np.unique(self.codes, return_inverse=True)
        keyed = as_mapping(argument, values)
        if keyed is not None:
            names = self.names(codes)
            missing = [name for name in names if name not in keyed]
            if missing:
                raise InputError(f"{argument} must name every bag, got none of {some_of(missing)}.")
        listed = values if keyed is None else [keyed[name] for name in names]
        given = as_vector(listed, len(codes))
        if given is None or given.min() < least or given.max() > most:
            raise InputError(f"{argument} must be {wanted}, got {values!r}.")
        return given[place]

    def epsilons(
        self, epsilon: Any, most: float = 1.0, words: tuple[str, ...] = ("sampling",)
    ) -> Array:
        """Tolerance of the proportion of each bag.

        Parameters
        ----------
        epsilon : float, str, array of shape (n_bags,), dict or pandas Series
            Of all bags; in a word, ``"sampling"`` as :func:`sampling_epsilon` has it and
            ``"rounding"`` half an instance; or of each bag, as in :meth:`each`.
        most : float
            The largest that is accepted.
        words : tuple of str
            The words that are accepted.
        """
        if isinstance(epsilon, str):
            word = check_choice("epsilon", epsilon, words)
            return 0.5 / self.sizes if word == "rounding" else sampling_widths(self)
        if not hasattr(epsilon, "__len__"):
            return np.full(self.n_bags, check_number("epsilon", epsilon, least=0.0, most=most))
        one = f"one number of at least 0 and at most {most:g}"
        wanted = f"{one}, or one for each of the {self.n_bags} bags"
        return self.each("epsilon", epsilon, wanted, 0.0, most)

    def keyed(self, epsilon: Any) -> Any:
        """The epsilon by the ids of these bags, where it is one for each, for any part of them."""
        if isinstance(epsilon, str) or not hasattr(epsilon, "__len__"):
            return epsilon
        return dict(zip(self.names(self.codes), self.epsilons(epsilon).tolist(), strict=True))

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
        masses = self.masses[:, None]
        sums = self.membership @ (self.relative_weights[:, None] * features)
        plain = self.membership @ features / self.sizes[:, None]
        return np.divide(sums, masses, out=plain, where=masses > 0.0)

    def count_range(self, epsilon: Any = 0.0) -> tuple[Indices, Indices]:
        r"""Counts of positives with :math:`|\tilde p_k - p_k| \le \epsilon`, per bag.

        Of a bag without a proportion, these are all that its known labels allow.

        Parameters
        ----------
        epsilon : float, "rounding", "sampling", array of shape (n_bags,), dict or pandas Series
            Tolerance of the proportions, in [0, 1], of all bags or as in :meth:`each`.
            ``"rounding"`` takes for each bag the nearest count that its known labels allow, and of
            two equally near ones both.  So does any tolerance for a bag that was cut, beside the
            counts within it.  ``"sampling"`` is :func:`sampling_epsilon` at the level 0.95, which
            leaves a count in every bag; where known labels allow none of them, in a bag that was
            cut, the nearest that they allow is taken.

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
        epsilons = self.epsilons(epsilon, words=("rounding", "sampling"))
        width = epsilons * self.sizes
        width = np.where(self.whole, width, np.maximum(width, 0.5))
        width = np.where(self.with_share, width + COUNT_SLACK, np.inf)
        target: Array = np.where(self.with_share, self.proportions, 0.5) * self.sizes
        positive, negative = self.known_counts()
        allowed = positive, self.sizes - negative
        lower = np.clip(np.ceil(target - width), *allowed).astype(np.intp)
        upper = np.clip(np.floor(target + width), *allowed).astype(np.intp)
        nearest = np.clip(np.round(target), *allowed)
        infeasible = np.abs(nearest - target) > width
        if infeasible.any() and not isinstance(epsilon, str):
            what = f"{infeasible.sum()} of {self.n_bags} bags"
            self._raise_infeasible(what, np.flatnonzero(infeasible), nearest, epsilons)
        return lower, upper

    def known_counts(self) -> tuple[Indices, Indices]:
        """Number of known positives and of known negatives in each bag."""
        return self.positives_of(self.labels), self.positives_of(-self.labels)

    def _raise_infeasible(
        self, what: str, wrong: Indices, nearest: Array, epsilons: Array
    ) -> NoReturn:
        """Raise the error that names the bags that are wrong, and the epsilon that is enough."""
        if self.sign < 0:
            self.swapped()._raise_infeasible(what, wrong, self.sizes - nearest, epsilons)
        within = f"epsilon={epsilons[0]:g}" if np.ptp(epsilons) == 0.0 else "the epsilon of each"
        p, n, target = self.proportions, self.sizes, self.proportions * self.sizes
        least = float(np.max(((np.abs(nearest - target) - COUNT_SLACK / 2) / n)[wrong]))
        listed = ", ".join(
            f"bag {self.name(k)} (p * n = {p[k]:g} * {n[k]} = {target[k]:g} positives, nearest "
            f"{nearest[k]:.0f}/{n[k]})"
            for k in wrong[:SHOWN]
        )
        more = f" and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
        raise InfeasibleLabelingError(
            f"no labeling has the proportions of {what} within {within}: {listed}{more}. "
            f"For all of them an epsilon of {rounded_up(least):g} suffices; "
            "epsilon='rounding' takes the nearest counts."
        )


def _row_sizes(membership: sp.csr_array) -> Indices:
    """Number of instances in each bag."""
    return np.diff(membership.indptr).astype(np.intp)


def _pairs(membership: sp.csr_array) -> tuple[Indices, Indices]:
    """Every instance with every bag that it is in, in the order of the instances."""
    instance, bag = sp.csr_array(membership.T).nonzero()
    return instance.astype(np.intp), bag.astype(np.intp)


def sampling_epsilon(y: NDArray[np.void], level: float = 0.95) -> dict[Hashable, float]:
    r"""Tolerance of each bag's proportion where it is the share of a population.

    The bag is then a sample of :math:`n_k` from it, whose share is near :math:`p_k` but for
    sampling, and :math:`p_k` lies in the Wilson (score) interval of a count of positives exactly
    where

    .. math::

        |\tilde p_k - p_k| \le z \sqrt{p_k (1 - p_k) / n_k}

    with :math:`z` the quantile of the normal distribution for the level.

    Parameters
    ----------
    y : bag target of shape (n_instances,)
        Made by :func:`propcvx.bag_target`.
    level : float
        Of the interval, in (0, 1).  From 0.69 on a count of every bag is in it; below,
        ``epsilon`` may be too small for some.

    Returns
    -------
    dict
        Keyed by bag id: what ``epsilon`` takes wherever it is a tolerance of proportions.  At most
        1, as for a bag without a proportion.

    Examples
    --------
    >>> from propcvx import bag_target
    >>> y = bag_target(["a"] * 4 + ["b"] * 100, {"a": 0.5, "b": 0.5})
    >>> {bag: round(width, 3) for bag, width in sampling_epsilon(y).items()}
    {'a': 0.49, 'b': 0.098}
    """
    check_number("level", level, above=0.0, most=np.nextafter(1.0, 0.0))
    bags = Bags.from_target(y)
    return bags.keyed(sampling_widths(bags, level))


def sampling_widths(bags: Bags, level: float = SAMPLING_LEVEL) -> Array:
    """The tolerances of :func:`sampling_epsilon`, shape (n_bags,)."""
    p, z = bags.proportions, ndtri(0.5 + 0.5 * level)
    widths = np.minimum(z * np.sqrt(p * (1.0 - p) / bags.sizes), 1.0)
    return np.where(bags.with_share, widths, 1.0)


def rounded_up(value: float) -> float:
    """The next number of four digits."""
    unit = 10.0 ** (3 - np.floor(np.log10(value)))
    return float(np.ceil(value * unit) / unit)


def fields_of(y: NDArray[np.void]) -> tuple[dict[str, Any], NDArray[np.int64]]:
    """The fields of :class:`Bags` as a target of one grouping has them; the sizes of whole bags."""
    if y.ndim != 1 or len(y) == 0:
        raise InputError(f"y must be a non-empty vector of instances, got shape {y.shape}.")
    codes, first, index = np.unique(y["bag"], return_index=True, return_inverse=True)
    sizes = y["size"][first]
    fields = {
        "index": index,
        "proportions": y["proportion"][first],
        "labels": y["label"],
        "whole": np.bincount(index) == sizes,
        "codes": codes,
        "rows": np.arange(len(y)),
        "ids": y.dtype.metadata["ids"] if y.dtype.metadata else None,
    }
    return fields, sizes


def _check_proportions(bags: Bags, of_instances: Array) -> None:
    in_range = ~bags.with_share | (bags.proportions >= 0.0) & (bags.proportions <= 1.0)
    first = int(np.argmin(in_range))
    if not in_range[first]:
        check_share(float(bags.proportions[first]), bags.name(first))
    expected = bags.proportions[bags.index]
    differs = (expected != of_instances) & ~(np.isnan(expected) & np.isnan(of_instances))
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
