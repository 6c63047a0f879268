"""Tolerances of proportions, and the counts of positives that they allow.

The first functions, up to :func:`check_known`, are methods of :class:`~propcvx.bags.bags.Bags`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from scipy.special import ndtri

from propcvx.arrays import Array, Indices, Mask
from propcvx.bags.targets import SHOWN, as_mapping, some_of
from propcvx.checks import as_vector, check_choice, check_number
from propcvx.errors import InfeasibleLabelingError, InputError

if TYPE_CHECKING:
    from propcvx.bags.bags import Bags

PROPORTION_UNIT = 2.0**-40
"""Unit to which proportions are rounded, so that 1 - (1 - p) is p."""

COUNT_SLACK = 1e-6
"""Distance of ``p * n`` from an integer, in instances, up to which it is that count."""

SAMPLING_LEVEL = 0.95
"""The level of the intervals of ``epsilon="sampling"``."""


def check_values(
    bags: Bags, argument: str, values: Any, requirement: str, low: float, high: float
) -> Array:
    """Check the values that are passed for each bag, and return them in the order of the bags.

    Parameters
    ----------
    argument, requirement : str
        The name of the values, and the requirement in words, for messages.
    values : array of shape (n_bags,), dict or Series
        An array is in the order of the sorted ids; a dict or Series is keyed by bag id, and
        may have other bags too.
    low, high : float
        The range of the values.

    Raises
    ------
    InputError
        If a dict or Series lacks a bag, or a value is not a number in the range.
    """
    codes, place = np.unique(bags.codes, return_inverse=True)
    mapping, listed, names = as_mapping(argument, values), values, bags.names(codes)
    if mapping is None and len(set(names)) < len(names):
        raise InputError(
            f"{argument} must be keyed by bag id where bags are drawn with replacement: a dict or "
            "a Series."
        )
    if mapping is not None:
        missing = [name for name in names if name not in mapping]
        if missing:
            raise InputError(f"{argument} must name every bag; missing: {some_of(missing)}.")
        listed = [mapping[name] for name in names]
    vector = as_vector(listed, len(codes))
    if vector is None or vector.min() < low or vector.max() > high:
        raise InputError(f"{argument} must be {requirement}; got {values!r:.200}.")
    return vector[place]


def epsilons(
    bags: Bags, epsilon: Any, high: float = 1.0, words: tuple[str, ...] = ("sampling",)
) -> Array:
    """Compute the tolerance of the proportion of each bag.

    Parameters
    ----------
    epsilon : float, str, array of shape (n_bags,), dict or Series
        Tolerance of all bags, or of each bag as in :meth:`propcvx.Bags.check_values`.
        ``"sampling"`` is :func:`propcvx.sampling_epsilon`, and ``"rounding"`` half an instance.
    high : float, default=1.0
        The largest tolerance that is accepted.
    words : tuple of str, default=("sampling",)
        The words that are accepted.
    """
    number = "one number of at least 0" + f" and at most {high:g}" * (high < np.inf)
    requirement = f"{number}, or one for each of the {bags.n_bags} bags"
    if isinstance(epsilon, str):
        word = check_choice("epsilon", epsilon, words, f", {requirement}")
        return 0.5 / bags.sizes if word == "rounding" else sampling_widths(bags)
    if not hasattr(epsilon, "__len__"):
        return np.full(bags.n_bags, check_number("epsilon", epsilon, 0.0, high, closed="both"))
    return bags.check_values("epsilon", epsilon, requirement, 0.0, high)


def key_by_id(bags: Bags, epsilon: Any) -> Any:
    """Convert an epsilon of each bag to a dict by id, which is valid for any subset of the bags.

    An epsilon that is one number or a word is returned as it is.
    """
    if isinstance(epsilon, str) or not hasattr(epsilon, "__len__"):
        return epsilon
    return dict(zip(bags.names(bags.codes), bags.epsilons(epsilon).tolist(), strict=True))


def count_range(bags: Bags, epsilon: Any = 0.0) -> tuple[Indices, Indices]:
    r"""Compute the range of counts of positives with :math:`|\tilde p_k - p_k| \le \epsilon`.

    For a bag without a proportion, the range is all counts that its known labels allow.

    Parameters
    ----------
    epsilon : float, "rounding", "sampling", array of shape (n_bags,), dict or Series, default=0.0
        Tolerance of the proportions, in [0, 1], of all bags or as in
        :meth:`propcvx.Bags.check_values`.  ``"rounding"`` takes for each bag the nearest
        count that its known labels allow, or both of two equally near counts.  For a
        split bag, every tolerance also allows the nearest count.
        ``"sampling"`` is :func:`propcvx.sampling_epsilon` at the level 0.95, which leaves a count
        in every bag.  If the known labels of a split bag exclude all these counts, the range is the
        nearest count that they allow.

    Returns
    -------
    lower, upper : int arrays of shape (n_bags,)
        Smallest and largest feasible number of positives in each bag, given the known labels.

    Raises
    ------
    InfeasibleLabelingError
        If a bag has no such count; the message names these bags.

    Examples
    --------
    >>> from propcvx import Bags, bag_target
    >>> bags = Bags.from_target(bag_target([0, 0, 0, 1, 1], [1 / 3, 0.5]))
    >>> [count.tolist() for count in bags.count_range(0.0)]
    [[1, 1], [1, 1]]
    """
    lower, upper, nearest, infeasible = _single_ranges(bags, epsilon)
    if infeasible.any():
        _raise_infeasible(bags, epsilon, infeasible, nearest)
    return lower, upper


def check_known(bags: Bags, epsilon: Any = "rounding") -> None:
    """Raise ``InputError`` if known labels allow no count next to a bag's proportion.

    Split bags and an epsilon other than ``"rounding"`` are not checked here, but in
    :meth:`propcvx.Bags.count_range`.  With several classes, each class is checked against
    the rest.
    """
    if not isinstance(epsilon, str) or epsilon != "rounding":
        return
    if bags.multiclass:
        for number, name in enumerate(bags.class_names, start=1):
            try:
                bags.against_rest(number).check_known()
            except InputError as error:
                raise InputError(f"class {name!r} as the positive one: {error}") from error
        return
    (positive, negative), n, p = bags.known_counts, bags.sizes, bags.proportions
    gaps = np.maximum(positive / n - p, p - 1.0 + negative / n)
    wrong = bags.is_complete & (n * gaps > 0.5)
    if wrong.any():
        bag = int(np.argmax(wrong))
        raise InputError(
            f"labels contradict the proportion of bag {bags.name(bag)}: {positive[bag]} known "
            f"positives and {negative[bag]} known negatives of {n[bag]}, with proportion "
            f"{p[bag]:g}. Correct one of them, or give a tolerance: epsilon, or "
            "proportion_loss=propcvx.labelings.losses.constraint(epsilon)."
        )


def sampling_widths(bags: Bags, level: float = SAMPLING_LEVEL) -> Array:
    """Compute the tolerances of :func:`propcvx.sampling_epsilon`, shape (n_bags,)."""
    p, z = bags.proportions, ndtri(0.5 + 0.5 * level)
    widths = np.minimum(z * np.sqrt(p * (1.0 - p) / bags.sizes), 1.0)
    return np.where(bags.has_proportion, widths, 1.0)


def _single_ranges(bags: Bags, epsilon: Any) -> tuple[Indices, Indices, Array, Mask]:
    """Compute each bag's range of counts, the nearest count, and whether it is too far."""
    width = bags.epsilons(epsilon, words=("rounding", "sampling")) * bags.sizes
    width = np.where(bags.is_complete, width, np.maximum(width, 0.5))
    width = np.where(
        bags.has_proportion, width + COUNT_SLACK + PROPORTION_UNIT * bags.sizes, np.inf
    )
    target: Array = np.where(bags.has_proportion, bags.proportions, 0.5) * bags.sizes
    positive, negative = bags.known_counts
    allowed = positive, bags.sizes - negative
    lower = np.clip(np.ceil(target - width), *allowed).astype(np.intp)
    upper = np.clip(np.floor(target + width), *allowed).astype(np.intp)
    nearest = np.clip(np.round(target), *allowed)
    infeasible = np.abs(nearest - target) > width
    if isinstance(epsilon, str):
        infeasible &= bags.is_complete & (epsilon != "rounding")
    return lower, upper, nearest, infeasible


def _raise_infeasible(bags: Bags, epsilon: Any, wrong: Mask, counts: Array) -> NoReturn:
    """Raise the error that names the infeasible bags and the likeliest epsilon.

    Parameters
    ----------
    bags : Bags
    epsilon : float, array of shape (n_bags,), dict or Series
        The tolerance.
    wrong : bool array of shape (n_bags,)
    counts : array of shape (n_bags,)
        The nearest feasible counts of positives.
    """
    widths, places = bags.epsilons(epsilon), np.flatnonzero(wrong)
    tolerance = f"epsilon={widths[0]:g}" if np.ptp(widths) == 0.0 else "the epsilon of each"
    p, n, target = bags.proportions, bags.sizes, bags.proportions * bags.sizes
    listed = ", ".join(
        f"bag {bags.name(k)} (p * n = {p[k]:g} * {n[k]} = {target[k]:g} positives, nearest "
        f"{counts[k]:.0f}/{n[k]})"
        for k in places[:SHOWN]
    )
    more = f" and {len(places) - SHOWN} more" if len(places) > SHOWN else ""
    advice = (
        "Pass epsilon='rounding' if the proportions are rounded, or epsilon='sampling' if they "
        "describe more people than the bags."
    )
    if (np.abs(counts - target)[wrong] > 0.5 + COUNT_SLACK).any():
        advice = (
            "Known labels contradict the nearest counts: correct them, or pass a larger epsilon."
        )
    raise InfeasibleLabelingError(
        f"no labeling has the proportions of {wrong.sum()} of {bags.n_bags} bags within "
        f"{tolerance}: {listed}{more}. {advice}"
    )
