"""Methods that are not the paper's: ecological regression, and those of llp-learn.

llp-learn needs older versions of numpy and scikit-learn than this package, so another Python runs
``llp_learn_script.py`` for each fit.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression

from propcvx.arrays import Array
from propcvx.bags.bags import Bags
from propcvx.errors import InputError, PropCVXError

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
        parameters, bags, data = self.get_params(), Bags.from_target(y), io.BytesIO()
        np.savez(data, X=X, bags=bags.index, proportions=bags.proportions)
        script = Path(__file__).with_name("llp_learn_script.py")
        words = [_python(), "-I", str(script), json.dumps(parameters)]
        done = subprocess.run(words, input=data.getvalue(), capture_output=True)
        if done.returncode:
            lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
            raise LLPLearnError(f"llp-learn {parameters}: {lines[-1]}")
        coef, self.intercept_ = json.loads(done.stdout)
        self.coef_ = np.array(coef)
        return self

    def decision_function(self, X: Any) -> Array:
        """Signed score of each instance."""
        return X @ self.coef_ + self.intercept_


def _python() -> str:
    python = os.environ.get(PYTHON)
    if not python:
        raise InputError(f"llp-learn needs an environment of its own: {INSTALL}.")
    return python
