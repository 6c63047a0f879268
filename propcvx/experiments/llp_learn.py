"""Methods of the package llp-learn, run in an environment of their own.

It needs older versions of numpy and scikit-learn than this package, so a fit is a call of another
Python, which runs ``llp_learn_script.py``.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from propcvx.bags import Bags
from propcvx.errors import InputError, PropCVXError

PYTHON = "PROPCVX_LLP_LEARN"
"""Environment variable with the Python that llp-learn is installed for."""

VERSION = "1.6.0"
"""The version of llp-learn that results are of."""

HOW = (
    f"python3.11 -m venv DIR && DIR/bin/pip install llp-learn=={VERSION} (4 GB, with PyTorch), "
    f"and {PYTHON}=DIR/bin/python"
)


class LLPLearnError(PropCVXError, RuntimeError):
    """llp-learn could not fit; the message has the last line that it wrote."""


def require_llp_learn() -> None:
    """Raise :class:`InputError` where llp-learn is not to be had."""
    ask = "from importlib.metadata import version; print(version('llp-learn'))"
    try:
        found = subprocess.run([_python(), "-I", "-c", ask], capture_output=True, text=True)
    except OSError as failure:
        raise InputError(f"{PYTHON} must name a Python, {failure}; {HOW}.") from failure
    if found.stdout.strip() != VERSION:
        has = f"llp-learn {found.stdout.strip()}" if found.stdout else "no llp-learn"
        raise InputError(f"{PYTHON} must have llp-learn {VERSION}, {_python()} has {has}; {HOW}.")


@dataclass(eq=False, repr=False)
class LLPLearnClassifier(ClassifierMixin, BaseEstimator):
    """Base of both: a hyperplane that llp-learn finds.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    classes_ : array of shape (2,)
        Labels -1, 1.
    """

    _: KW_ONLY
    C: float = 1.0
    random_state: int | None = None

    name: ClassVar[str]
    """Of the method, as ``llp_learn_script.py`` has it."""

    def fit(self, X: NDArray[np.float64], y: NDArray[np.void]) -> LLPLearnClassifier:
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
        bags, data = Bags.from_target(y), io.BytesIO()
        np.savez(data, X=X, bags=bags.index, proportions=bags.proportions)
        script = Path(__file__).with_name("llp_learn_script.py")
        words = [_python(), "-I", str(script), self.name, json.dumps(self.get_params())]
        done = subprocess.run(words, input=data.getvalue(), capture_output=True)
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines() or ["nothing"]
            raise LLPLearnError(f"llp-learn {self.name} {self.get_params()}: {said[-1]}")
        found = json.loads(done.stdout)
        self.coef_, self.intercept_ = np.array(found["coef"]), float(found["intercept"])
        self.classes_ = np.array([-1, 1])
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Signed score of each instance."""
        return X @ self.coef_ + self.intercept_

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels -1, +1."""
        return np.where(self.decision_function(X) > 0.0, 1, -1)


@dataclass(eq=False, repr=False)
class LLPLearnAlterSVM(LLPLearnClassifier):
    """``llp_learn.alter.alterSVM``: alter-pSVM with the linear kernel, 10 random starts."""

    C_p: float = 1.0
    name = "alterSVM"


@dataclass(eq=False, repr=False)
class LLPLearnEM(LLPLearnClassifier):
    """``llp_learn.em.EM`` with logistic regression."""

    name = "EM"


def _python() -> str:
    if PYTHON not in os.environ:
        raise InputError(f"llp-learn needs an environment of its own: {HOW}.")
    return os.environ[PYTHON]
