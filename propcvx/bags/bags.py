r"""Bags of instances with known label proportions.

A bag :math:`\mathcal{B}_k` is a set of instances of which only the share of positives
:math:`p_k` is known (Section 3.1 of the paper).  :class:`Bags` is their validated form inside the
package, read from a target ``y`` that :func:`propcvx.bag_target` makes.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NoReturn
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from propcvx.arrays import Array, Indices
from propcvx.bags.class_targets import is_class_target, two_classes
from propcvx.bags.record import BagRecord
from propcvx.bags.targets import (
    BAG_DTYPE,
    SHOWN,
    as_mapping,
    check_share,
    is_bag_target,
    known_labels,
    some_of,
)
from propcvx.checks import as_vector, check_choice, check_number
from propcvx.errors import (
    CutBagWarning,
    InfeasibleLabelingError,
    InputError,
    fold_of_scikit_learn,
    warn,
)

COUNT_SLACK = 1e-6
"""How far ``p * n`` may lie from an integer, in instances, and still be that count."""


SAMPLING_LEVEL = 0.95
"""The level of the intervals that ``epsilon="sampling"`` takes."""


@dataclass(frozen=True)
class Bags(BagRecord):
    """Validated bags: the record of a target, and the counts that it allows, Equation (1).

    The attributes are those of :class:`~propcvx.bags.record.BagRecord`.
    """

    @classmethod
    def from_target(cls, y: NDArray[np.void]) -> Bags:
        """Read a bag target, or a slice of one.

        Bags that a slice has cut through are kept, with a :class:`CutBagWarning`: their
        proportion then holds only approximately.  Of several groupings, the bags are
        :class:`propcvx.bags.crossing.CrossingBags`.
        """
        if not is_bag_target(y):
            raise InputError(
                f"y must be a bag target with fields {BAG_DTYPE.names}, got dtype "
                f"{getattr(y, 'dtype', type(y).__name__)}; make one with propcvx.bag_target."
            )
        y = two_classes(y) if is_class_target(y) else y
        if y.ndim == 1 and y.dtype["bag"].shape:
            from propcvx.bags.crossing import CrossingBags  # a kind of Bags, so not at the top

            return CrossingBags.from_target(y)
        fields, sizes = fields_of(y)
        bags = cls(**{**fields, "labels": known_labels(y["label"], len(y))})
        check_proportions(bags, y["proportion"])
        warn_if_cut(bags, sizes)
        return bags

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
        positive, negative = self.known_counts
        allowed = positive, self.sizes - negative
        lower = np.clip(np.ceil(target - width), *allowed).astype(np.intp)
        upper = np.clip(np.floor(target + width), *allowed).astype(np.intp)
        nearest = np.clip(np.round(target), *allowed)
        infeasible = np.abs(nearest - target) > width
        if isinstance(epsilon, str):
            infeasible &= self.whole & (epsilon != "rounding")
        if infeasible.any():
            what = f"{infeasible.sum()} of {self.n_bags} bags"
            near = bool((np.abs(nearest - target)[infeasible] <= 0.5 + COUNT_SLACK).all())
            wrong = np.flatnonzero(infeasible)
            self._raise_infeasible(what, wrong, nearest, epsilons, rounding=near)
        return lower, upper

    def _raise_infeasible(
        self, what: str, wrong: Indices, nearest: Array, epsilons: Array, *, rounding: bool = True
    ) -> NoReturn:
        """Raise the error that names the bags that are wrong, and the epsilon that is enough."""
        if self.sign < 0:
            nearest = self.sizes - nearest
            self.swapped()._raise_infeasible(what, wrong, nearest, epsilons, rounding=rounding)
        within = f"epsilon={epsilons[0]:g}" if np.ptp(epsilons) == 0.0 else "the epsilon of each"
        p, n, target = self.proportions, self.sizes, self.proportions * self.sizes
        least = float(np.max(((np.abs(nearest - target) - COUNT_SLACK / 2) / n)[wrong]))
        listed = ", ".join(
            f"bag {self.name(k)} (p * n = {p[k]:g} * {n[k]} = {target[k]:g} positives, nearest "
            f"{nearest[k]:.0f}/{n[k]})"
            for k in wrong[:SHOWN]
        )
        more = f" and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
        advice = "epsilon='rounding' takes" if rounding else "known labels contradict"
        raise InfeasibleLabelingError(
            f"no labeling has the proportions of {what} within {within}: {listed}{more}. "
            f"For all of them an epsilon of {rounded_up(least):g} suffices; {advice} the nearest "
            "counts."
        )

    def check_known(self, epsilon: Any = "rounding") -> None:
        """Raise :class:`InputError` where known labels allow no count next to a bag's proportion.

        Not of bags that were cut, and not with another epsilon than ``"rounding"``, of which
        :meth:`count_range` says whether they allow a count within it.
        """
        if not isinstance(epsilon, str) or epsilon != "rounding":
            return
        if self.sign < 0:
            self.swapped().check_known()
        (positive, negative), n, p = self.known_counts, self.sizes, self.proportions
        gaps = np.maximum(positive / n - p, p - 1.0 + negative / n)
        wrong = self.whole & (n * gaps > 0.5)
        if wrong.any():
            bag = int(np.argmax(wrong))
            raise InputError(
                f"labels contradict the proportion of bag {self.name(bag)}: {positive[bag]} known "
                f"positives and {negative[bag]} known negatives of {n[bag]}, with proportion "
                f"{p[bag]:g}; where a tolerance epsilon can be given, "
                f"{rounded_up(gaps[wrong].max()):g} is enough for all bags."
            )


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


def check_proportions(bags: Bags, of_instances: Array) -> None:
    """Raise unless the instances of a bag have one proportion, in [0, 1] or NaN."""
    in_range = ~bags.with_share | (bags.proportions >= 0.0) & (bags.proportions <= 1.0)
    first = int(np.argmin(in_range))
    if not in_range[first]:
        check_share(float(bags.proportions[first]), bags.name(first))
    expected = bags.proportions[bags.index]
    differs = (expected != of_instances) & ~(np.isnan(expected) & np.isnan(of_instances))
    if differs.any():
        name = bags.name(bags.index[np.argmax(differs)])
        raise InputError(f"y['proportion'] must be one value per bag, got several in bag {name}.")


_told: WeakValueDictionary[int, Any] = WeakValueDictionary()
"""Targets whose folds cut bags, as a warning has said."""


def warn_if_cut(bags: Bags, sizes: NDArray[np.int64]) -> None:
    """Warn if there are fewer instances of a bag than it had where the target was made.

    Of a target that scikit-learn splits into folds, only at the first.
    """
    if bags.whole.all():
        return
    split = fold_of_scikit_learn().get("y")
    if split is not None and _told.get(id(split)) is split:
        return
    bag = int(np.argmin(bags.whole))
    warn(
        f"{int((~bags.whole).sum())} of {bags.n_bags} bags are incomplete (the first is bag "
        f"{bags.name(bag)}, with {bags.sizes[bag]} of its {sizes[bag]} instances), so their "
        "proportions hold only approximately; split with propcvx.BagKFold, which never cuts a "
        "bag.",
        CutBagWarning,
    )
    if split is not None:
        _told[id(split)] = split
