"""The programs of the package by name, built from a given number of instances in bags."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.preprocessing import minmax_scale

from propcvx import programs as p
from propcvx.arrays import Array
from propcvx.bags.bags import Bags
from propcvx.datasets import BaggedData, random_bags
from propcvx.estimators.second_moments import pooled_covariances
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.labelings.losses import HINGE, PROPORTION_LOSSES

CUTS = 8
"""Number of labelings in a program over a subset of the labelings."""


def sample_in_bags(n_instances: int, bag_size: int, seed: int) -> BaggedData:
    """Two Gaussian classes that overlap, in five features, in random bags."""
    centers = np.outer([-1.0, 1.0], np.full(5, 0.5))
    X, index = make_blobs(n_instances, centers=centers, random_state=seed)
    X, labels = minmax_scale(X, (-1, 1)), np.where(index > 0, 1.0, -1.0)
    return BaggedData.from_labels(X, labels, random_bags(labels, bag_size, seed))


class Parts:
    """What programs are built from.

    Attributes
    ----------
    features : array of shape (N, d)
    labels : array of shape (N,)
    bags : Bags
    C : float
    scores : array of shape (N,)
        Scores of the instances: their first feature.
    bag_means : array of shape (K, d)
    feasible : FeasibleLabelings
        Labelings with the bags' proportions.
    constrained : tuple
        Arguments of the programs over the feasible labelings: features, labelings and C.
    labelings : array of shape (CUTS, N)
        The best feasible labelings along random directions, as cuts of the restricted master.
    weights : array of shape (K,)
        Weights of the bags' proportion losses.
    box, inv_cal, losses, counts : dict
        Parameters of the SVM dual, of InvCal, of the labeling step, and of the same with counts.
    """

    def __init__(self, sample: BaggedData, C: float) -> None:
        axes = np.random.RandomState(0).normal(size=(sample.X.shape[1], CUTS))
        self.features, self.labels, self.C = sample.X, sample.labels.astype(float), C
        self.scores = self.features[:, 0]
        self.bags = Bags.from_target(sample.y)
        self.bag_means = self.bags.means_of(self.features)
        self.feasible = FeasibleLabelings.from_bags(self.bags, 0.0)
        self.constrained = (self.features, self.feasible, C)
        self.labelings = np.ascontiguousarray(self.feasible.best(self.features @ axes).T)
        self.weights = np.full(self.bags.n_bags, 10.0 * C)
        self.box = p.svm_dual_parameters(self.labels, C)
        targets = p.inv_cal_targets(self.bags.proportions, len(self.labels), 0.1, scaled=False)
        self.inv_cal = {"C_p": C, **targets}
        self.losses = {
            "loss_positive": HINGE.evaluate(1.0, self.scores),
            "loss_negative": HINGE.evaluate(-1.0, self.scores),
            "weights": self.weights,
        }
        marginal = [np.diff(costs) for costs in ABSOLUTE.costs(self.bags, self.weights)]
        costs = np.concatenate(marginal)
        self.counts: dict[str, Array] = {"gains": HINGE.reduction(self.scores), "costs": costs}


def _model(parts: Parts) -> p.Program:
    mean = parts.labels @ parts.features / len(parts.labels)
    return p.conditional_exponential_model(parts.features).set(
        mean_operator=mean, mean_label=parts.labels.mean(), lam=0.1
    )


def _constrained_psvm(parts: Parts, *, integer: bool) -> p.Program:
    value = parts.C * len(parts.labels)
    return p.constrained_psvm(*parts.constrained, value=value, integer=integer)


def _of_bags(parts: Parts) -> tuple[list[Array], list[Array], list[Array]]:
    """Features, some labelings and their costs, of each bag."""
    inside = [parts.bags.index == bag for bag in range(parts.bags.n_bags)]
    labelings = [np.unique(parts.labelings[:, rows], axis=0) for rows in inside]
    costs = [np.zeros(len(some)) for some in labelings]
    return [parts.features[rows] for rows in inside], labelings, costs


def _group_count(parts: Parts) -> p.Program:
    """The program for the instances with a positive score.

    Within a bag, these instances are alike, and so are all others.
    """
    bags, group = parts.bags, parts.scores > 0
    sizes = [np.bincount(bags.index[some], minlength=bags.n_bags) for some in (group, ~group)]
    counts = [sp.csr_array(sp.eye_array(bags.n_bags))] * 2
    most, zeros = np.concatenate(sizes), np.zeros(2 * bags.n_bags, dtype=np.intp)
    ranges = parts.feasible.lower, parts.feasible.upper
    program = p.group_count(sp.csr_array(sp.hstack(counts)), zeros, most, *ranges)
    return program.set(inside=np.arange(len(most)) < bags.n_bags)


ABSOLUTE, SQUARED = (PROPORTION_LOSSES[name] for name in ("absolute", "squared"))

PROGRAMS: Mapping[str, Callable[[Parts], p.Program]] = MappingProxyType(
    {
        "svm_primal": lambda d: p.svm_primal(d.features).set(y=d.labels, C=d.C),
        "margin_classifier": lambda d: p.margin_classifier(d.features, HINGE).set(
            y=d.labels, C=d.C
        ),
        "svm_dual": lambda d: p.svm_dual(d.features).set(**d.box),
        "svm_dual_without_bias": lambda d: p.svm_dual(d.features, bias=False).set(**d.box),
        "inv_cal_primal": lambda d: p.inv_cal_primal(d.bag_means).set(**d.inv_cal),
        "inv_cal_dual": lambda d: p.inv_cal_dual(d.bag_means).set(**d.inv_cal),
        "ecological_regression": lambda d: p.ecological_regression(d.bag_means, d.bags.sizes).set(
            p=d.bags.proportions, lam=1.0
        ),
        "second_moments": lambda d: p.second_moments(*pooled_covariances(d.features, d.bags)),
        "class_means": lambda d: p.class_means(d.bag_means, d.bags.proportions, d.weights),
        "conditional_exponential_model": _model,
        "soft_logistic_regression": lambda d: p.soft_logistic_regression(
            d.features, np.ones(len(d.labels))
        ).set(t=(1.0 + d.labels) / 2.0, lam=0.1),
        "mkl_epigraph": lambda d: p.mkl_epigraph(d.features, d.labelings, d.C),
        "mkl_group": lambda d: p.mkl_group(d.features, d.labelings, d.C),
        "mkl_group_one_cut": lambda d: p.mkl_group(d.features, d.labelings[:1], d.C),
        "mkl_inner": lambda d: p.mkl_inner(d.features, d.labelings, d.C).set(
            root_mu=np.full(CUTS, CUTS**-0.5)
        ),
        "labeling_step": lambda d: p.labeling_step(d.bags, ABSOLUTE).set(**d.losses),
        "labeling_step_squared_loss": lambda d: p.labeling_step(d.bags, SQUARED).set(**d.losses),
        "counted_labeling": lambda d: p.counted_labeling(d.feasible).set(**d.counts),
        "linear_separation": lambda d: p.linear_separation(d.feasible).set(scores=d.scores),
        "exact_separation": lambda d: p.exact_separation(
            d.features, np.full(len(d.labels), d.C), d.feasible
        ),
        "psvm": lambda d: p.psvm(d.features, d.bags, d.C, d.weights, ABSOLUTE),
        "constrained_psvm": lambda d: _constrained_psvm(d, integer=True),
        "constrained_psvm_soft_labels": lambda d: _constrained_psvm(d, integer=False),
        "lifted_svm": lambda d: p.lifted_svm(*d.constrained),
        "lifted_svm_dual": lambda d: p.lifted_svm_dual(*d.constrained),
        "lifted_quadratic": lambda d: p.lifted_quadratic(d.features @ d.features.T, d.feasible),
        "diffrac": lambda d: p.diffrac(*d.constrained),
        "bag_moments": lambda d: p.bag_moments(*_of_bags(d), d.C),
        "group_count": _group_count,
    }
)
"""Every program, and variants of some, by name."""


@dataclass(frozen=True)
class ProgramAt:
    """A program of some size on generated data, for tests and tables.

    Attributes
    ----------
    program : str
        A name in ``PROGRAMS``.
    instances : int
    bag_size : int
    """

    program: str
    instances: int
    bag_size: int = 8

    @property
    def parts(self) -> Parts:
        """The parts that it is built from, with C = 1."""
        return Parts(sample_in_bags(self.instances, self.bag_size, seed=0), C=1.0)

    def __call__(self) -> p.Program:
        """The program, fresh."""
        return PROGRAMS[self.program](self.parts)
