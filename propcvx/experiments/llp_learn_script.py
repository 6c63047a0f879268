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
from llp_learn.alter import alterSVM
from llp_learn.em import EM
from sklearn.linear_model import LogisticRegression


def _em(C: float, random_state: int) -> Any:
    return EM(LogisticRegression(C=C), random_state=random_state)


METHODS = {"alterSVM": alterSVM, "EM": _em}

if __name__ == "__main__":
    bags = np.load(io.BytesIO(sys.stdin.buffer.read()))
    method = METHODS[sys.argv[1]](**json.loads(sys.argv[2]))
    with contextlib.redirect_stdout(sys.stderr):
        method.fit(bags["X"], bags["bags"], bags["proportions"])
    coef, intercept = method.model.coef_.ravel(), method.model.intercept_
    print(json.dumps({"coef": coef.tolist(), "intercept": float(intercept[0])}))
