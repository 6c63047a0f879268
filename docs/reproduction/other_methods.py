"""Methods that are not the paper's: ecological regression, averages, and those of llp-learn.

llp-learn needs older versions of numpy and scikit-learn than this package, so another Python runs
``llp_learn_script.py`` for each fit.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, compress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression

from propcvx.arrays import Array, Mask
from propcvx.bags.bags import Bags
from propcvx.errors import InputError, PropCVXError
from propcvx.estimators import ConvPropSVM, InvCal
from reproduction.evaluation import (
    Method,
    Sample,
    fit_each,
    held_out_errors,
    inner_splits,
    unit_of_scores,
)

PYTHON = "PROPCVX_LLP_LEARN"
"""Environment variable with the Python that llp-learn is installed for."""

VERSION = "1.6.0"
"""The version of llp-learn that results are of."""

INSTALL = (
    f"python3.11 -m venv DIR && DIR/bin/pip install llp-learn=={VERSION} (4 GB, with PyTorch), "
    f"and {PYTHON}=DIR/bin/python"
)


class _SignClassifier(ClassifierMixin, BaseEstimator):
    """Labels are signs of a decision function."""

    classes_ = np.array([-1, 1])

    def predict(self: Any, X: Any) -> NDArray[Any]:
        """Labels -1, +1."""
        return np.where(self.decision_function(X) > 0.0, 1, -1)


@dataclass(eq=False, repr=False)
class GoodmanRegression(_SignClassifier):
    r"""Ecological regression (Goodman 1953): least squares of proportions on bag means.

    With :math:`m_k` the mean and :math:`n_k` the size of bag k, :math:`\min_{w, b} \sum_k n_k
    (w'm_k + b - p_k)^2`, of several solutions the one of least norm of w.  If the probability of
    +1 is the same linear function of an instance in all bags, that is it; an instance is positive
    where it is above one half.

    Attributes
    ----------
    model_ : LinearRegression
        The regression, fitted.
    classes_ : array of shape (2,)
        Labels -1, 1.
    """

    def fit(self, X: Array, y: NDArray[np.void]) -> GoodmanRegression:
        """Fit to bags with known proportions.

        Parameters
        ----------
        X : array of shape (n_instances, n_features)
        y : bag target of shape (n_instances,)
            Made by :func:`propcvx.bag_target`.
        """
        bags = Bags.from_target(y)
        means = bags.means_of(X)
        self.model_ = LinearRegression().fit(means, bags.proportions, sample_weight=bags.sizes)
        return self

    def decision_function(self, X: Any) -> Array:
        """Estimated probability of +1, less one half."""
        return self.model_.predict(X) - 0.5


class _Average(_SignClassifier):
    """The average of the decision functions of ``models_``, each in its own unit."""

    def decision_function(self: Any, X: Any) -> Array:
        """The average of each instance; positive means +1."""
        scores = np.array([model.decision_function(X) for model in self.models_])
        return np.average(scores.T / self.units_, axis=1, weights=self.weights_)


@dataclass(eq=False, repr=False)
class ConvAndInvCal(_Average):
    """The recipe for large bags: the average of conv-pSVM with C = 1 and of InvCal as by default.

    Parameters
    ----------
    kernel : str

    Attributes
    ----------
    models_, units_
        The two methods, fitted, and the root mean squares of their decision values on the training
        instances, which each decision function is divided by.
    weights_ : None
        They weigh alike.
    classes_ : array of shape (2,)
    """

    kernel: str = "linear"

    def fit(self, X: Array, y: NDArray[np.void]) -> ConvAndInvCal:
        """Fit both.

        Parameters
        ----------
        X : array of shape (n_instances, n_features)
        y : bag target of shape (n_instances,)
        """
        methods = ConvPropSVM(1.0, kernel=self.kernel), InvCal(kernel=self.kernel, solver_tol=1e-6)
        self.models_ = [method.fit(X, y) for method in methods]
        self.units_ = [unit_of_scores(model.decision_function(X)) for model in self.models_]
        self.weights_ = None
        return self


@dataclass(eq=False, repr=False)
class AveragedMethods(_Average):
    """The average of the decision functions of several methods with many parameters.

    With few bags, combinations of parameters have almost the same error on held-out bags, and
    chance decides which error is smallest.  So none is chosen: all are kept that are not worse than
    the best by more than a standard error, and averaged, over the parameters of each method first,
    then over the methods.

    Parameters
    ----------
    methods : sequence of Method
        Each with its grid.
    n_splits : int
        Folds of the cross-validation over whole bags; with fewer bags, leave-one-bag-out.
    random_state : int, RandomState or None
        Deals the bags into folds.

    Attributes
    ----------
    errors_ : array of shape (n_combinations, n_bags)
        Errors of all combinations on held-out bags, those of the first method first, each in the
        order of its grid.
    kept_ : array of shape (n_combinations,)
        Which of them are averaged.
    models_ : list of Pipeline
        Those, fitted.
    units_ : list of float
        Root mean squares of their decision values on the training instances, which each decision
        function is divided by.
    weights_ : array of shape (n_models,)
        Their weights in the average: those of one method have the same sum as those of any other.
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
        sample = Sample(X, y, y["label"])
        splits = inner_splits(self.methods[0], sample, self.n_splits, self.random_state)
        errors = [np.hstack([*held_out_errors(m, sample, splits)]) for m in self.methods]
        self.errors_ = np.vstack(errors)
        self.kept_ = not_worse(self.errors_)
        fitted = chain.from_iterable(fit_each(method, X, y) for method in self.methods)
        self.models_ = list(compress(fitted, self.kept_))
        of_method = np.repeat(range(len(errors)), [len(rows) for rows in errors])[self.kept_]
        self.weights_ = 1.0 / np.bincount(of_method)[of_method]
        self.units_ = [unit_of_scores(model.decision_function(X)) for model in self.models_]
        return self


def not_worse(errors: Array) -> Mask:
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


class LLPLearnError(PropCVXError, RuntimeError):
    """llp-learn could not fit; the message has the last line of its output."""


def require_llp_learn() -> None:
    """Raise :class:`InputError` where llp-learn is not installed."""
    ask = "from importlib.metadata import version; print(version('llp-learn'))"
    try:
        answer = subprocess.run([_python(), "-I", "-c", ask], capture_output=True, text=True)
    except OSError as failure:
        raise InputError(f"{PYTHON} must name a Python, {failure}; {INSTALL}.") from failure
    if answer.stdout.strip() != VERSION:
        has = f"llp-learn {answer.stdout.strip()}" if answer.stdout else "no llp-learn"
        raise InputError(
            f"{PYTHON} must have llp-learn {VERSION}, {_python()} has {has}; {INSTALL}."
        )


@dataclass(eq=False, repr=False)
class LLPLearn(_SignClassifier):
    """A hyperplane that llp-learn finds.

    Parameters
    ----------
    name : "alterSVM" or "EM"
        ``llp_learn.alter.alterSVM``: alter-pSVM with the linear kernel, 10 random starts; or
        ``llp_learn.em.EM`` with logistic regression, which has no ``C_p``.
    C, C_p : float
    random_state : int or None

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    classes_ : array of shape (2,)
        Labels -1, 1.
    """

    name: str
    C: float = 1.0
    C_p: float = 1.0
    random_state: int | None = None

    def fit(self, X: Array, y: NDArray[np.void]) -> LLPLearn:
        """Fit to bags with known proportions.

        Parameters
        ----------
        X : array of shape (n_instances, n_features)
        y : bag target of shape (n_instances,)
            Made by :func:`propcvx.bag_target`.

        Raises
        ------
        InputError
            If the environment variable ``PROPCVX_LLP_LEARN`` is not set.
        LLPLearnError
            If the fit fails there.
        """
        [(coef, intercept)] = fit_llp_learn(self.get_params(), X, Bags.from_target(y))
        self.coef_, self.intercept_ = coef.ravel(), float(intercept[0])
        return self

    def decision_function(self, X: Any) -> Array:
        """Signed score of each instance."""
        return X @ self.coef_ + self.intercept_


def fit_llp_learn(
    parameters: dict[str, Any], X: NDArray[Any], bags: Bags
) -> list[tuple[Array, Array]]:
    """Fit a method of llp-learn.  The result is the layers of a network; a hyperplane is one layer.

    Parameters
    ----------
    parameters : dict
        Those of :class:`LLPLearn`; or for the multilayer perceptrons, of three or more classes,
        ``name``, ``options`` and ``random_state``.
    X : array of shape (n_instances, n_features)
    bags : Bags

    Returns
    -------
    list of (array of shape (n_outputs, n_inputs), array of shape (n_outputs,))
        Weights and biases; all but the last layer are followed by a rectifier.
    """
    data = io.BytesIO()
    np.savez(data, X=X, bags=bags.index, proportions=bags.proportions)
    script = Path(__file__).with_name("llp_learn_script.py")
    words = [_python(), "-I", str(script), json.dumps(parameters)]
    done = subprocess.run(words, input=data.getvalue(), capture_output=True)
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        raise LLPLearnError(f"llp-learn {parameters}: {lines[-1]}")
    return [(np.array(weights), np.array(biases)) for weights, biases in json.loads(done.stdout)]


def _python() -> str:
    python = os.environ.get(PYTHON)
    if not python:
        raise InputError(f"llp-learn needs an environment of its own: {INSTALL}.")
    return python
