"""A solver of the user's own: by name or as a row, in other processes; fits in threads."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from small_problems import small_problem

from propcvx import AlterPropSVM, BagKFold, ConvPropSVM, InvCal, MeanMap
from propcvx.errors import InputError, UnsupportedSolverError
from propcvx.programs import SVMDual, svm_dual, svm_dual_parameters
from propcvx.solvers import SOLVERS, Solver, register_solver, solve

PROBLEM = small_problem(0, (3, 3, 3, 3))
MODELS = [
    AlterPropSVM(n_init=1, random_state=0, kernel="rbf"),
    ConvPropSVM(),
    InvCal(),
    MeanMap(),
]


def run_mine(program, options, warm):
    """Newton under another name."""
    return SOLVERS["newton"].run(program, {"tol": options["eps"]}, warm)


FISTA = Solver(
    "FISTA",
    run_mine,
    options_of=lambda tol: {"eps": tol},
    accepts=lambda structure: isinstance(structure, SVMDual),
)


@pytest.fixture
def registered():
    register_solver(FISTA)
    yield
    del SOLVERS["fista"]


def program():
    return svm_dual(np.eye(2)).set(**svm_dual_parameters(np.array([1.0, -1.0]), 1.0))


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("name", ["FISTA", "fista", "Fista"])
def test_a_registered_solver_is_found_in_any_case(name):
    assert solve(program(), name).solver == "FISTA"


def test_a_row_need_not_be_registered():
    assert solve(program(), FISTA).solver == "FISTA"
    assert solve(program(), [(FISTA, {}), "clarabel"]).solver == "FISTA"
    with pytest.raises(UnsupportedSolverError, match="must be 'auto', a Solver, or one of"):
        solve(program(), "fista")


def test_options_that_a_row_does_not_declare_are_refused():
    with pytest.raises(InputError, match=r"'FISTA' has no options \['step'\]; it has \['eps'\]"):
        solve(program(), FISTA, step=3)
    open_ended = replace(FISTA, known_options=None)
    assert solve(program(), open_ended, step=3).solver == "FISTA"


@pytest.mark.usefixtures("registered")
def test_it_is_known_in_other_processes():
    model = AlterPropSVM(n_init=1, random_state=0, solver=["FISTA", "clarabel"])
    grid = GridSearchCV(
        model, {"C": [0.1, 1.0]}, cv=BagKFold(2), n_jobs=2, error_score="raise"
    ).fit(PROBLEM.X, PROBLEM.y)
    assert grid.best_estimator_.history_[0].solver == "FISTA"
    model = AlterPropSVM(n_init=2, random_state=0, solver="fista", n_jobs=2)
    assert model.fit(PROBLEM.X, PROBLEM.y).history_[0].solver == "FISTA"


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_fits_in_threads_are_those_one_after_the_other(model):
    def fit(C):
        name = {"InvCal": "C_p", "MeanMap": "lam"}.get(type(model).__name__, "C")
        return clone(model).set_params(**{name: C}).fit(PROBLEM.X, PROBLEM.y)

    values = [0.1, 1.0] * 2
    alone = [fit(C).objective_ for C in values]
    with ThreadPoolExecutor(4) as pool:
        together = [model.objective_ for model in pool.map(fit, values)]
    assert alone == together


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_what_a_fit_leaves_can_be_pickled(model):
    fitted = clone(model).fit(PROBLEM.X, PROBLEM.y)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict(PROBLEM.X), fitted.predict(PROBLEM.X))
    assert again.history_.as_dicts() == fitted.history_.as_dicts()
    assert again.get_params().keys() == fitted.get_params().keys()
