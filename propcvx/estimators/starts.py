"""Starts of Algorithm 1: random labelings, the labels of a method, or a labeling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.random import RandomState
from sklearn.base import clone

from propcvx.arrays import Array
from propcvx.bags.bags import Bags
from propcvx.checks import as_vector, check_choice
from propcvx.errors import IllPosedWarning, InputError, suppress_warnings
from propcvx.estimators.aggregate import AggregateLogisticRegression
from propcvx.estimators.base import BagClassifier
from propcvx.estimators.conv import ConvPropSVM
from propcvx.estimators.ecological import EcologicalRegression
from propcvx.estimators.means import InvCal, MeanMap
from propcvx.history import FitResult
from propcvx.labelings.feasible import FeasibleLabelings, random_labeling
from propcvx.svm.kernels import FeatureMap, Kernel

METHODS: Mapping[str, BagClassifier] = MappingProxyType(
    {
        "aggregate": AggregateLogisticRegression(),
        "ecological": EcologicalRegression(ridge=0.3),
        "mean_map": MeanMap(),
        "inv_cal": InvCal(),
        "conv": ConvPropSVM(epsilon="rounding"),
    }
)
"""Methods that can give a starting labeling, by name.

From ``"aggregate"`` alter-pSVM is more accurate than from ``"ecological"``, where a ridge by the
evidence changes nothing; see docs/results/counts.py.
"""

STARTS = ("auto", "mixed", "random", *METHODS)
"""Names that ``init`` may have."""


@dataclass(frozen=True, eq=False)
class Start:
    """A start of Algorithm 1.

    Attributes
    ----------
    init : "random", estimator or array of shape (n_instances,)
        A random labeling, as in the paper; the labels of a method, with the count nearest to the
        proportion in every bag, fitted with the kernel of the fit instead of its own; or a
        labeling, in which known labels take precedence.
    annealing : bool
        Whether C* rises from 1e-5 C (which tends to forget the start), or is C at once.
    results : list of FitResult
        The fit of the method, if it was fitted.
    """

    init: Any
    annealing: bool
    results: list[FitResult] = field(default_factory=list, repr=False)

    @property
    def is_method(self) -> bool:
        """Whether it is the labeling of a method."""
        return isinstance(self.init, BagClassifier)

    def labeling(self, features: Array, bags: Bags, random: RandomState) -> Array:
        """Return a labeling of the bags, entries -1 and +1, that agrees with the known labels."""
        if self.is_method:
            scores = self.fit(features, bags).scores(features)
            return FeasibleLabelings.nearest(bags).best(scores)
        if isinstance(self.init, str):
            return random_labeling(bags, random)
        return np.where(bags.labels == 0, self.init, bags.labels)

    def fit(self, features: Array, bags: Bags) -> FitResult:
        """Fit the method, once, and return the result."""
        if not self.results:
            with suppress_warnings(IllPosedWarning):  # the method only proposes
                self.results.append(clone(self.init)._run(FeatureMap(Kernel(), features), bags))
        return self.results[0]


def starts_of(init: Any, n_init: int, annealing: Any, bags: Bags, C: float) -> list[Start]:
    """Check ``init`` and return its starts."""
    anneal_random, anneal = (True, False) if annealing == "auto" else (annealing, annealing)
    several = isinstance(init, list | tuple) and not any(isinstance(entry, Real) for entry in init)
    starts: list[Start] = []
    for entry in init if several else [init]:
        if not isinstance(entry, str):
            source = entry if isinstance(entry, BagClassifier) else _checked(entry, bags)
            starts.append(Start(source, anneal))
        elif check_choice("init", entry, STARTS) in METHODS:
            starts.append(Start(METHODS[entry], anneal))
        elif entry == "auto" and _can_regress(bags):
            starts.append(Start(METHODS["aggregate"], anneal))
        else:
            starts += n_init * [Start("random", anneal_random)]
            if entry != "random" and not bags.labels.all():
                # few random labelings alone often end in the mirror image of a good labeling
                methods = ConvPropSVM(C, epsilon="rounding"), InvCal(C_p=C)
                starts += [Start(method, annealing=False) for method in methods]
    if not starts:
        raise InputError("init must name at least one start; got an empty sequence.")
    return starts


def _checked(labels: Any, bags: Bags) -> Array:
    """Check a labeling that is passed as a start."""
    labeling = as_vector(labels, bags.n_instances)
    if labeling is None or len(bags.class_names) > 2 or not np.isin(labeling, (-1.0, 1.0)).all():
        raise InputError(
            f"init must be one of {list(STARTS)}, several of them, an estimator of propcvx, or, "
            f"with two classes, a labeling of -1 and +1 for the {bags.n_instances} instances; got "
            f"{labels!r:.200}."
        )
    return labeling


def _can_regress(bags: Bags) -> bool:
    """Return whether a regression is possible: three bags, or labels alone, that differ.

    With two bags, every line between their means fits.
    """
    training_bags, _ = bags.isolate_known_labels().select_with_proportion()
    has_few = 0 < np.count_nonzero(bags.has_proportion) < 3
    return not has_few and bool(np.ptp(training_bags.proportions) > 0.0)
