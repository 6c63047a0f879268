"""A method that answers differently from before has a higher version: its stored results are old.

``python tests/reproduction/test_versions.py`` writes ``method_answers.csv`` beside it anew.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from reproduction import Cell, Protocol
from reproduction.methods import LLP_LEARN, METHODS
from reproduction.tasks import task_of

FILE = Path(__file__).with_name("method_answers.csv")
SMALL = Protocol().with_options(tuning="none", restarts=2)
PLACES = [
    (method, kernel)
    for method in METHODS
    if method not in LLP_LEARN  # installed elsewhere
    for kernel in METHODS[method].kernels
]


def answer(method, kernel):
    """Decision values on the test part of a fixed cell, in units of their root mean square."""
    cell = Cell("blobs", kernel, 12, method, 0, 0, SMALL)
    task, method = task_of(cell), cell.configured
    model = method.estimator.fit(task.train.X, task.train.target(method))
    scores = model.decision_function(task.test.X)
    return scores / np.sqrt(np.mean(scores**2))


def write():
    rows = [
        {"method": method, "kernel": kernel, "version": METHODS[method].version}
        | {f"score {k}": score for k, score in enumerate(answer(method, kernel))}
        for method, kernel in PLACES
    ]
    pd.DataFrame(rows).to_csv(FILE, index=False, float_format="%.5f", lineterminator="\n")


@pytest.mark.parametrize(("method", "kernel"), PLACES)
def test_method_scores_equal_stored_scores_of_version(method, kernel):
    stored = pd.read_csv(FILE, index_col=["method", "kernel"]).loc[(method, kernel)]
    version, *scores = stored
    assert METHODS[method].version == version, f"write {FILE.name} anew: python {Path(__file__)}"
    assert np.allclose(answer(method, kernel), scores, atol=2e-3), (
        f"{method} answers differently: raise its version in METHODS, now {version:g}, so that its "
        f"stored results are not taken for those of now, and write {FILE.name} anew"
    )


if __name__ == "__main__":
    write()
