"""The programs: what they say against NumPy, and what their solutions say of each other."""

from functools import cache

import cvxpy as cp
import numpy as np
import pytest
from effort import first
from program_cases import (
    CASES,
    CONTINUOUS,
    DATA,
    INTEGER,
    TINY,
    largest_violation,
    random_values,
    with_solvers,
)

from propcvx import MeanMap, bag_target, programs
from propcvx.programs import ProblemClass
from propcvx.solvers import solve

TOL = 1e-8
INTERIOR_POINT = ("clarabel", "ecos", "piqp")


def accuracy(solver):
    """Residuals allowed at TOL, relative to the scale of the problem, by the solver's kind.

    Interior point methods stop at TOL in nearly the problem's own scaling.  First-order methods do
    in a scaling of their own, LIBSVM sums TOL over instances and C, and of the active set methods,
    exact up to rounding, HiGHS adds 1e-7 times the identity to a quadratic.
    """
    return 1e-7 if solver in INTERIOR_POINT else 1e-6


def gradient_accuracy(solver, program):
    """As ``accuracy``, for stationarity.

    Where a curved objective is compiled to the epigraph of a cone (always by ECOS, by others when
    it is no QP), it is slack by about TOL; that fixes its argument only to sqrt(TOL).
    """
    epigraph = program.problem_class is not ProblemClass.QP or solver == "ecos"
    return 10 * np.sqrt(TOL) if epigraph and solver in INTERIOR_POINT else accuracy(solver)


@pytest.fixture(params=DATA, ids=["tall", "wide"])
def data(request):
    return request.param


@cache
def posed(name, data):
    """The case that all solvers share, so that its reference is solved once."""
    return CONTINUOUS[name](data)


# What a program says


@pytest.mark.parametrize("name", CASES)
def test_objective_and_constraints_are_their_formulas(name, data):
    case, random = CASES[name](data), np.random.RandomState(7)
    for _ in range(10):
        values = random_values(case.program, random)
        for key, value in values.items():
            case.program.variables[key].value = value
        assert case.program.problem.objective.value == pytest.approx(case.objective(**values))
        violations = [np.max(c.violation()) for c in case.program.constraints.values()]
        assert max(violations, default=0.0) == pytest.approx(largest_violation(case, values))


@pytest.mark.parametrize("name", CASES)
def test_problem_class_agrees_with_cvxpy(name):
    program = CASES[name](DATA[0]).program
    problem, declared = program.problem, program.problem_class
    assert problem.is_dcp(dpp=True)
    assert problem.is_mixed_integer() == (name in INTEGER)
    others = (ProblemClass.SOCP, ProblemClass.SDP, ProblemClass.EXPONENTIAL)
    assert problem.is_qp() == (declared not in others)
    if name in INTEGER:
        assert problem.objective.expr.is_pwl() == (declared is ProblemClass.MILP)
    else:
        cones = problem.get_problem_data(cp.CLARABEL)[0]["dims"]
        assert (cones.exp > 0) == (declared is ProblemClass.EXPONENTIAL)
        assert (len(cones.psd) > 0) == (declared is ProblemClass.SDP)


# Every program, every solver


@pytest.mark.parametrize("data", first(1, DATA), ids=["tall", "wide"])
@pytest.mark.parametrize(("name", "solver"), with_solvers(CONTINUOUS))
def test_program_solution_satisfies_optimality_conditions(name, solver, data):
    case = posed(name, data)
    solution = solve(case.program, solver, tol=TOL)
    residuals, scale = solution.residuals, 1.0 + max(abs(solution.value), data.C)
    reached = solution.gap is None or solution.gap <= TOL
    assert solution.status == (cp.OPTIMAL if reached else cp.OPTIMAL_INACCURATE)
    assert solution.solver == solver
    assert residuals.primal_residual <= accuracy(solver) * scale
    assert residuals.duality_gap <= accuracy(solver) * scale
    assert residuals.dual_residual <= gradient_accuracy(solver, case.program) * scale
    assert solution.value == pytest.approx(case.reference, abs=accuracy(solver) * scale)
    assert solution.value == pytest.approx(case.objective(**solution.variables))
    assert largest_violation(case, solution.variables) <= accuracy(solver) * scale


@pytest.mark.parametrize(("name", "solver"), with_solvers(INTEGER))
def test_integer_solution_is_feasible_and_its_solvers_agree(name, solver):
    case = INTEGER[name](TINY)
    solution = solve(case.program, solver, tol=TOL)
    residuals = solution.residuals
    assert residuals.primal_residual <= 1e-6
    assert residuals.dual_residual is residuals.duality_gap is None
    assert solution.duals == {}
    assert solution.value == pytest.approx(case.reference, abs=1e-6)
    z = np.round(solution.variables["z"])
    assert np.abs(z - solution.variables["z"]).max() <= 1e-6
    rounded = {**solution.variables, "z": z}
    assert solution.value == pytest.approx(case.objective(**rounded), abs=1e-6)
    assert largest_violation(case, rounded) <= 1e-6


# The restricted master in its three forms


def inner_value(data, mu):
    program = programs.mkl_inner(data.F, data.labelings, data.C)
    return solve(program.set(root_mu=np.sqrt(mu)), "clarabel", tol=1e-10, residuals=False)


@pytest.mark.parametrize("solver", ["clarabel", "scs"])
def test_epigraph_and_group_weights_minimize_inner_problem(data, solver):
    pytest.importorskip(solver)
    epigraph = solve(CONTINUOUS["mkl_epigraph"](data).program, solver)
    groups = solve(CONTINUOUS["mkl_group"](data).program, solver)
    mu = epigraph.duals["cuts"]
    assert mu.min() >= -1e-6
    assert mu.sum() == pytest.approx(1.0, abs=1e-4)
    norms = groups.variables["s"]
    np.testing.assert_allclose(norms / norms.sum(), mu, atol=1e-3)
    alpha = groups.duals["margin"]
    assert alpha.min() >= -1e-6
    assert alpha.max() <= data.C + 1e-6
    np.testing.assert_allclose(alpha, epigraph.variables["alpha"], atol=1e-3 * (1 + data.C))
    best = np.maximum(mu, 0.0) / np.maximum(mu, 0.0).sum()
    assert inner_value(data, best).value == pytest.approx(epigraph.value, rel=1e-6)


# MeanMap and InvCal


@pytest.mark.parametrize("equal", [True, False])
def test_mean_map_class_means_have_least_norm(equal):
    random = np.random.RandomState(0)
    X, ids = random.randn(20, 3), np.repeat(range(4), 5)
    shares = np.full(4, 0.2) if equal else np.array([0.0, 0.2, 0.4, 0.6])
    model = MeanMap(fit_intercept=False).fit(X, bag_target(ids, shares))
    bag_means = np.array([X[ids == bag].mean(axis=0) for bag in range(4)])
    program = programs.class_means(bag_means, shares, np.ones(4))
    answer = solve(program, "clarabel", tol=1e-10)
    program.variables["means"].save_value(model.class_means_)
    assert program.problem.objective.value == pytest.approx(answer.value, abs=1e-8)
    assert np.linalg.norm(model.class_means_) <= np.linalg.norm(answer.variables["means"]) + 1e-6
