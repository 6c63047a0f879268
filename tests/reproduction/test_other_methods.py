"""Methods beside those of the paper: ecological regression, averages, and another package's."""

import io
import json
import os
import subprocess
import sys
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from many_classes import LLPLearnNetwork
from reproduction import Cell, llp_learn_script, run_plan
from reproduction.evaluation import Sample
from reproduction.methods import (
    ECOLOGICAL,
    LLP_LEARN,
    printed_method,
)
from reproduction.other_methods import (
    PYTHON,
    GoodmanRegression,
    LLPLearn,
    LLPLearnError,
)
from sklearn.neural_network import MLPClassifier
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


def test_ecological_regression_weighs_bags_by_size_whatever_the_order():
    problem = small_problem(0, sizes=(1, 3, 4, 6, 9, 11, 13, 16, 19), n_features=3)
    X, y = problem.X, problem.y
    model = GoodmanRegression().fit(X, y)
    means = np.array([X[y["bag"] == bag].mean(axis=0) for bag in y["bag"]])
    design = np.column_stack([means, np.ones(len(y))])  # a row for each instance of a bag
    best = np.linalg.lstsq(design, y["proportion"], rcond=None)[0]
    assert model.model_.coef_ == pytest.approx(best[:3])
    order = np.random.RandomState(0).permutation(len(y))
    again = GoodmanRegression().fit(X[order], y[order])
    assert again.decision_function(X) == pytest.approx(model.decision_function(X))


def test_ecological_regression_has_the_linear_kernel_only():
    with pytest.raises(InputError, match=r"kernel must be .*'linear'.*got 'rbf'"):
        Cell("blobs", "rbf", 2, ECOLOGICAL, 0, 0)


# llp-learn


@pytest.fixture(scope="module")
def problem():
    return small_problem(0, sizes=(8,) * 15, n_features=3)


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


def test_a_failure_there_is_in_the_message(problem, monkeypatch):
    monkeypatch.setenv(PYTHON, sys.executable)
    with pytest.raises(LLPLearnError, match=r"llp-learn .*EM.*: ModuleNotFoundError: .*llp_l"):
        LLPLearn("EM").fit(problem.X, problem.y)


@pytest.mark.parametrize(
    ("name", "inside", "given"),
    [
        (LLP_LEARN[0], [], {"C": 2.0, "C_p": 3.0, "random_state": 7}),
        (LLP_LEARN[1], [2.0], {"random_state": 7}),
    ],
)
def test_the_script_gives_bags_and_parameters_to_llp_learn(
    name, inside, given, monkeypatch, capsys
):
    """With something in place of llp-learn, which is installed nowhere near."""
    made = Mock()
    made.return_value.fit.side_effect = lambda *bags: print("what llp-learn prints")
    made.return_value.model = SimpleNamespace(
        coef_=np.array([[1.0, 2.0]]), intercept_=np.array([0.5])
    )
    for module, method in (("alter", "alterSVM"), ("em", "EM")):
        monkeypatch.setitem(sys.modules, f"llp_learn.{module}", SimpleNamespace(**{method: made}))
    bags = {"X": [[1.0, 2.0]] * 2, "bags": [0, 1], "proportions": [1.0, 0.0]}
    data = io.BytesIO()
    np.savez(data, **bags)
    data.seek(0)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=data))
    method = printed_method(name, random_state=7).estimator.set_params(C=2.0, C_p=3.0)
    llp_learn_script.main(method.get_params())
    assert json.loads(capsys.readouterr().out) == [[[[1.0, 2.0]], [0.5]]]
    assert ([model.C for model in made.call_args.args], made.call_args.kwargs) == (inside, given)
    received = made.return_value.fit.call_args.args
    assert [part.tolist() for part in received] == list(bags.values())


@pytest.mark.skipif(not os.environ.get(PYTHON), reason=f"{PYTHON} names no Python with llp-learn")
@pytest.mark.parametrize("name", ["alterSVM", "EM"])
def test_llp_learn_with_bags_of_one_separates_the_classes(name):
    labels = np.repeat([1, -1], 20)
    X = np.random.RandomState(0).randn(40, 2) + 4.0 * labels[:, None]
    sample = Sample.in_bags(X, labels, np.arange(40))
    first, other = (LLPLearn(name, C_p=10.0, random_state=0).fit(X, sample.y) for _ in range(2))
    assert np.array_equal(first.predict(X), labels)
    assert np.array_equal(first.coef_, other.coef_)


def test_a_network_of_llp_learn_predicts_here_what_it_predicts_there(monkeypatch, capsys):
    """With a perceptron of scikit-learn in place of llp-learn's."""
    X, codes = np.random.RandomState(0).randn(60, 3), np.repeat([0, 1, 2], 20)
    X[np.arange(60), codes] += 4.0
    trained = MLPClassifier((5,), random_state=0, max_iter=2000).fit(X, codes)
    layers = zip(trained.coefs_, trained.intercepts_, strict=True)
    made = Mock()
    made.return_value.model.layers = [
        SimpleNamespace(),
        *(SimpleNamespace(weight=weights.T, bias=biases) for weights, biases in layers),
    ]
    monkeypatch.setitem(sys.modules, "llp_learn.dllp", SimpleNamespace(DLLP=made))

    def run(words, input, capture_output):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(input)))
        llp_learn_script.main(json.loads(words[-1]))
        return SimpleNamespace(returncode=0, stdout=capsys.readouterr().out)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setenv(PYTHON, sys.executable)
    names, bags = np.array(["oak", "ash", "elm"])[codes], np.arange(60) % 5
    y = propcvx.bag_target(bags, propcvx.bag_proportions(names, bags))
    model = LLPLearnNetwork("DLLP", {"lr": 0.1}, random_state=7).fit(X, y)
    expected = np.array(["ash", "elm", "oak"])[trained.predict(X)]
    assert model.predict(X).tolist() == expected.tolist()
    given = {"lr": 0.1, "model_type": "simple-mlp", "n_jobs": 0, "random_state": 7}
    assert made.call_args.kwargs == given
    assert made.return_value.fit.call_args.args[0].dtype == np.float32
    assert made.return_value.fit.call_args.args[2].shape == (5, 3)


@pytest.mark.skipif(not os.environ.get(PYTHON), reason=f"{PYTHON} names no Python with llp-learn")
def test_a_network_of_llp_learn_with_bags_of_one_separates_the_classes():
    codes = np.repeat([0, 1, 2], 20)
    X, bags = np.random.RandomState(0).randn(60, 3), np.arange(60)
    X[bags, codes] += 6.0
    y = propcvx.bag_target(bags, np.eye(3)[codes], classes=["ash", "elm", "oak"])
    model = LLPLearnNetwork("DLLP", {"lr": 0.01, "n_epochs": 20}, random_state=0).fit(X, y)
    assert np.mean(model.predict(X) == np.array(["ash", "elm", "oak"])[codes]) > 0.9
