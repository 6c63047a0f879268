"""Everything the experiments of Section 6 leave open or fix, as named options with defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from propcvx.checks import check_choice

CHOICES = {
    "bags": ("random", "equal", "own"),
    "tuning": ("grid", "none"),
    "error_weights": ("bag", "size"),
    "ties": ("first", "last"),
    "gaussian": ("rbf", "exponential"),
    "C_p_times": ("uniform", "size"),
}
"""Values of the options that have a few."""


@dataclass(frozen=True)
class Design:
    """How data become bags and folds, and how parameters are chosen: the same for every method.

    Attributes
    ----------
    bags : "random", "equal" or "own"
        Random bags (Section 6.2), of which the last is smaller where the bag size does not divide
        the number of instances, as in the authors' published split of heart; bags that all have
        the proportion of the whole (Section 7.1); those that the data come with.
    folds : int
        Folds over whole bags; 1 judges on the training instances themselves, as in Figure 1.
    inner_folds : int
        Folds of the inner cross-validation over the bags of a training fold, which the paper does
        not state; with fewer bags than this, leave-one-bag-out.  The authors' published split of
        heart has five, one of them empty as there are four bags.
    tuning : "grid" or "none"
        Whether parameters are chosen over the printed grids, or the defaults of the estimators are
        taken.
    error_weights : "bag" or "size"
        Weights of the bags in the validation error: equal, as printed, or their sizes, as in the
        authors' program.
    ties : "first" or "last"
        Which of several parameters with equal validation error is taken, in the order of the grid,
        smallest values first.  The paper does not say.
    """

    bags: str = "random"
    folds: int = 5
    inner_folds: int = 5
    tuning: str = "grid"
    error_weights: str = "bag"
    ties: str = "first"


@dataclass(frozen=True)
class MethodOptions:
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
    C_p_times : "uniform" or "size"
        Whether C_p weighs every bag alike, as printed, or times its size (the authors' program).
    alternating_tol : float
        A loop of Algorithm 1 stops when the objective falls by less, in units of C: 1e-4 as
        printed.
    intercepts : tuple of str
        The grid of what stands in for the bias in conv-pSVM: ``"center"``, ``"constant"`` or
        ``"none"``.  The paper names the first two and not which it took.  On heart centering is far
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

    gaussian: str = "rbf"
    gammas: tuple[float, ...] = (0.01, 0.1, 1.0)
    likelihoods: tuple[str, ...] = ("mean", "sum")
    MeanMap_bias: bool = True
    epsilons: tuple[float, ...] = (0.0, 0.01, 0.1)
    InvCal_C_p: tuple[float, ...] = (0.1, 1.0, 10.0)
    restarts: int = 10
    annealing: bool = True
    C_p_times: str = "uniform"
    alternating_tol: float = 1e-4
    intercepts: tuple[str, ...] = ("center", "constant")
    cuts: tuple[int, ...] = (1, 2)
    cuts_tol: float = 1e-4
    oracle: str = "coordinate"
    scaled_epsilon: bool = False


@dataclass(frozen=True)
class Protocol(MethodOptions, Design):
    """The protocol of Section 6.2: the options of its design and those of the methods."""

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        for option in fields(self):
            if isinstance(option.default, tuple):
                value, kind = getattr(self, option.name), type(option.default[0])
                values = value if isinstance(value, list | tuple) else [value]
                object.__setattr__(self, option.name, tuple(map(kind, values)))

    def with_options(self, **options: Any) -> Protocol:
        """The protocol with other values of some options.

        Raises
        ------
        InputError
            If there is no such option, or it is one of ``CHOICES`` and does not take that value.

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
