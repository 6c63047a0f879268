"""Fits to a table with one row for each bag."""

from __future__ import annotations

from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from propcvx.arrays import Array
from propcvx.bags.bags import Bags
from propcvx.bags.means import BagMeans, CountedBags
from propcvx.checks import check_number
from propcvx.errors import InputError
from propcvx.estimators import BagClassifier, InvCal, MeanMap
from propcvx.estimators.training import scaling_advice
from propcvx.history import Fitted
from propcvx.large.parts import Frame, Parts, Summary, added, summed
from propcvx.solvers import Solution
from propcvx.solvers.specialised.logistic import (
    Sums,
    log_partition,
    minimise_sums,
    smooth_sums,
)
from propcvx.svm.kernels import FeatureMap, Kernel


def fit_means(estimator: InvCal, table: BagMeans) -> InvCal:
    r"""Fit InvCal to the means of bags, as it would be fitted to their instances.

    InvCal looks at nothing else, so the weights and the bias are those of the fit to the instances.
    There is no ``labeling_``, and no ``predict_proba``, which is calibrated on instances.

    Parameters
    ----------
    estimator : InvCal
        With the linear kernel.
    table : BagMeans

    Returns
    -------
    InvCal
        The estimator, fitted.

    Raises
    ------
    InputError
        For any other method, as it needs the instances.  The mean operator of MeanMap is in such a
        table, but not the rest of its likelihood, :math:`\sum_i \log(e^{f_i} + e^{-f_i})`: data
        with the same means, and even the same second moments, have other fits.

    Examples
    --------
    >>> from propcvx import InvCal
    >>> table = BagMeans([[0.0], [1.0], [2.0]], [0.2, 0.5, 0.8], sizes=[100, 50, 200])
    >>> fit_means(InvCal(C_p=10.0), table).predict([[0.5], [1.5]])
    array([-1,  1])
    """
    if not isinstance(estimator, InvCal):
        raise InputError(
            f"fit_means needs InvCal, which sees of a bag its mean alone; "
            f"{type(estimator).__name__} needs the instances: fit it to them, or to chunks of them "
            "with propcvx.fit_chunks."
        )
    means = validate_data(estimator, table.means, dtype=np.float64, ensure_min_samples=2)
    return fit_to_means(estimator, means, table.bags)


def fit_to_means(estimator: InvCal, means: Array, bags: CountedBags) -> InvCal:
    """The same for checked means."""
    check_linear(estimator)
    check_number("solver_tol", estimator.solver_tol, above=0.0)
    bags = bags.in_canonical_order(means)
    found = estimator._run(FeatureMap(Kernel(), means[bags.rows]), bags)
    store(estimator, found, bags.sign)
    estimator._warn_if_inaccurate(scaling_advice(means))
    return estimator


def means_on_parts(model: InvCal | MeanMap, parts: Parts, summary: Summary) -> Fitted:
    """Fit a method that sees the means of bags; MeanMap's likelihood takes further passes."""
    bags = summary.bags.in_canonical_order(summary.means, summary.frame.sign)
    features = FeatureMap(Kernel(), summary.means[bags.rows])
    if isinstance(model, InvCal):
        return model._run(features, bags)
    if model.solver not in ("auto", "logistic") or model.solver_options:
        raise InputError(
            "solver must be 'auto' or 'logistic', without options, where the instances come in "
            f"parts, got {model.solver!r} with {model.solver_options!r}."
        )
    of_all = parts, summary.frame
    most_likely = partial(_most_likely, *of_all, model.fit_intercept)
    return model._run(
        features, bags, most_likely=most_likely, variance_of=partial(_variance, *of_all)
    )


def _variance(parts: Parts, frame: Frame, *of_the_table: Array) -> float:
    """The total variance of the instances of bags with a share, see ``total_variance``."""
    n, sums, squares = summed(parts, _moments, None, frame)
    return float(squares / n - np.square(sums / n).sum()) / frame.unit**2


def _moments(part: Any, kept: Any, frame: Frame) -> tuple[float, Array, float]:
    """Sums of the weights of those instances, of their rows and of the squares of these."""
    weights = _counted(part, frame)
    return added(
        (weights[block].sum(), weights[block] @ rows, weights[block] @ np.square(rows).sum(axis=1))
        for block, rows in frame.blocks(part)
    )


def _most_likely(
    parts: Parts,
    frame: Frame,
    fit_intercept: bool,
    bags: Bags,
    lam: float,
    operator: Array,
    label: float,
    centre: Array | float,
) -> tuple[Array, float, Solution]:
    """The exponential model of MeanMap, for features less a centre; and how it was solved."""
    started, apart, total = perf_counter(), frame.mean - centre, float(bags.masses.sum())
    linear, to_plane = frame.unit * operator, np.vstack([np.eye(len(operator)), frame.unit * apart])
    ridge = np.full(len(operator), lam * frame.unit**2)
    if fit_intercept:
        linear = np.append(linear - label * frame.unit * apart, label)
        to_plane, ridge = np.eye(len(linear)), np.append(ridge, 0.0)

    def ask(x: Array) -> Sums:
        value, gradient, hessian = summed(parts, _partition, None, frame, to_plane @ x)
        return value / total, gradient @ to_plane / total, to_plane.T @ hessian @ to_plane / total

    x, value, status, _ = minimise_sums(ask, linear, ridge, np.zeros(len(linear)), 1e-10)
    weights = frame.unit * x[: len(operator)]
    solution = Solution(
        status=status,
        variables={"w": weights},
        duals={},
        solver="trust-exact",
        value=value,
        residuals=None,
        solve_seconds=perf_counter() - started,
    )
    return weights, float(x[-1] - weights @ apart) if fit_intercept else 0.0, solution


def _partition(part: Any, kept: Any, frame: Frame, plane: Array) -> Sums:
    """Sum of the log-partitions of the instances of bags with a share, and its derivatives."""
    weights = _counted(part, frame)
    return added(
        smooth_sums(rows, weights[block], log_partition, plane)
        for block, rows in frame.blocks(part)
    )


def _counted(part: Any, frame: Frame) -> Array:
    """The weights of instances, 0 where neither the share of the bag nor the label is known."""
    unknown = np.isnan(part[1]["proportion"]) & (part[1]["label"] == 0)
    return np.where(unknown, 0.0, frame.relative_weights(part))


def store(estimator: BagClassifier, found: Fitted, sign: int) -> None:
    """Keep what a fit has found, and nothing of an earlier one."""
    for of_another_fit in ("_calibration", "dual_coef_", "labeling_"):
        estimator.__dict__.pop(of_another_fit, None)
    classes = np.array([-1, 1])
    weights, bias = sign * found.weights[None], sign * np.atleast_1d(found.bias)
    estimator._store_plane(classes, found, weights, bias)


def check_linear(estimator: BagClassifier) -> None:
    """Raise unless the kernel is linear."""
    if estimator.kernel != "linear":
        raise InputError(
            f"kernel must be 'linear' where the instances are not all in memory, got "
            f"{estimator.kernel!r}; put a feature map before it "
            "(sklearn.kernel_approximation.Nystroem, RBFSampler)."
        )
