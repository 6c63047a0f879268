"""Small convex problems of the kinds that other people solve with CVXPY."""

import cvxpy as cp
import numpy as np

RANDOM = np.random.RandomState(0)
A, b = RANDOM.randn(20, 6), RANDOM.randn(20)
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


def huber_regression():
    return minimize(cp.sum(cp.huber(A @ (x := cp.Variable(6)) - b, 0.5)) + cp.norm2(x))


def graphical_lasso():
    S = cp.Variable((6, 6), PSD=True)
    return minimize(cp.trace(COVARIANCE @ S) - cp.log_det(S) + 0.1 * cp.norm1(S))


def exponential_cones():
    x, y, z = cp.Variable(4), cp.Variable(4), cp.Variable(4)
    return minimize(cp.sum(z), cp.ExpCone(x, y, z), cp.sum(x) == 1, y == np.arange(1, 5))


def power_cones():
    x, z = cp.Variable(3), cp.Variable(3)
    return maximize(cp.sum(z), cp.PowCone3D(x, np.ones(3), z, 0.3), cp.sum(x) == 2)


def cones_without_relations():
    x, t = cp.Variable(3), cp.Variable()
    return minimize(t, cp.SOC(t, x - 1), cp.NonNeg(x[0] - 1.5), cp.Zero(cp.sum(x)))


def complex_signal():
    z = cp.Variable(3, complex=True)
    return minimize(
        cp.norm1(z - np.array([1 + 1j, 2, 3j])), cp.sum(z) == 1 + 1j, cp.imag(z[0]) <= 0
    )


COMMON = {
    problem.__name__: problem
    for problem in (
        *(huber_regression, graphical_lasso, exponential_cones, power_cones),
        *(cones_without_relations, complex_signal),
    )
}
