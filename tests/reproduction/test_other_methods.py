"""Methods beside those of the paper: ecological regression, and another package's."""

import os
import sys

import numpy as np
import pytest
from reproduction import Cell, run_plan
from reproduction.methods import LLP_LEARN
from reproduction.other_methods import PYTHON, GoodmanRegression, LLPLearn, LLPLearnError
from small_problems import small_problem

import propcvx
from propcvx.errors import InputError


def test_ecological_regression_finds_the_rates_of_groups():
    """Goodman's case: in all bags 90% of one group are positive, and 20% of the other."""
    shares = np.linspace(0.1, 0.9, 9)
    X = np.concatenate([np.arange(10.0) < round(10 * share) for share in shares])[:, None]
    y = propcvx.bag_target(np.repeat(range(9), 10), 0.9 * shares + 0.2 * (1 - shares))
    model = GoodmanRegression().fit(X, y)
    assert model.decision_function([[1.0], [0.0]]) + 0.5 == pytest.approx([0.9, 0.2])
    assert model.predict([[1.0], [0.0]]).tolist() == [1, -1]


@pytest.mark.parametrize(
    ("python", "message"),
    [
        ("", "needs an environment of its own: .*pip install llp-lea"),
        (sys.executable, "must have llp-learn 1.6.0, .* has no llp-learn; python3.11 -m venv"),
        ("/no/such/python", "must name a Python, .*/no/such/python"),
    ],
)
def test_without_llp_learn_nothing_is_run(python, message, tmp_path, monkeypatch):
    monkeypatch.setenv(PYTHON, python)
    cells = [Cell("blobs", "linear", 4, method, 0, 0) for method in ("MeanMap", LLP_LEARN[0])]
    with pytest.raises(InputError, match=message):
        run_plan(cells, tmp_path / "results", progress=False)
    assert not (tmp_path / "results").exists()


def test_a_failure_of_llp_learn_is_in_the_message(monkeypatch):
    monkeypatch.setenv(PYTHON, sys.executable)
    problem = small_problem(0)
    with pytest.raises(LLPLearnError, match=r"llp-learn .*EM.*: ModuleNotFoundError: .*llp_l"):
        LLPLearn("EM").fit(problem.X, problem.y)


@pytest.mark.skipif(not os.environ.get(PYTHON), reason=f"{PYTHON} names no Python with llp-learn")
@pytest.mark.parametrize("name", ["alterSVM", "EM"])
def test_llp_learn_with_singleton_bags_separates_the_classes(name):
    labels = np.repeat([1, -1], 20)
    X = np.random.RandomState(0).randn(40, 2) + 4.0 * labels[:, None]
    y = propcvx.bag_target(np.arange(40), labels > 0)
    assert np.array_equal(LLPLearn(name, C_p=10.0, random_state=0).fit(X, y).predict(X), labels)
