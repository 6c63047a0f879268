"""The lifted semidefinite relaxation: its two programs, and a bound that needs no exact solver."""

from itertools import combinations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_problems import best_value, small_problem, small_problems

from propcvx import Bags, bag_target
from propcvx.errors import InputError
from propcvx.labelings import FeasibleLabelings
from propcvx.programs import Lifting, lifted_svm, lifted_svm_dual, mixture
from propcvx.relaxation import Lifted, relaxation_lower_bound
from propcvx.relaxation.oracles import ExhaustiveOracle, SemidefiniteOracle
from propcvx.solvers import solve

pytestmark = pytest.mark.filterwarnings("ignore::propcvx.errors.InaccurateSolutionWarning")


small = small_problems(max_size=4, max_bags=3, max_features=3)
epsilons = st.sampled_from([0.0, 0.3])


@settings(max_examples=20)
@given(problem=small, epsilon=epsilons)
def test_every_feasible_labeling_has_what_is_lifted(problem, epsilon):
    feasible = FeasibleLabelings.of(problem.bags, epsilon)
    lifting = Lifting.of(feasible)
    span = lifting.span.toarray()
    np.testing.assert_allclose(span.T @ span, np.eye(span.shape[1]), atol=1e-12)
    for labeling in feasible.enumerate():
        x = np.append(1.0, labeling)
        np.testing.assert_allclose(span @ (span.T @ x), x, atol=1e-12)
        assert (lifting.ranges @ x >= 0.0).all()
        assert (lifting.rows @ x >= 0.0).all()


@settings(max_examples=15)
@given(problem=small, epsilon=epsilons, seed=st.integers(0, 2**32 - 1))
def test_a_quadratic_form_is_bounded_whatever_the_multipliers(problem, epsilon, seed):
    feasible, random = FeasibleLabelings.of(problem.bags, epsilon), np.random.RandomState(seed)
    lifting, n = Lifting.of(feasible), len(problem.X)
    quadratic = random.randn(n, n)
    quadratic = quadratic + quadratic.T
    largest = max(y @ quadratic @ y for y in feasible.enumerate())
    for scale in (0.0, 1.0, 10.0):
        products = scale * random.randn(*lifting.no_products.shape)
        bound = lifting.largest(quadratic, scale * random.randn(n + 1), products)
        assert bound >= largest - 1e-12 * abs(largest)


@pytest.mark.parametrize(("seed", "epsilon"), [(0, 0.0), (1, 0.3), (3, 0.0)])
def test_both_sides_of_the_lifted_svm_agree(seed, epsilon):
    problem = small_problem(seed, known=0.2 * (seed % 2))
    feasible = FeasibleLabelings.of(problem.bags, epsilon)
    primal = solve(lifted_svm(problem.X, feasible, 0.5), "clarabel", residuals=False)
    dual = solve(lifted_svm_dual(problem.X, feasible, 0.5), "clarabel", residuals=False)
    assert dual.value == pytest.approx(primal.value, rel=1e-3)
    lifting = Lifting.of(feasible)
    order = lifting.span.shape[1]
    U = 2.0 * dual.duals["semidefinite"][:order, :order]
    X = lifting.span @ U @ lifting.span.T
    np.testing.assert_allclose(np.diag(X), 1.0, atol=1e-6)
    K = problem.X @ problem.X.T
    alpha = cp.Variable(8)
    inner = cp.sum(alpha) - 0.5 * cp.quad_form(alpha, cp.psd_wrap(K * X[1:, 1:]))
    inner = cp.Problem(cp.Maximize(inner), [alpha >= 0, alpha <= 0.5]).solve("CLARABEL")
    assert inner == pytest.approx(dual.value, rel=1e-4)


@settings(max_examples=12)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(2, 7))
def test_a_lifted_matrix_is_an_even_mixture(seed, size):
    factor = np.random.RandomState(seed).randn(size, size)
    X = factor @ factor.T
    X /= X[0, 0]
    vectors, weights = mixture(X)
    assert weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(weights @ vectors, X[0, 1:], atol=1e-6 * np.abs(X).max())
    np.testing.assert_allclose(
        (vectors.T * weights) @ vectors, X[1:, 1:], atol=1e-6 * np.abs(X).max()
    )


# --- max-margin clustering is the case of no proportions ----------------------------------------


def xu_et_al(features, C):
    """Max-margin clustering without a bias or a class balance: M alone."""
    n = len(features)
    M, t = cp.Variable((n, n), PSD=True), cp.Variable((1, 1))
    low, high = cp.Variable((n, 1), nonneg=True), cp.Variable((n, 1), nonneg=True)
    slope, corner = 1 + low - high, 2 * (t - C * cp.sum(high))
    schur = cp.bmat([[cp.multiply(features @ features.T, M), slope], [slope.T, corner]])
    return cp.Problem(cp.Minimize(cp.sum(t)), [schur >> 0, cp.diag(M) == 1])


def test_without_any_proportion_all_labelings_are_feasible():
    X = small_problem(1, sizes=(7,), noise=0.5).X
    feasible = FeasibleLabelings.of(Bags.from_target(bag_target(np.zeros(7, int), [3 / 7])), 1.0)
    reached = Lifted().relax(X, feasible, 1.0, solver="clarabel")
    clustering = xu_et_al(X, 1.0).solve("CLARABEL")
    assert reached.value == pytest.approx(clustering, rel=1e-4)
    assert reached.lower <= best_value(X, feasible, 1.0) * (1.0 + 1e-9)


# --- facts of one's own -------------------------------------------------------------------------


def triangles(M):
    """Of three labels two are equal."""
    i, j, k = np.array(list(combinations(range(M.shape[0]), 3))).T
    signs = [(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)]
    return [a * M[i, j] + b * M[j, k] + c * M[i, k] >= -1 for a, b, c in signs]


def facts_of(feasible, random):
    """Random linear facts of the labelings, as tight as they can be, and others of each form."""
    every, n = np.array(list(feasible.enumerate())), feasible.bags.n_instances
    forms = random.randn(3, n, n)
    most = [max(y @ form @ y for y in every) for form in forms]
    equal = random.randn(2, n)

    def facts(M):
        inequalities = [
            cp.sum(cp.multiply(form, M)) <= m for form, m in zip(forms, most, strict=True)
        ]
        return [*inequalities, equal @ cp.diag(M) == equal.sum(axis=1), n * np.eye(n) >> M]

    return facts


@pytest.mark.parametrize(("solver", "tol"), [("clarabel", 1e-8), ("scs", 0.3)])
@pytest.mark.parametrize(("seed", "epsilon"), [(0, 0.0), (1, 0.3)])
def test_a_bound_with_facts_holds_whatever_the_solver(seed, epsilon, solver, tol):
    problem = small_problem(seed, sizes=(4, 3), n_features=3, known=0.1)
    feasible, random = FeasibleLabelings.of(problem.bags, epsilon), np.random.RandomState(seed)
    facts = facts_of(feasible, random)
    oracle = SemidefiniteOracle(problem.X, feasible, solver=solver, tol=tol, facts=facts)
    exact = ExhaustiveOracle(problem.X, feasible)
    for C in (1e-3, 1e3):
        alpha = C * random.uniform(size=7)
        assert oracle(alpha).bound >= exact(alpha).value * (1 - 1e-12)
        if solver == "clarabel":
            without = SemidefiniteOracle(problem.X, feasible, tol=tol)(alpha).bound
            assert oracle(alpha).bound <= without * (1 + 1e-5)


def test_facts_prove_more_of_the_same_alpha():
    problem, C = small_problem(10, sizes=(4, 4), n_features=3), 1.0
    feasible = FeasibleLabelings.of(problem.bags, 0.0)
    lifted = Lifted().relax(problem.X, feasible, C)
    oracle = SemidefiniteOracle(problem.X, feasible, facts=triangles)
    tight = relaxation_lower_bound(lifted.alpha, oracle, C)
    exact = relaxation_lower_bound(lifted.alpha, ExhaustiveOracle(problem.X, feasible), C)
    assert 1.01 * lifted.lower < tight <= exact <= best_value(problem.X, feasible, C)


@pytest.mark.parametrize(
    ("fact", "message"),
    [
        (lambda M: [M[0, 1] == 1, M[0, 2] == 1], "facts: number 0 does not hold of the feas"),
        (lambda M: [M >= -1, cp.sum(M) <= -1], "facts: number 1 does not hold of the feasible"),
        (lambda M: [M << np.eye(8)], "facts: number 0 does not hold of the feasible"),
        (lambda M: [cp.sum_squares(M) <= 64], "facts: number 0 is not linear in M"),
        (lambda M: [cp.SOC(cp.sum(M), M[0])], "facts: number 0 is not linear in M"),
    ],
)
def test_facts_that_are_none_are_refused(fact, message):
    problem = small_problem(0)
    oracle = SemidefiniteOracle(problem.X, FeasibleLabelings.of(problem.bags, 0.0), facts=fact)
    with pytest.raises(InputError, match=message):
        oracle(np.ones(8))
