"""Small convex problems of the kinds that other people solve with CVXPY."""

import cvxpy as cp
import numpy as np

RANDOM = np.random.RandomState(0)
A, b = RANDOM.randn(20, 6), RANDOM.randn(20)
SIGNS = np.where(A @ RANDOM.randn(6) + RANDOM.randn(20) > 0, 1.0, -1.0)
SERIES = np.cumsum(RANDOM.randn(25))
RETURNS = RANDOM.uniform(0.0, 0.3, 6)
COVARIANCE = A.T @ A / 20
SYMMETRIC = RANDOM.randn(4, 4)
SYMMETRIC = SYMMETRIC + SYMMETRIC.T


def minimize(objective, *constraints):
    return cp.Problem(cp.Minimize(objective), list(constraints))


def maximize(objective, *constraints):
    return cp.Problem(cp.Maximize(objective), list(constraints))


def nearest():
    """The point of a line that is nearest to (1, 1): (0.5, 0.5), and the value is 0.5."""
    x = cp.Variable(2, name="x")
    return minimize(cp.sum_squares(x - 1), cp.sum(x) == 1)


def lasso():
    return minimize(cp.sum_squares(A @ (x := cp.Variable(6)) - b) + 2 * cp.norm1(x))


def elastic_net_with_parameters():
    x, lam = cp.Variable(6), cp.Parameter(nonneg=True, value=0.7)
    return minimize(cp.sum_squares(A @ x - b) + lam * (cp.norm1(x) + cp.sum_squares(x)) + 3)


def chebyshev_approximation():
    return minimize(cp.norm_inf(A @ (x := cp.Variable(6)) - b), cp.norm1(x) <= 0.5)


def huber_regression():
    return minimize(cp.sum(cp.huber(A @ (x := cp.Variable(6)) - b, 0.5)) + cp.norm2(x))


def total_variation():
    X = cp.Variable((5, 5))
    return minimize(cp.sum_squares(X - SERIES.reshape(5, 5)) + cp.tv(X))


def portfolio():
    w = cp.Variable(6, nonneg=True)
    return maximize(RETURNS @ w - cp.quad_form(w, COVARIANCE), cp.sum(w) == 1)


def portfolio_with_costs():
    w = cp.Variable(6, bounds=[-0.5, 0.8])
    risk = cp.norm2(np.linalg.cholesky(COVARIANCE).T @ w)
    cost = cp.sum(cp.power(cp.abs(w - 1 / 6), 1.5))
    return maximize(RETURNS @ w - 0.1 * cost, risk <= 0.6, cp.sum(w) == 1)


def sparse_logistic_regression():
    w = cp.Variable(6)
    return minimize(cp.sum(cp.logistic(-cp.multiply(SIGNS, A @ w))) + cp.norm1(w))


def graphical_lasso():
    S = cp.Variable((6, 6), PSD=True)
    return minimize(cp.trace(COVARIANCE @ S) - cp.log_det(S) + 0.1 * cp.norm1(S))


def nearest_correlations():
    X = cp.Variable((4, 4), symmetric=True)
    return minimize(cp.norm(X - SYMMETRIC, "fro"), X >> 0, cp.diag(X) == 1)


def matrix_completion():
    X = cp.Variable((4, 5))
    return minimize(cp.normNuc(X), cp.multiply(np.eye(4, 5), X) == np.eye(4, 5), X[0, 1] == 0.5)


def largest_eigenvalue():
    x = cp.Variable(3)
    matrices = [np.diag([1.0, -1.0, 0.0]), np.diag([0.0, 1.0, -2.0]), np.eye(3)[::-1] - 0.5]
    return minimize(cp.lambda_max(SYMMETRIC[:3, :3] + sum(x[k] * matrices[k] for k in range(3))))


def maximum_entropy():
    p = cp.Variable(8)
    return maximize(cp.sum(cp.entr(p)), cp.sum(p) == 1, np.arange(8) @ p <= 2)


def geometric_program_in_logs():
    x = cp.Variable(3)
    posynomial = cp.log_sum_exp(cp.hstack([x[0] - x[1], x[2] - 1, -x[0] - x[2]]))
    return minimize(posynomial, cp.log_sum_exp(cp.hstack([x[0] + 0.5, x[1] - 1])) <= 1, x[2] >= 0)


def minimax():
    x = cp.Variable(6)
    return minimize(cp.max(A @ x - b) + cp.sum_largest(x, 2), cp.abs(x) <= 1)


def quadratic_over_linear():
    x, t = cp.Variable(3), cp.Variable()
    return minimize(cp.quad_over_lin(x - 1, t) + t + cp.inv_pos(t), cp.sum(x) == 1)


def exponential_cones():
    x, y, z = cp.Variable(4), cp.Variable(4), cp.Variable(4)
    return minimize(cp.sum(z), cp.ExpCone(x, y, z), cp.sum(x) == 1, y == np.arange(1, 5))


def power_cones():
    x, z = cp.Variable(3), cp.Variable(3)
    return maximize(cp.sum(z), cp.PowCone3D(x, np.ones(3), z, 0.3), cp.sum(x) == 2)


def power_cone_of_many():
    x, z = cp.Variable(3), cp.Variable()
    weights = np.array([0.2, 0.3, 0.5])
    return maximize(z, cp.PowConeND(x, z, weights), cp.sum(x) == 1, x[0] <= 0.1)


def cones_without_relations():
    x, t = cp.Variable(3), cp.Variable()
    return minimize(t, cp.SOC(t, x - 1), cp.NonNeg(x[0] - 1.5), cp.Zero(cp.sum(x)))


def complex_signal():
    z = cp.Variable(3, complex=True)
    return minimize(
        cp.norm1(z - np.array([1 + 1j, 2, 3j])), cp.sum(z) == 1 + 1j, cp.imag(z[0]) <= 0
    )


def hermitian_matrix():
    X = cp.Variable((3, 3), hermitian=True)
    target = A[:3, :3] + A[:3, :3].T + 1j * (A[3:6, :3] - A[3:6, :3].T)
    return minimize(cp.norm(X - target, "fro"), X >> 0, cp.trace(cp.real(X)) == 1)


def several_attributes():
    X = cp.Variable((3, 3), PSD=True, nonneg=True)
    D = cp.Variable((3, 3), diag=True)
    bound = cp.Parameter(value=0.4)
    y = cp.Variable(3, bounds=[-1, bound])
    return minimize(cp.norm(X + D - SYMMETRIC[:3, :3], "fro") + cp.norm1(y - 1) + cp.sum_squares(D))


COMMON = {
    problem.__name__: problem
    for problem in (
        *(lasso, elastic_net_with_parameters, chebyshev_approximation, huber_regression),
        *(total_variation, portfolio, portfolio_with_costs, sparse_logistic_regression),
        *(graphical_lasso, nearest_correlations, matrix_completion, largest_eigenvalue),
        *(maximum_entropy, geometric_program_in_logs, minimax, quadratic_over_linear),
        *(exponential_cones, power_cones, power_cone_of_many, cones_without_relations),
        *(complex_signal, hermitian_matrix, several_attributes),
    )
}
