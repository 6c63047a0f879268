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


def main(parameters: dict[str, Any]) -> None:
    """Fit the method with those parameters of ``LLPLearn`` to the bags in the standard input."""
    from llp_learn.alter import alterSVM
    from llp_learn.em import EM
    from sklearn.linear_model import LogisticRegression

    bags = np.load(io.BytesIO(sys.stdin.buffer.read()))
    if parameters.pop("name") == "alterSVM":
        method = alterSVM(**parameters)
    else:
        inside = LogisticRegression(C=parameters["C"])
        method = EM(inside, random_state=parameters["random_state"])
    with contextlib.redirect_stdout(sys.stderr):
        method.fit(bags["X"], bags["bags"], bags["proportions"])
    coef, intercept = method.model.coef_.ravel(), method.model.intercept_
    print(json.dumps({"coef": coef.tolist(), "intercept": float(intercept[0])}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
