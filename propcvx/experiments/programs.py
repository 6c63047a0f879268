"""Programs of the package by name, at any size and on any data; other ways to write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_blobs
from sklearn.preprocessing import minmax_scale

from propcvx import programs as p
from propcvx.bags import Bags
from propcvx.checks import check_count
from propcvx.datasets import load_real, random_bags
from propcvx.errors import InputError
from propcvx.experiments.evaluation import Sample
from propcvx.labelings import FeasibleLabelings
from propcvx.losses import PROPORTION_LOSSES
from propcvx.programs.labeling import gaps_of_proportions
from propcvx.programs.program import build
from propcvx.programs.psvm import big_constants

Array = NDArray[np.float64]

CUTS = 8
"""Labelings in the restricted masters."""


def sample_in_bags(name: str, n_instances: int, bag_size: int, seed: int) -> Sample:
    """Random instances of a data set, in random bags.

    Parameters
    ----------
    name : str
        Of a real set, as :func:`propcvx.datasets.load_real` takes it, or ``"generated"``, which
        needs no file: two Gaussian classes that overlap, in five features.
    n_instances : int
        How many instances are drawn.
    bag_size : int
    seed : int
        Of the instances and the bags.

    Raises
    ------
    InputError
        If there is no such set, its file is not there, or it has fewer instances.
    """
    if check_count("n_instances", n_instances) and name == "generated":
        centers = np.outer([-1.0, 1.0], np.full(5, 0.5))
        X, index = make_blobs(n_instances, centers=centers, random_state=seed)
        X, labels = minmax_scale(X, (-1, 1)), np.where(index > 0, 1.0, -1.0)
    else:
        try:
            X, labels = load_real(name, random_state=seed)
        except InputError as error:
            raise InputError(f"{str(error).rstrip('.')}; 'generated' needs no file.") from error
    if n_instances > len(X):
        raise InputError(f"n_instances must be at most {len(X)}, all of {name}, got {n_instances}.")
    drawn = np.sort(np.random.RandomState(seed).permutation(len(X))[:n_instances])
    bags = random_bags(labels[drawn], bag_size, random_state=seed)
    return Sample.in_bags(X[drawn], labels[drawn], bags)


@dataclass(frozen=True, eq=False)
class Parts:
    """What programs are built from.

    Attributes
    ----------
    features : array of shape (N, d)
    labels : array of shape (N,)
    bags : Bags
    C : float
    """

    features: Array
    labels: Array
    bags: Bags
    C: float

    @property
    def box(self) -> dict[str, Array]:
        """Parameters of the SVM dual."""
        return p.svm_dual_parameters(self.labels, self.C)

    @property
    def feasible(self) -> FeasibleLabelings:
        """Labelings with the bags' proportions."""
        return FeasibleLabelings.of(self.bags, 0.0)

    @property
    def labelings(self) -> Array:
        """Feasible labelings in random directions, as first cuts of the restricted master."""
        axes = np.random.RandomState(0).normal(size=(self.features.shape[1], CUTS))
        best: Array = np.ascontiguousarray(self.feasible.best(self.features @ axes).T)
        return best


def _svm_quadratic_form(parts: Parts) -> p.Program:
    """The dual by the Gram matrix in place of its factor."""
    v, gram = cp.Variable(len(parts.labels), name="v"), parts.features @ parts.features.T
    box, quadratic = parts.box, cp.quad_form(v, gram, assume_PSD=True)
    limits = {"lower": v >= box["lower"], "upper": v <= box["upper"], "balance": cp.sum(v) == 0}
    objective = cp.Maximize(parts.labels @ v - 0.5 * quadratic)
    return build("svm_dual, quadratic form", "eq:convex_2", objective, limits)


def _svm_bounds(parts: Parts) -> p.Program:
    """The dual with the box as bounds of the variable in place of constraints."""
    bounds = [parts.box["lower"], parts.box["upper"]]
    v = cp.Variable(len(parts.labels), name="v", bounds=bounds)
    objective = cp.Maximize(parts.labels @ v - 0.5 * cp.sum_squares(parts.features.T @ v))
    return build("svm_dual, variable bounds", "eq:convex_2", objective, {"balance": cp.sum(v) == 0})


def _inv_cal(function: Callable[[Array], p.Program], parts: Parts) -> p.Program:
    bags = parts.bags
    sums = np.zeros((bags.n_bags, parts.features.shape[1]))
    np.add.at(sums, bags.index, parts.features)
    targets = p.inv_cal_targets(bags.proportions, len(parts.labels), 0.1, scaled=False)
    return function(sums / bags.sizes[:, None]).set(C_p=parts.C, **targets)


def _mkl_constraint_per_cut(parts: Parts) -> p.Program:
    """The epigraph form with a constraint for each cut in place of one for all."""
    alpha, beta = cp.Variable(len(parts.labels), name="alpha"), cp.Variable(name="beta")
    cuts = {
        f"cut {t}": 0.5 * cp.sum_squares((parts.features * y[:, None]).T @ alpha) - cp.sum(alpha)
        <= beta
        for t, y in enumerate(parts.labelings)
    }
    box = {"lower": alpha >= 0, "upper": alpha <= parts.C}
    name = "mkl_epigraph, a constraint per cut"
    return build(name, "eq:convex_4", cp.Maximize(-beta), {**cuts, **box})


def _model(parts: Parts) -> p.Program:
    mean = (parts.features * parts.labels[:, None]).mean(axis=0)
    values = {"mean_operator": mean, "mean_label": parts.labels.mean(), "lam": 0.1}
    return p.conditional_exponential_model(parts.features).set(**values)


def _psvm(parts: Parts) -> p.Program:
    weights = np.full(parts.bags.n_bags, 10.0 * parts.C)
    loss = PROPORTION_LOSSES["absolute"]
    return p.psvm(parts.features, parts.bags, parts.C, weights, loss)


def _psvm_perspective(parts: Parts) -> p.Program:
    """The hinge of either label in perspective, in place of constants that switch one off.

    With the score f split into the part p that is for z = 1 and the part n that is for z = 0, the
    perspective of the hinge is z max(0, 1 - p / z) = max(0, z - p), and max(0, 1 - z + n) likewise.
    """
    original = _psvm(parts)
    z, w, b = (original.variables[name] for name in "zwb")
    weights = np.full(parts.bags.n_bags, 10.0 * parts.C)
    most = big_constants(parts.features, parts.C * len(parts.labels), bias=True) - 1.0
    p_, n_ = (cp.Variable(len(parts.labels), name=name) for name in "pn")
    losses = cp.pos(z - p_) + cp.pos(1 - z + n_)
    gaps = gaps_of_proportions(z, parts.bags)
    gap_losses = weights @ PROPORTION_LOSSES["absolute"].expression(gaps)
    return build(
        "psvm, perspective",
        "eq:pSVM_2",
        cp.Minimize(0.5 * cp.sum_squares(w) + parts.C * cp.sum(losses) + gap_losses),
        {
            "split": p_ + n_ == parts.features @ w + b,
            "positive": cp.abs(p_) <= cp.multiply(most, z),
            "negative": cp.abs(n_) <= cp.multiply(most, 1 - z),
        },
    )


@dataclass(frozen=True)
class Formulation:
    """A program as it is written here.

    Attributes
    ----------
    make : callable
    sizes : tuple of int
        Instances, from small to large, at which it is run unless others are asked for.
    same_as : str
        The program whose value this one has too, where it is another way to write that one.
    """

    make: Callable[[Parts], p.Program]
    sizes: tuple[int, ...]
    same_as: str = ""


CONES, FEW = (50, 100, 270, 500, 1000), (8, 16, 24)
QUADRATIC = (*CONES, 2000, 5000)

PROGRAMS: Mapping[str, Formulation] = MappingProxyType(
    {
        "svm_dual": Formulation(lambda d: p.svm_dual(d.features).set(**d.box), QUADRATIC),
        "svm_primal": Formulation(
            lambda d: p.svm_primal(d.features).set(y=d.labels, C=d.C), QUADRATIC, "svm_dual"
        ),
        "svm_dual_quadratic_form": Formulation(_svm_quadratic_form, QUADRATIC, "svm_dual"),
        "svm_dual_bounds": Formulation(_svm_bounds, QUADRATIC, "svm_dual"),
        "inv_cal_dual": Formulation(partial(_inv_cal, p.inv_cal_dual), QUADRATIC),
        "inv_cal_primal": Formulation(
            partial(_inv_cal, p.inv_cal_primal), QUADRATIC, "inv_cal_dual"
        ),
        "mkl_epigraph": Formulation(lambda d: p.mkl_epigraph(d.features, d.labelings, d.C), CONES),
        "mkl_constraint_per_cut": Formulation(_mkl_constraint_per_cut, CONES, "mkl_epigraph"),
        "mkl_group": Formulation(
            lambda d: p.mkl_group(d.features, d.labelings, d.C), CONES, "mkl_epigraph"
        ),
        "conditional_exponential_model": Formulation(_model, CONES),
        "lifted_svm_dual": Formulation(
            lambda d: p.lifted_svm_dual(d.features, d.feasible, d.C), (16, 24, 40, 56, 80)
        ),
        "linear_separation": Formulation(
            lambda d: p.linear_separation(d.feasible).set(scores=d.features[:, 0]), (50, 100, 270)
        ),
        "psvm": Formulation(_psvm, FEW),
        "psvm_perspective": Formulation(_psvm_perspective, FEW, "psvm"),
    }
)
"""Programs by name."""


@dataclass(frozen=True)
class ProgramAt:
    """A program at a size, on data: what ``build`` of :func:`compare_solvers` can be.

    Attributes
    ----------
    program : str
        A name in ``PROGRAMS``.
    instances : int
    data : str
        A real set by name, or ``"generated"``.
    C : float
    bag_size : int
    seed : int
        Of the instances and the bags.
    """

    program: str
    instances: int
    data: str = "generated"
    C: float = 1.0
    bag_size: int = 8
    seed: int = 0

    def __post_init__(self) -> None:
        if self.program not in PROGRAMS:
            raise InputError(f"program must be one of {list(PROGRAMS)}, got {self.program!r}.")

    def __call__(self) -> p.Program:
        """The program, fresh."""
        sample = sample_in_bags(self.data, self.instances, self.bag_size, self.seed)
        bags = Bags.from_target(sample.y)
        return PROGRAMS[self.program].make(Parts(sample.X, sample.labels, bags, self.C))
