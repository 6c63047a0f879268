"""Ecological regression: a ridge regression of the proportions on the means of the bags."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from propcvx.arrays import Array
from propcvx.bags.bags import Bags
from propcvx.checks import check_number
from propcvx.errors import InputError
from propcvx.estimators.means import BagMeanClassifier
from propcvx.history import Fitted
from propcvx.programs import ecological_regression
from propcvx.svm.kernels import FeatureMap

STRENGTHS = np.logspace(-3.0, 3.0, 25)
"""What ``ridge="loo"`` chooses from."""

TINY = np.finfo(float).tiny
"""The least share of a class, so that there is always one to divide by."""


@dataclass(eq=False, repr=False)
class EcologicalRegression(BagMeanClassifier):
    r"""Ecological regression (Goodman 1953): a ridge regression of the shares on the bag means.

    .. math::

        \min_{w, b} \sum_k \omega_k (w^\top m_k + b - p_k)^2 + \lambda \|w\|^2

    The program is :func:`propcvx.programs.ecological_regression`.  The fitted values
    :math:`w^\top x + b` are shares, so an instance with a value above one half is positive; values
    need not be between 0 and 1.  The method assumes that the probability of a positive depends on x
    in the same way in all bags.

    With a ``sample_weight`` the means of the bags are weighted, and :math:`\omega_k` is multiplied
    by the mean weight of the instances of bag k.  This assumes that inside a bag the weights do not
    depend on the label.

    Parameters
    ----------
    ridge : float or "loo"
        Strength :math:`\rho` of the ridge in units of the scatter of the bag means,
        :math:`\lambda = \rho \operatorname{tr}(S^2) / \operatorname{tr}(S)` with
        :math:`S = \sum_k \omega_k (m_k - \bar m)(m_k - \bar m)^\top`.  ``"loo"`` takes, of 25
        strengths from 0.001 to 1,000, that with the least squared error on bags that are left out
        in turn.
    bag_weights : "size", "bag", array of shape (n_bags,), dict or pandas Series
        The weights :math:`\omega_k` of the bags: their numbers of instances, 1, or as given.
    kernel : str or callable
        ``"linear"``, ``"rbf"``, ``"exponential"``, ``"poly"``, ``"precomputed"``, or a callable;
        see :class:`propcvx.svm.kernels.Kernel`.
    gamma : float or "scale"
        Kernel coefficient; ``"scale"`` is ``1 / (n_features * X.var())``.
    degree : int
        Degree of ``"poly"``.
    coef0 : float
        Constant of ``"poly"``.
    solver : str, Solver or sequence
        A solver of quadratic programs, see ``propcvx.solvers.SOLVERS``, or several to try in turn;
        ``"auto"`` is the closed form, see :func:`propcvx.solvers.automatic`.
    solver_tol : float
        The relative error of the objective to reach.
    solver_options : dict or None
        Options of the solver, passed on unchanged.

    Attributes
    ----------
    ridge_ : float
        The strength :math:`\rho` that was used; only with two classes.
    objective_ : float
        The value of the program.
    solution_ : Solution
        The solver's answer.  If positives are the majority, it is the answer to the problem in
        which positives and negatives are exchanged.
    history_ : History
        One round: objective, solver, status and time.
    stop_reason_ : StopReason
        That the program was solved.
    labeling_ : array of shape (n_instances,)
        Predicted labels -1, +1 of the training instances.
    coef_ : array of shape (1, n_features)
        Weights, for the linear kernel; a row for each of more than two classes.
    dual_coef_ : array of shape (1, n_instances)
        Dual coefficients, for other kernels.
    intercept_ : array of shape (1,)
        :math:`b - 1/2`.
    classes_ : array of shape (2,)
        Labels; ``[-1, 1]`` for bags.

    Examples
    --------
    >>> from propcvx import bag_target
    >>> X, y = [[0.0], [1.0], [1.0], [2.0]], bag_target([0, 0, 1, 1], [0.25, 0.75])
    >>> EcologicalRegression(ridge=0.0).fit(X, y).predict_proba([[1.0], [1.5]])[:, 1]
    array([0.5 , 0.75])
    """

    ridge: float | str = 0.3
    _: KW_ONLY
    bag_weights: Any = "size"

    def _run(self, feature_map: FeatureMap, bags: Bags) -> Fitted:
        features, bags, apart = self._seen(feature_map, bags)
        weights, p = self._loss_weights(apart), bags.proportions
        equal = self._warns_of_equal_shares(bags)
        means = bags.means_of(features)
        centre = weights @ means / weights.sum()
        rows = np.sqrt(weights)[:, None] * (means - centre)
        unit = scatter_unit(rows)
        self.ridge_ = self._strength(rows, np.sqrt(weights) * p, np.sqrt(weights), unit)
        wide = means.shape[1] > len(means)  # then as many columns have the same inner products
        basis, posed = np.linalg.qr((means - centre).T) if wide else (None, None)
        program = ecological_regression(means - centre if posed is None else posed.T, weights)
        self.solution_ = self._solve(program.set(p=p, lam=self.ridge_ * unit))
        w = self.solution_.variables["w"]
        plane = w if basis is None else basis @ w
        bias = float(self.solution_.variables["b"] - centre @ plane) - 0.5
        return self._end(feature_map.features, plane, bias, self.solution_.value, equal)

    def _strength(self, rows: Array, targets: Array, ones: Array, unit: float) -> float:
        """The strength that is given, or of least error on bags left out."""
        if not isinstance(self.ridge, str):
            return check_number("ridge", self.ridge, least=0.0)
        if self.ridge != "loo":
            raise InputError(f"ridge must be a number of at least 0 or 'loo', got {self.ridge!r}.")
        errors = left_out_errors(rows, targets, ones, STRENGTHS * unit)
        return float(STRENGTHS[np.argmin(errors)])

    def predict_proba(self, X: Any) -> Array:
        """Share of each class, the values of the regression moved inside [0, 1].

        Parameters
        ----------
        X : array of shape (n_instances, n_features)

        Returns
        -------
        probabilities : array of shape (n_instances, n_classes)
            In the order of ``classes_``.
        """
        scores = self.decision_function(X)
        scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
        shares = np.clip(scores + 0.5, TINY, 1.0)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def scatter_unit(rows: Array) -> float:
    r""":math:`\operatorname{tr}(S^2) / \operatorname{tr}(S)` of :math:`S = R^\top R`; 1 for S = 0.

    It is the mean of the eigenvalues of S, each weighted by itself, so that columns without
    scatter, and rotations, do not change it.
    """
    smaller = rows if len(rows) < rows.shape[1] else rows.T
    total = float(np.square(rows).sum())
    return float(np.square(smaller @ smaller.T).sum()) / total if total > 0.0 else 1.0


def left_out_errors(rows: Array, targets: Array, ones: Array, ridges: Array) -> Array:
    r"""Sum of the squared errors of each bag in the fit to all others, for each :math:`\lambda`.

    In closed form, :math:`\sum_k (e_k / (1 - h_k))^2`, with :math:`h_k` the diagonal of the matrix
    that takes the proportions to the fitted ones.

    Parameters
    ----------
    rows : array of shape (n_bags, rank)
        The bag means without their mean, times the roots of the weights.
    targets, ones : array of shape (n_bags,)
        The proportions and 1, times these roots.
    ridges : array of shape (n_ridges,)
    """
    left, singular, _ = np.linalg.svd(rows, full_matrices=False)
    constant = ones / np.linalg.norm(ones)
    projected = left.T @ targets
    errors = []
    for ridge in ridges:
        kept = singular**2 / (singular**2 + ridge)
        fitted = left @ (kept * projected) + constant * (constant @ targets)
        leverages = np.square(left) @ kept + np.square(constant)
        missed = (targets - fitted) / np.maximum(1.0 - leverages, np.finfo(float).eps)
        errors.append(float(missed @ missed))
    return np.array(errors)
