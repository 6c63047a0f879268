"""Several methods with many parameters, averaged unless held-out bags rule them out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from propcvx.bags import Bags
from propcvx.estimators import InvCal, MeanMap, MethodStart
from propcvx.experiments.evaluation import Method, bag_errors, fit_each, unit_of_scores
from propcvx.experiments.methods import printed_alter_psvm, printed_conv_psvm
from propcvx.model_selection import BagKFold

Array = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class AveragedMethods(ClassifierMixin, BaseEstimator):
    """The average of the decision functions of several methods with many parameters.

    With few bags, the errors of held-out bags hardly tell combinations of parameters apart, and the
    smallest error is the smallest by chance.  So none is chosen: all are kept that are not worse
    than the best by more than a standard error, and averaged, over the parameters of each method
    first, then over the methods.

    Parameters
    ----------
    methods : sequence of Method
        Each with its grid; the estimators are of :class:`propcvx.estimators.BagClassifier`.
    n_splits : int
        Folds of the cross-validation over whole bags; with fewer bags, leave-one-bag-out.
    random_state : int, RandomState or None
        Deals the bags into folds.

    Attributes
    ----------
    errors_ : list of array of shape (n_combinations, n_bags)
        For each method the errors of its combinations, in the order of its grid, on held-out bags.
    kept_ : list of array of shape (n_combinations,)
        Which of them are averaged.
    models_ : list of list of BagClassifier
        Those, fitted; a list for each method that has any.
    units_ : list of list of float
        Root mean squares of their decision values on the training instances, which each decision
        function is divided by.
    classes_ : array of shape (2,)
    """

    methods: Sequence[Method]
    n_splits: int = 5
    random_state: Any = None

    def fit(self, X: Array, y: NDArray[np.void]) -> AveragedMethods:
        """Find what is kept, and fit it.

        Parameters
        ----------
        X : array of shape (n_instances, n_features)
        y : bag target of shape (n_instances,)
        """
        self.errors_ = self._held_out_errors(X, y)
        ends = np.cumsum([len(errors) for errors in self.errors_])[:-1]
        self.kept_ = np.split(not_worse(np.concatenate(self.errors_)), ends)
        groups = [
            [model for model, keep in zip(fit_each(method, X, y), kept, strict=True) if keep]
            for method, kept in zip(self.methods, self.kept_, strict=True)
            if kept.any()
        ]
        self.models_ = groups
        self.units_ = [[unit_of_scores(m.decision_function(X)) for m in group] for group in groups]
        self.classes_ = np.array([-1, 1])
        return self

    def _held_out_errors(self, X: Array, y: NDArray[np.void]) -> list[Array]:
        n_splits = min(self.n_splits, Bags.from_target(y).n_bags)
        folds = list(BagKFold(n_splits, random_state=self.random_state).split(X, y))
        return [
            np.hstack([_errors(method, X, y, *fold) for fold in folds]) for method in self.methods
        ]

    def decision_function(self, X: Array) -> Array:
        """The average of each instance; positive means +1."""
        means = [
            np.mean([m.decision_function(X) / u for m, u in zip(*group, strict=True)], axis=0)
            for group in zip(self.models_, self.units_, strict=True)
        ]
        return np.asarray(np.mean(means, axis=0))

    def predict(self, X: Array) -> NDArray[Any]:
        """Labels -1 and +1."""
        return self.classes_[(self.decision_function(X) > 0.0).astype(int)]


def averaged_methods(random_state: int | None = None) -> AveragedMethods:
    """The methods of the paper, alter-pSVM from three kinds of start, with wide grids.

    Parameters
    ----------
    random_state : int or None
        Seeds the folds and the random labelings.
    """
    weights = (0.1, 1.0, 10.0)
    conv = printed_conv_psvm(intercept="center")
    from_random = printed_alter_psvm(n_init=3, random_state=random_state)
    from_inv_cal, from_conv = (
        printed_alter_psvm(init=MethodStart(method, annealing=False))
        for method in (InvCal(C_p=10.0), conv)
    )
    walks = {"C": weights, "C_p": (100.0,)}
    methods = [
        Method("MeanMap", MeanMap(), {"lam": weights}),
        Method("InvCal", InvCal(), {"C_p": (*weights, 100.0, 1000.0), "epsilon": (0.0, 0.1)}),
        Method("conv-pSVM", conv, {"C": weights}),
        Method("alter-pSVM from conv-pSVM", from_conv, walks),
        Method("alter-pSVM from InvCal", from_inv_cal, walks),
        Method("alter-pSVM from random labels", from_random, walks),
    ]
    return AveragedMethods(methods, random_state=random_state)


def not_worse(errors: Array) -> NDArray[np.bool_]:
    """Which rows have a mean above the smallest by no more than a standard error.

    The standard error is that of the difference to the row with the smallest mean, over the
    columns, which are the same bags in each row.

    Parameters
    ----------
    errors : array of shape (n_rows, n_bags)
        At least two bags.
    """
    excess = errors - errors[np.argmin(errors.mean(axis=1))]
    standard_errors = excess.std(axis=1, ddof=1) / np.sqrt(errors.shape[1])
    return np.asarray(excess.mean(axis=1) <= standard_errors + 1e-12)


def _errors(method: Method, X: Array, y: NDArray[np.void], inside: Any, outside: Any) -> Array:
    """Bag errors of every combination, fitted to one part of the bags, on the other."""
    models = fit_each(method, X[inside], y[inside])
    return np.array([bag_errors(y[outside], model.predict(X[outside])) for model in models])
