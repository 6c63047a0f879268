"""Everything the experiments of Section 6 leave open or fix, as named options with defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any

from propcvx.checks import check_choice, check_count, check_flag, check_number
from propcvx.errors import InputError


@dataclass(frozen=True)
class Design:
    """How data become bags and folds, and how parameters are chosen: the same for every method.

    Attributes
    ----------
    seed : int
        Seeds negatives, order of rows, bags, folds and random labelings of every repetition.
    bags : "random", "equal" or "own"
        Random bags (Section 6.2); bags that all have the proportion of the whole (Section 7.1);
        those that the data come with.
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

    seed: int = 0
    bags: str = "random"
    leftover: str = "keep"
    folds: int = 5
    inner_folds: int = 5
    tuning: str = "grid"
    scaling: str = "set"
    error_weights: str = "bag"
    ties: str = "first"

    def __post_init__(self) -> None:
        check_count("seed", self.seed, least=0)
        check_choice("bags", self.bags, ("random", "equal", "own"))
        check_choice("leftover", self.leftover, ("keep", "drop"))
        check_count("folds", self.folds)
        check_count("inner_folds", self.inner_folds, least=2)
        check_choice("tuning", self.tuning, ("grid", "none"))
        check_choice("scaling", self.scaling, ("set", "fold"))
        check_choice("error_weights", self.error_weights, ("bag", "size"))
        check_choice("ties", self.ties, ("first", "last"))


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

    gaussian: str = "rbf"
    gammas: tuple[float, ...] = (0.01, 0.1, 1.0)
    likelihoods: tuple[str, ...] = ("mean", "sum")
    MeanMap_bias: bool = True
    epsilons: tuple[float, ...] = (0.0, 0.01, 0.1)
    InvCal_C_p: tuple[float, ...] = (0.1, 1.0, 10.0)
    restarts: int = 10
    annealing: bool = True
    C_p_times: str = "bag"
    alternating_tol: float = 1e-4
    intercepts: tuple[str, ...] = ("center", "constant")
    cuts: tuple[int, ...] = (1, 2)
    cuts_tol: float = 1e-4
    oracle: str = "coordinate"
    scaled_epsilon: bool = False

    def __post_init__(self) -> None:
        for option in fields(self):
            if isinstance(option.default, tuple):
                value = getattr(self, option.name)
                values = tuple(value) if isinstance(value, list | tuple) else (value,)
                if not values:
                    raise InputError(f"{option.name} must have a value, got {value!r}.")
                object.__setattr__(self, option.name, values)
        for name, limits in (
            ("gammas", {"above": 0.0}),
            ("epsilons", {"least": 0.0}),
            ("InvCal_C_p", {"above": 0.0}),
        ):
            numbers = tuple(check_number(name, value, **limits) for value in getattr(self, name))
            object.__setattr__(self, name, numbers)
        check_choice("gaussian", self.gaussian, ("rbf", "exponential"))
        check_choice("C_p_times", self.C_p_times, ("bag", "size"))
        for likelihood in self.likelihoods:
            check_choice("likelihoods", likelihood, ("mean", "sum"))
        for intercept in self.intercepts:
            check_choice("intercepts", intercept, ("center", "constant", "none"))
        check_choice("oracle", self.oracle, ("coordinate", "coordinate_features"))
        check_count("restarts", self.restarts)
        for cuts in self.cuts:
            check_count("cuts", cuts)
        check_number("alternating_tol", self.alternating_tol, least=0.0)
        check_number("cuts_tol", self.cuts_tol, least=0.0)
        check_flag("MeanMap_bias", self.MeanMap_bias)
        check_flag("annealing", self.annealing)
        check_flag("scaled_epsilon", self.scaled_epsilon)


@dataclass(frozen=True)
class Protocol:
    """The protocol of Section 6.2.

    Attributes
    ----------
    design : Design
    methods : MethodOptions
    """

    design: Design = field(default_factory=Design)
    methods: MethodOptions = field(default_factory=MethodOptions)

    def with_options(self, **options: Any) -> Protocol:
        """The protocol with other values of some options, of the design or of the methods.

        Raises
        ------
        InputError
            If there is no such option, or its value will not do.

        Examples
        --------
        >>> Protocol().with_options(ties="last", cuts=10).methods.cuts
        (10,)
        """
        unknown = set(options) - set(OPTIONS)
        if unknown:
            raise InputError(f"options must be among {list(OPTIONS)}, got {sorted(unknown)}.")
        parts = {
            part: {name: value for name, value in options.items() if OPTIONS[name] == part}
            for part in ("design", "methods")
        }
        return Protocol(
            replace(self.design, **parts["design"]), replace(self.methods, **parts["methods"])
        )


OPTIONS: Mapping[str, str] = MappingProxyType(
    {option.name: "design" for option in fields(Design)}
    | {option.name: "methods" for option in fields(MethodOptions)}
)
"""Names of the options, and the part of the protocol that each belongs to."""

PRESETS: Mapping[str, Protocol] = MappingProxyType(
    {
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
)
"""Protocols by name.

``"authors-program"`` differs from what they released in where annealing starts (1e-4 C there), in
the balanced random labelings, and in tolerances, which there are absolute for alter-pSVM and
relative to the objective for conv-pSVM.
"""
