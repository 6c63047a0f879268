"""Fits to a table with one row for each bag."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import validate_data

from propcvx.arrays import Array
from propcvx.bags.means import BagMeans
from propcvx.checks import check_number
from propcvx.errors import InputError
from propcvx.estimators import BagClassifier, InvCal
from propcvx.estimators.scaling import scaling_advice
from propcvx.history import Fitted
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
            f"{type(estimator).__name__} needs the instances: fit it to them, or with propcvx.dask "
            "to those that do not fit into memory."
        )
    means = validate_data(estimator, table.means, dtype=np.float64, ensure_min_samples=2)
    check_parameters(estimator)
    bags = table.bags.in_canonical_order(means)
    end = estimator._run(FeatureMap(Kernel(), means[bags.rows]), bags)
    store(estimator, end, bags.sign, means)
    return estimator


def check_parameters(estimator: BagClassifier) -> None:
    """Raise unless the kernel is linear and the tolerance positive."""
    check_number("solver_tol", estimator.solver_tol, above=0.0)
    if estimator.kernel != "linear":
        raise InputError(
            f"kernel must be 'linear' where the instances are not all in memory, got "
            f"{estimator.kernel!r}; put a feature map before it "
            "(sklearn.kernel_approximation.Nystroem, RBFSampler)."
        )


def store(estimator: BagClassifier, end: Fitted, sign: int, rows: Array) -> None:
    """Keep what a fit ends with, and nothing of an earlier one; ``rows`` tell the scales."""
    for of_another_fit in ("_calibration", "dual_coef_", "labeling_"):
        estimator.__dict__.pop(of_another_fit, None)
    weights, bias = sign * end.weights[None], sign * np.atleast_1d(end.bias)
    estimator._store_plane(np.array([-1, 1]), end, weights, bias)
    estimator._warn_if_inaccurate(scaling_advice(rows))
    if end.stopped_by is not None:
        raise end.stopped_by
