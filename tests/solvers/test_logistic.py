"""Newton's method for MeanMap's model equals its program."""

import itertools

import numpy as np
import pytest

from propcvx.errors import InaccurateSolutionWarning
from propcvx.programs import conditional_exponential_model
from propcvx.solvers import solve


def model(n, d, *, scale=1.0, offset=0.0, lam=1e-2, bias=True):
    random = np.random.default_rng(n + d)
    y = random.choice((-1.0, 1.0), n, p=(0.4, 0.6))
    X = scale * (random.normal(size=(n, d)) + 0.5 * y[:, None] + offset)
    values = {"lam": lam * scale**2, "mean_operator": y @ X / n}
    if bias:
        values["mean_label"] = np.asarray(y.mean())
    return conditional_exponential_model(X, bias=bias).set(**values)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("lam", [1e-6, 1e-2, 1.0, 1e3])
@pytest.mark.parametrize(("n", "d"), [(20, 3), (60, 8), (10, 20)])
def test_logistic_equals_program(n, d, lam, bias):
    program = model(n, d, lam=lam, bias=bias)
    fast, readable = (solve(program, name, tol=1e-9) for name in ("logistic", "clarabel"))
    assert fast.value == pytest.approx(readable.value, rel=1e-7, abs=1e-7)
    assert fast.value <= readable.value + 1e-12
    assert fast.residuals.dual_residual <= 1e-8 * max(1.0, lam)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("outward", [1.5, 10.0])
def test_logistic_with_unattainable_mean_operator_converges(outward, bias):
    """The weights grow as one over lam, and the losses are nearly absolute values."""
    for lam, scale in itertools.product((1e-8, 1e-6, 1e-4), (1e-3, 1.0, 1e3)):
        program = model(200, 6, lam=lam, bias=bias, scale=scale)
        program.set(mean_operator=outward * program.values["mean_operator"])
        answer = solve(program, "logistic", tol=1e-9)
        assert answer.status == "optimal"
        assert answer.residuals.dual_residual <= 1e-8 * outward * max(1.0, scale)


MOVED = [(1e-6, 0.0), (1e-3, 0.0), (1e3, 0.0), (1e6, 0.0), (1.0, 1e2), (1.0, 1e4), (1.0, 1e6)]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("lam", [1e-8, 1e-2, 1e2])
def test_logistic_in_other_units_has_same_solution(lam, bias):
    plain = solve(model(50, 3, lam=lam, bias=bias), "logistic", residuals=False)
    assert plain.status == "optimal"
    for scale, offset in MOVED if bias and lam == 1e-2 else MOVED[:4]:
        program = model(50, 3, lam=lam, bias=bias, scale=scale, offset=offset)
        answer = solve(program, "logistic", residuals=False)
        assert answer.status == "optimal" or offset
        rtol, atol = (1e-5, 0.0) if offset else (1e-3, 1e-6)
        weights = scale * answer.variables["w"]
        np.testing.assert_allclose(weights, plain.variables["w"], rtol=rtol, atol=atol)
        if not offset:
            assert answer.value == pytest.approx(plain.value, rel=1e-7)


def test_logistic_without_minimum_warns():
    X = np.random.default_rng(0).normal(size=(10, 2))
    program = conditional_exponential_model(X)
    program.set(lam=0.1, mean_operator=X.mean(axis=0), mean_label=np.asarray(1.5))
    with pytest.warns(InaccurateSolutionWarning):
        assert solve(program, "logistic", residuals=False).status == "user_limit"
