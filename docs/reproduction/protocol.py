"""Everything the experiments of Section 6 leave open or fix, as named options with defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

from propcvx.checks import check_choice, check_count, check_flag, check_number
from propcvx.errors import InputError


def _option(default: Any, check: Callable[..., Any], **limits: Any) -> Any:
    """A field with the check of its value, or of each value if the field is a grid."""
    return field(default=default, metadata={"check": partial(check, **limits)})


class _Checked:
    """A dataclass whose values are checked; a grid of a single value may be given as that value."""

    def __post_init__(self: Any) -> None:
        for option in fields(self):
            name, value, check = option.name, getattr(self, option.name), option.metadata["check"]
            if isinstance(option.default, tuple):
                values = value if isinstance(value, list | tuple) else [value]
                checked = tuple(check(name, part) for part in values)
            else:
                checked = check(name, value)
            if checked == ():
                raise InputError(f"{name} must have a value, got {value!r}.")
            object.__setattr__(self, name, checked)


@dataclass(frozen=True)
class Design(_Checked):
    """How data become bags and folds, and how parameters are chosen: the same for every method.

    Attributes
    ----------
    seed : int
        Seeds negatives, order of rows, bags, folds and random labelings of every repetition.
    bags : "random", "equal", "own", "inside" or "once"
        Random bags (Section 6.2); bags that all have the proportion of the whole (Section 7.1);
        those that the data come with.  Two other readings of Section 6.2, against its text, which
        puts the whole set into bags anew in every repetition: folds of instances, with random bags
        inside the training and the test part; and the bags of the first repetition in all.
    leftover : "keep" or "drop"
        What becomes of the last bag where the bag size does not divide the number of instances.
        The authors' published split of heart keeps it as a smaller bag.
    folds : int
        Folds over whole bags; 1 judges on the training instances themselves, as in Figure 1.
    inner_folds : int
        Folds of the inner cross-validation over the bags of a training fold, which the paper does
        not state; with fewer bags than this, leave-one-bag-out.  The authors' published split of
        heart has five, one of them empty as there are four bags.
    tuning : "grid" or "none"
        Whether parameters are chosen over the printed grids, or the defaults of the estimators are
        taken.
    scaling : "set" or "fold"
        Whether attributes are scaled to [-1, 1] by what the whole set spans ("for each dataset",
        as printed) or by the training instances of each fit.
    error_weights : "bag" or "size"
        Weights of the bags in the validation error: equal, as printed, or their sizes, as in the
        authors' program.
    ties : "first" or "last"
        Which of several parameters with equal validation error is taken, in the order of the grid,
        smallest values first.  The paper does not say.
    """

    seed: int = _option(0, check_count, least=0)
    bags: str = _option(
        "random", check_choice, choices=("random", "equal", "own", "inside", "once")
    )
    leftover: str = _option("keep", check_choice, choices=("keep", "drop"))
    folds: int = _option(5, check_count)
    inner_folds: int = _option(5, check_count, least=2)
    tuning: str = _option("grid", check_choice, choices=("grid", "none"))
    scaling: str = _option("set", check_choice, choices=("set", "fold"))
    error_weights: str = _option("bag", check_choice, choices=("bag", "size"))
    ties: str = _option("first", check_choice, choices=("first", "last"))


@dataclass(frozen=True)
class MethodOptions(_Checked):
    """What the paper leaves open about the methods themselves.

    A grid of a single value may be given as that value.

    Attributes
    ----------
    gaussian : "rbf" or "exponential"
        The kernel of Table 4, which is not written out: exp(-gamma d^2) as everywhere, or
        exp(-gamma d), the authors' program.  The SVM with labels always takes the former.
    gammas : tuple of float
        Its grid.
    likelihoods : tuple of str
        The grid of what lambda stands beside in MeanMap: the ``"mean"`` of the negative
        log-likelihood or the ``"sum"``, which the paper does not say.  The sum is nearer to its
        tables up to bags of 16, the mean at larger ones.
    MeanMap_bias : bool
        Whether the model of MeanMap has a bias.  The paper does not speak of one; the authors'
        program has one, and without it Table 2 is no nearer.
    epsilons : tuple of float
        The grid of epsilon, of InvCal and of conv-pSVM.
    InvCal_C_p : tuple of float
        The grid of C_p of InvCal, as printed.
    restarts : int
        Random starts of alter-pSVM, of which the smallest objective wins; 10 as printed.
    annealing : bool
        Whether C* rises from 1e-5 C (Algorithm 1) or is C at once.
    C_p_times : "bag" or "size"
        Whether C_p weighs every bag alike, as printed, or times its size (the authors' program).
    alternating_tol : float
        A loop of Algorithm 1 stops when the objective falls by less, in units of C: 1e-4 as
        printed.
    intercepts : tuple of str
        The grid of what stands in for the bias in conv-pSVM: ``"center"``, ``"constant"`` or
        ``"none"``.  The paper names the first two and not which it took.  On heart centring is far
        better at large bags, on satimage the constant feature is, and bag error finds out which.
    cuts : tuple of int
        The grid of the largest number of cutting planes of conv-pSVM.  Printed is "until the
        decrease is small", and many cuts classify worse; dna needs two where heart needs one.
    cuts_tol : float
        conv-pSVM stops when its objective falls by less, in units of C: 1e-4 as printed.
    oracle : str
        Of conv-pSVM: ``"coordinate"`` looks along eigen-dimensions, for the linear kernel too, so
        that the answer does not depend on the axes; ``"coordinate_features"`` along the features.
    scaled_epsilon : bool
        Whether InvCal divides epsilon by p (1 - p), as the authors' program does and the paper
        does not.
    """

    gaussian: str = _option("rbf", check_choice, choices=("rbf", "exponential"))
    gammas: tuple[float, ...] = _option((0.01, 0.1, 1.0), check_number, above=0.0)
    likelihoods: tuple[str, ...] = _option(("mean", "sum"), check_choice, choices=("mean", "sum"))
    MeanMap_bias: bool = _option(True, check_flag)
    epsilons: tuple[float, ...] = _option((0.0, 0.01, 0.1), check_number, least=0.0)
    InvCal_C_p: tuple[float, ...] = _option((0.1, 1.0, 10.0), check_number, above=0.0)
    restarts: int = _option(10, check_count)
    annealing: bool = _option(True, check_flag)
    C_p_times: str = _option("bag", check_choice, choices=("bag", "size"))
    alternating_tol: float = _option(1e-4, check_number, least=0.0)
    intercepts: tuple[str, ...] = _option(
        ("center", "constant"), check_choice, choices=("center", "constant", "none")
    )
    cuts: tuple[int, ...] = _option((1, 2), check_count)
    cuts_tol: float = _option(1e-4, check_number, least=0.0)
    oracle: str = _option("coordinate", check_choice, choices=("coordinate", "coordinate_features"))
    scaled_epsilon: bool = _option(False, check_flag)


@dataclass(frozen=True)
class Protocol(MethodOptions, Design):
    """The protocol of Section 6.2: the options of its design and those of the methods."""

    def with_options(self, **options: Any) -> Protocol:
        """The protocol with other values of some options.

        Raises
        ------
        InputError
            If there is no such option, or it does not take that value.

        Examples
        --------
        >>> Protocol().with_options(ties="last", cuts=10).cuts
        (10,)
        """
        for name in options:
            check_choice("option", name, OPTIONS)
        return replace(self, **options)


OPTIONS = tuple(option.name for option in fields(Protocol))
"""Names of the options."""

PRESETS: Mapping[str, Protocol] = {
    "paper": Protocol(),
    "authors-program": Protocol().with_options(
        error_weights="size",
        gaussian="exponential",
        restarts=20,
        C_p_times="size",
        alternating_tol=0.01,
        intercepts="none",
        cuts=10,
        cuts_tol=0.01,
        scaled_epsilon=True,
    ),
}
"""Protocols by name.

``"authors-program"`` differs from what they released in where annealing starts (1e-4 C there), in
the balanced random labelings, and in tolerances, which there are absolute for alter-pSVM and
relative to the objective for conv-pSVM.
"""
