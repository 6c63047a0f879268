"""Fits a method of llp-learn: run by the Python that has it, which does not have propcvx.

Bags come through the standard input as a file of numpy; the layers of the classifier, a matrix and
a vector each, go out as JSON.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from importlib import import_module
from typing import Any

import numpy as np


def main(parameters: dict[str, Any]) -> None:
    """Fit the method with those parameters to the bags in the standard input.

    They are those that ``fit_llp_learn`` is given: with ``options`` for several classes.
    """
    bags = np.load(io.BytesIO(sys.stdin.buffer.read()))
    method = (_network if "options" in parameters else _hyperplane)(**parameters)
    with contextlib.redirect_stdout(sys.stderr):
        method.fit(bags["X"], bags["bags"], bags["proportions"])
    parts = ("weight", "bias") if "options" in parameters else ("coef_", "intercept_")
    inner = getattr(method.model, "layers", [method.model])
    layers = [layer for layer in inner if hasattr(layer, parts[0])]
    print(json.dumps([[getattr(layer, part).tolist() for part in parts] for layer in layers]))


def _hyperplane(name: str, C: float, C_p: float, random_state: int | None) -> Any:
    from llp_learn.alter import alterSVM
    from llp_learn.em import EM
    from sklearn.linear_model import LogisticRegression

    if name == "alterSVM":
        return alterSVM(C=C, C_p=C_p, random_state=random_state)
    return EM(LogisticRegression(C=C), random_state=random_state)


def _network(name: str, options: dict[str, Any], random_state: int) -> Any:
    make = getattr(import_module(f"llp_learn.{name.lower()}"), name)
    return make(**options, model_type="simple-mlp", n_jobs=0, random_state=random_state)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
