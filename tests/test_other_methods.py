"""Methods beside those of the paper: ecological regression, averages, and another package's."""

import io
import json
import os
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

import propcvx
from propcvx import ConvPropSVM, InvCal
from propcvx.datasets import proportions_of, random_bags
from propcvx.errors import InputError
from propcvx.experiments import llp_learn_script
from propcvx.experiments.evaluation import Method, Sample
from propcvx.experiments.methods import ECOLOGICAL, LLP_LEARN, averaged_methods, cheaper
from propcvx.experiments.other_methods import (
    PYTHON,
    AveragedMethods,
    EcologicalRegression,
    LLPLearn,
    LLPLearnError,
    not_worse,
    require_llp_learn,
)
from propcvx.experiments.reproduce import Cell, Protocol, run_plan
from propcvx.experiments.reproduce.evaluate import run_cell

installed = pytest.mark.skipif(
    PYTHON not in os.environ, reason=f"{PYTHON} names no Python with llp-learn"
)


def test_ecological_regression_finds_the_rates_of_groups():
    """Goodman's case: in all bags 90% of one group are positive, and 20% of the other."""
    shares = np.linspace(0.1, 0.9, 9)
    X = np.concatenate([np.arange(10.0) < round(10 * share) for share in shares])[:, None]
    y = propcvx.bag_target(np.repeat(range(9), 10), 0.9 * shares + 0.2 * (1 - shares))
    model = EcologicalRegression().fit(X, y)
    assert model.decision_function([[1.0], [0.0]]) + 0.5 == pytest.approx([0.9, 0.2])
    assert model.predict([[1.0], [0.0]]).tolist() == [1, -1]


def test_ecological_regression_weighs_bags_by_size_whatever_the_order():
    random = np.random.RandomState(0)
    bags = np.repeat(np.arange(9), random.randint(1, 20, 9))
    X, labels = random.randn(len(bags), 3), random.choice([-1, 1], len(bags))
    y = propcvx.bag_target(bags, proportions_of(labels, bags))
    model = EcologicalRegression().fit(X, y)
    means = np.array([X[bags == bag].mean(axis=0) for bag in bags])
    design = np.column_stack([means, np.ones(len(bags))])  # a row for each instance of a bag
    best = np.linalg.lstsq(design, y["proportion"], rcond=None)[0]
    assert model.model_.coef_ == pytest.approx(best[:3])
    order = random.permutation(len(bags))
    again = EcologicalRegression().fit(X[order], y[order])
    assert again.decision_function(X) == pytest.approx(model.decision_function(X))


def test_ecological_regression_has_one_combination_and_the_linear_kernel():
    result = run_cell(Cell("blobs", "linear", 2, ECOLOGICAL, 0, 0))
    assert (result["error"], len(result["points"])) == ("", 1)
    with pytest.raises(InputError, match=r"kernel must be .*'linear'.*got 'rbf'"):
        Cell("blobs", "rbf", 2, ECOLOGICAL, 0, 0)


# Averages


@pytest.fixture(scope="module")
def sample():
    random = np.random.RandomState(0)
    labels = random.choice([-1, 1], 120)
    return Sample.in_bags(random.randn(120, 3) + labels[:, None], labels, random_bags(labels, 8, 0))


@pytest.fixture(scope="module")
def methods():
    return [
        Method("InvCal", InvCal(), {"C_p": [0.1, 10.0], "epsilon": [0.0, 0.1]}),
        Method("conv-pSVM", ConvPropSVM(), {"C": [0.1, 1.0]}),
    ]


@pytest.fixture(scope="module")
def averaged(sample, methods):
    return AveragedMethods(methods, random_state=0).fit(sample.X, sample.y)


def test_what_a_standard_error_rules_out_whatever_the_order():
    best = np.array([0.1, 0.2, 0.1, 0.0])
    noisy = best + np.array([0.4, -0.3, 0.3, -0.2])  # 0.05 worse, standard error 0.17
    surely = best + 0.01  # always worse
    errors = np.array([noisy, best, surely, best])
    assert not_worse(errors).tolist() == [True, True, False, True]
    assert not_worse(errors[::-1]).tolist() == [True, False, True, True]


def test_the_average_is_over_parameters_not_worse_than_the_best_then_over_methods(
    averaged, sample, methods
):
    assert averaged.errors_.shape == (6, 15)  # four of InvCal, two of conv-pSVM, on 15 bags
    assert np.array_equal(averaged.kept_, not_worse(averaged.errors_))
    means = []
    for method, keeps in zip(methods, np.split(averaged.kept_, [4]), strict=True):
        scores = []
        for parameters, keep in zip(ParameterGrid(method.grid), keeps, strict=True):
            if keep:
                model = clone(method.estimator).set_params(**parameters).fit(sample.X, sample.y)
                score = model.decision_function(sample.X)
                scores.append(score / np.sqrt(np.mean(score**2)))
        means += [np.mean(scores, axis=0)] if scores else []
    expected = np.mean(means, axis=0)
    assert np.allclose(averaged.decision_function(sample.X), expected, atol=1e-6)
    again = clone(averaged).fit(sample.X, sample.y)
    assert np.array_equal(again.decision_function(sample.X), averaged.decision_function(sample.X))


def test_averaged_methods_are_far_better_than_chance(sample):
    model = averaged_methods(0)
    model.set_params(methods=[cheaper(method) for method in model.methods], n_splits=2)
    assert model.fit(sample.X, sample.y).score(sample.X, sample.labels) > 0.75


# llp-learn


def test_without_its_environment_nothing_is_run(tmp_path, monkeypatch):
    cells = [Cell("blobs", "linear", 4, method, 0, 0) for method in ("MeanMap", LLP_LEARN[0])]
    monkeypatch.delenv(PYTHON, raising=False)
    with pytest.raises(InputError, match=r"needs an environment of its own: .*pip install llp-lea"):
        run_plan(cells, tmp_path / "results", progress=False)
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("python", "message"),
    [
        (sys.executable, "must have llp-learn 1.6.0, .* has no llp-learn; python3.11 -m venv"),
        ("/no/such/python", "must name a Python, .*/no/such/python"),
    ],
)
def test_a_python_without_llp_learn_is_refused(monkeypatch, python, message):
    monkeypatch.setenv(PYTHON, python)
    with pytest.raises(InputError, match=message):
        require_llp_learn()


def test_a_failure_there_is_in_the_message(sample, monkeypatch):
    monkeypatch.setenv(PYTHON, sys.executable)
    with pytest.raises(LLPLearnError, match=r"llp-learn .*EM.*: ModuleNotFoundError: .*llp_l"):
        LLPLearn("EM").fit(sample.X, sample.y)


@pytest.mark.parametrize(
    ("name", "given"),
    [("alterSVM", {"C": 2.0, "C_p": 3.0, "random_state": 7}), ("EM", {"random_state": 7})],
)
def test_the_script_gives_bags_and_parameters_to_llp_learn(name, given, monkeypatch, capsys):
    """With something in place of llp-learn, which is installed nowhere near."""
    seen = []

    class Model:
        def __init__(self, *inside, **parameters):
            assert [one.C for one in inside] == ([2.0] if name == "EM" else [])
            seen.append(parameters)

        def fit(self, X, bags, proportions):
            seen.append((X.shape, bags.tolist(), proportions.tolist()))
            print("what llp-learn prints")
            self.model = SimpleNamespace(coef_=X[:1], intercept_=np.array([0.5]))

    for module, method in (("alter", "alterSVM"), ("em", "EM")):
        monkeypatch.setitem(sys.modules, f"llp_learn.{module}", SimpleNamespace(**{method: Model}))
    data = io.BytesIO()
    np.savez(data, X=[[1.0, 2.0]] * 2, bags=np.array([0, 1]), proportions=np.array([1.0, 0.0]))
    data.seek(0)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=data))
    llp_learn_script.main(LLPLearn(name, 2.0, 3.0, random_state=7).get_params())
    assert json.loads(capsys.readouterr().out) == {"coef": [1.0, 2.0], "intercept": 0.5}
    assert seen == [given, ((2, 2), [0, 1], [1.0, 0.0])]


@installed
@pytest.mark.parametrize("name", ["alterSVM", "EM"])
def test_llp_learn_with_bags_of_one_separates_the_classes(name):
    labels = np.repeat([1, -1], 20)
    X = np.random.RandomState(0).randn(40, 2) + 4.0 * labels[:, None]
    sample = Sample.in_bags(X, labels, np.arange(40))
    model = LLPLearn(name, C_p=10.0, random_state=0).fit(sample.X, sample.y)
    assert np.array_equal(model.predict(X), labels)


@installed
def test_a_cell_of_llp_learn_is_run_with_the_seed_of_the_cell():
    protocol = Protocol().with_options(tuning="none")
    cell = Cell("blobs", "linear", 4, LLP_LEARN[1], 0, 0, protocol)
    one, other = run_cell(cell), run_cell(replace(cell))
    assert one["error"] == other["error"] == ""
    assert one["points"][0]["accuracy"] == other["points"][0]["accuracy"]
