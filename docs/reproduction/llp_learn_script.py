"""Fits a method of llp-learn: run by the Python that has it, which does not have propcvx.

Bags come through the standard input as a file of numpy; the normal vector of the hyperplane and its
intercept go out as JSON.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys

import numpy as np


def main(name: str, C: float, C_p: float, random_state: int | None) -> None:
    """Fit the method to the bags in the standard input."""
    from llp_learn.alter import alterSVM
    from llp_learn.em import EM
    from sklearn.linear_model import LogisticRegression

    if name == "alterSVM":
        method = alterSVM(C=C, C_p=C_p, random_state=random_state)
    else:
        method = EM(LogisticRegression(C=C), random_state=random_state)
    bags = np.load(io.BytesIO(sys.stdin.buffer.read()))
    with contextlib.redirect_stdout(sys.stderr):
        method.fit(bags["X"], bags["bags"], bags["proportions"])
    model = method.model
    print(json.dumps([model.coef_.ravel().tolist(), float(model.intercept_[0])]))


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
