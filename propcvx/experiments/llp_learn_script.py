"""Fits a method of llp-learn: run by the Python that has it, which does not have propcvx.

Bags come through the standard input as a file of numpy, the hyperplane goes out as JSON.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from typing import Any

import numpy as np


def method_of(name: str, parameters: dict[str, Any]) -> Any:
    """A method by name: ``"alterSVM"``, or ``"EM"`` with logistic regression."""
    from llp_learn.alter import alterSVM
    from llp_learn.em import EM
    from sklearn.linear_model import LogisticRegression

    if name == "alterSVM":
        return alterSVM(**parameters)
    return EM(LogisticRegression(C=parameters["C"]), random_state=parameters["random_state"])


def main(name: str, parameters: str) -> None:
    """Fit it to the bags in the standard input."""
    bags = np.load(io.BytesIO(sys.stdin.buffer.read()))
    method = method_of(name, json.loads(parameters))
    with contextlib.redirect_stdout(sys.stderr):
        method.fit(bags["X"], bags["bags"], bags["proportions"])
    coef, intercept = method.model.coef_.ravel(), method.model.intercept_
    print(json.dumps({"coef": coef.tolist(), "intercept": float(intercept[0])}))


if __name__ == "__main__":
    main(*sys.argv[1:])
