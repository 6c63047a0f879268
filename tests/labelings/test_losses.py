"""Losses on instances and on proportions."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from effort import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from small_problems import best_bias

from propcvx.errors import InputError
from propcvx.labelings.losses import HINGE, INSTANCE_LOSSES, ProportionLoss, best_regression_bias

SCORES = st.sampled_from([-3.0, -1.0, 0.0, 1.0, 3.0]) | st.floats(-10, 10)
LABELED_SCORES = st.lists(
    st.tuples(st.sampled_from((-1.0, 1.0)), SCORES), min_size=1, max_size=12
).map(lambda pairs: np.array(pairs).T)


@pytest.mark.parametrize("name", INSTANCE_LOSSES)
@given(st.lists(SCORES, min_size=2, max_size=10, unique=True))
def test_reduction_is_gain_of_flip_and_increases(name, scores):
    scores, loss = np.sort(scores), INSTANCE_LOSSES[name]
    gains = loss.reduction(scores)
    np.testing.assert_allclose(
        gains, loss.evaluate(-1.0, scores) - loss.evaluate(1.0, scores), atol=1e-12
    )
    assert (np.diff(gains) >= 0).all()
    apart = np.diff(scores) > 1e-6
    assert (np.diff(gains)[apart] > 0).all(), "strictly, as Proposition 1 needs"


# The best bias


@given(LABELED_SCORES)
@examples(150)
def test_best_bias_is_middle_of_optima(problem):
    """The cost is convex and linear between breakpoints, so the least one is at one of them."""
    labeling, scores = problem
    b, breakpoints = best_bias(labeling, scores), labeling - scores
    costs = np.array([HINGE.evaluate(labeling, scores + bias).sum() for bias in breakpoints])
    assert HINGE.evaluate(labeling, scores + b).sum() <= costs.min() + 1e-9
    flat = breakpoints[costs <= costs.min() + 1e-9]
    if len(set(labeling)) == 2:
        assert b == pytest.approx((flat.min() + flat.max()) / 2, abs=1e-6)


# The best bias of a regression


WIDTHS = st.sampled_from([0.0, 0.1, 1.0]) | st.floats(0, 3)
TUBES = st.lists(st.tuples(SCORES, WIDTHS, SCORES, st.integers(0, 3)), min_size=1, max_size=9).map(
    lambda rows: np.array(rows).T
)


@given(TUBES)
@examples(150)
def test_best_regression_bias_is_middle_of_optima(tube):
    targets, widths, scores, weights = tube
    assume(weights.any())

    def cost(bias):
        return weights @ np.maximum(0.0, np.abs(targets - scores - bias) - widths)

    breakpoints = np.concatenate([targets - scores - widths, targets - scores + widths])
    costs = np.array([cost(bias) for bias in breakpoints])
    bias = best_regression_bias(*tube)
    assert cost(bias) <= costs.min() + 1e-9
    best = breakpoints[costs <= costs.min() + 1e-9]  # slopes are whole: no farther off than that
    assert bias == pytest.approx((best.min() + best.max()) / 2, abs=1e-8)


# Losses of one's own


def loss(evaluate, expression):
    return ProportionLoss("mine", evaluate, expression)


def test_own_convex_loss_is_accepted():
    asymmetric = loss(lambda gap: np.maximum(2 * gap, -gap), lambda gap: cp.maximum(2 * gap, -gap))
    assert asymmetric.evaluate(np.array([-0.5, 0.5])).tolist() == [0.5, 1.0]
    loss(lambda gap: np.exp(9 * gap), lambda gap: cp.exp(9 * gap))
    loss(lambda gap: 1e-9 * gap**4, lambda gap: 1e-9 * cp.power(gap, 4))
    loss(np.zeros_like, lambda gap: 0 * gap)


@pytest.mark.parametrize(
    ("evaluate", "expression", "message"),
    [
        (lambda gap: -(gap**2), cp.square, r"'mine': evaluate must be convex, and it is not near"),
        (lambda gap: np.sqrt(np.abs(gap)), cp.abs, "must be convex"),
        (lambda gap: np.minimum(np.abs(gap), 0.5), cp.abs, "must be convex, .* near -?0.5;"),
        (np.sin, cp.abs, "must be convex"),
        (np.square, cp.sqrt, "must be convex by the rules of CVXPY"),
        (np.square, lambda gap: cp.multiply(gap, gap), "convex by the rules of CVXPY"),
        (np.square, cp.abs, "must be the same function of each value; got different values"),
        (np.square, lambda gap: 1.0001 * cp.square(gap), "must be the same function"),
        (np.square, lambda gap: cp.sum_squares(gap), "must be the same function"),
        (np.sum, cp.sum, r"got shape \(\) for shape \(1001,\)"),
        (lambda gap: np.where(gap > 0.5, np.inf, 0.0), cp.abs, "250 of them not finite"),
    ],
)
def test_invalid_proportion_loss_raises(evaluate, expression, message):
    with pytest.raises(InputError, match=message):
        loss(evaluate, expression)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"margin_loss": lambda m: np.minimum(1.0, np.maximum(0.0, 1 - m))}, "must be convex, and"),
        ({"margin_loss": lambda m: np.maximum(0.0, 2 - m)}, "must be the same function"),
        ({"margin_loss": lambda m: np.full_like(m, np.nan)}, "must give a finite number"),
        ({"expression": cp.sqrt}, "convex by the rules of CVXPY"),
        ({"weights": -1.0}, "weights must be positive"),
        ({"gain": lambda scores: -scores}, "gain must be the same function"),
    ],
)
def test_invalid_instance_loss_raises(changes, message):
    with pytest.raises(InputError, match=f"instance loss 'hinge': .*{message}"):
        replace(HINGE, **changes)
