"""Methods beside those of the paper: ecological regression, and another package's."""

import os
import sys
from dataclasses import replace

import numpy as np
import pytest

import propcvx
from propcvx.datasets import proportions_of
from propcvx.errors import InputError
from propcvx.experiments import llp_learn
from propcvx.experiments.ecological import EcologicalRegression
from propcvx.experiments.llp_learn import (
    LLPLearnAlterSVM,
    LLPLearnEM,
    LLPLearnError,
    require_llp_learn,
)
from propcvx.experiments.reproduce import Cell, Protocol, Store, run_plan
from propcvx.experiments.reproduce.evaluate import run_cell
from propcvx.experiments.reproduce.methods import ECOLOGICAL, LLP_LEARN

installed = pytest.mark.skipif(
    llp_learn.PYTHON not in os.environ, reason=f"{llp_learn.PYTHON} names no Python with llp-learn"
)


def two_groups(n_bags=12, seed=0):
    """Goodman's case: in all bags 90 of 100 of one group are positive, and 20 of the other."""
    random = np.random.RandomState(seed)
    X, bags, labels = [], [], []
    for bag, share in enumerate(random.permutation(np.linspace(0.1, 0.9, n_bags))):
        for group, probability in ((1.0, 0.9), (0.0, 0.2)):
            n = 10 * round(10 * (share if group else 1 - share))
            X += [group] * n
            bags += [bag] * n
            labels += [1] * round(probability * n) + [-1] * (n - round(probability * n))
    return np.array(X)[:, None], np.array(bags), np.array(labels)


def test_ecological_regression_finds_the_groups_rates():
    X, bags, labels = two_groups()
    y = propcvx.bag_target(bags, proportions_of(labels, bags))
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


def test_ecological_regression_is_a_row_of_the_protocol():
    result = run_cell(Cell("blobs", "linear", 2, ECOLOGICAL, 0, 0))
    assert result.error == ""
    assert len(result.points) == 1
    with pytest.raises(InputError, match=r"kernel must be .*'linear'.*got 'rbf'"):
        Cell("blobs", "rbf", 2, ECOLOGICAL, 0, 0)


def test_without_its_environment_it_is_said_how_to_make_it(tmp_path, monkeypatch):
    cells = [Cell("blobs", "linear", 4, method, 0, 0) for method in ("MeanMap", LLP_LEARN[0])]
    monkeypatch.delenv(llp_learn.PYTHON, raising=False)
    with pytest.raises(InputError, match=r"needs an environment of its own: .*pip install llp-lea"):
        run_plan(cells, tmp_path / "results", progress=False)
    assert Store(tmp_path / "results").rows() == []


@pytest.mark.parametrize(
    ("python", "message"),
    [
        (sys.executable, "must have llp-learn 1.6.0, .* has no llp-learn; python3.11 -m venv"),
        ("/no/such/python", "must name a Python, .*/no/such/python"),
    ],
)
def test_a_python_without_llp_learn_is_refused(monkeypatch, python, message):
    monkeypatch.setenv(llp_learn.PYTHON, python)
    with pytest.raises(InputError, match=message):
        require_llp_learn()


def test_what_fails_there_is_told(monkeypatch):
    monkeypatch.setenv(llp_learn.PYTHON, sys.executable)
    X, bags, labels = two_groups()
    y = propcvx.bag_target(bags, proportions_of(labels, bags))
    with pytest.raises(LLPLearnError, match=r"llp-learn EM .*: ModuleNotFoundError: .*llp_l"):
        LLPLearnEM().fit(X, y)


@installed
@pytest.mark.parametrize(
    "classifier", [LLPLearnAlterSVM(C_p=10.0, random_state=0), LLPLearnEM(random_state=0)]
)
def test_llp_learn_with_bags_of_one_separates_the_classes(classifier):
    require_llp_learn()
    random, labels = np.random.RandomState(0), np.repeat([1, -1], 20)
    X, bags = random.randn(40, 2) + 4.0 * labels[:, None], random.permutation(40)
    y = propcvx.bag_target(bags, proportions_of(labels, bags))
    assert np.array_equal(classifier.fit(X, y).predict(X), labels)


@installed
def test_a_cell_of_llp_learn_is_run_with_the_seed_of_the_cell():
    protocol = Protocol().with_options(tuning="none")
    cell = Cell("blobs", "linear", 4, LLP_LEARN[1], 0, 0, protocol)
    one, other = run_cell(cell), run_cell(replace(cell))
    assert one.error == other.error == ""
    assert np.array_equal(one.scores, other.scores)
