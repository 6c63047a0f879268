"""Ecological regression: a ridge regression of the proportions on the means of the bags."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from propcvx.arrays import Array
from propcvx.bags.bags import Bags
from propcvx.checks import check_number
from propcvx.errors import InputError
from propcvx.estimators.means import BagMeanClassifier
from propcvx.history import Fitted
from propcvx.programs import ecological_regression
from propcvx.svm.kernels import FeatureMap

STRENGTHS = np.logspace(-4.0, 3.0, 141)
"""What ``ridge="evidence"`` chooses from."""

MEDIAN, DEVIATION = 0.3, 0.5
"""Of the log-normal prior of the strength; the deviation is that of its logarithm."""

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
    ridge : float or "evidence"
        Strength :math:`\rho` of the ridge in units of the scatter of the bag means,
        :math:`\lambda = \rho \operatorname{tr}(S^2) / \operatorname{tr}(S)` with
        :math:`S = \sum_k \omega_k (m_k - \bar m)(m_k - \bar m)^\top`.  ``"evidence"`` is the most
        probable one: near 0.3 with few bags or noisy shares, and less the more bags there are, see
        :func:`log_evidence`.
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
        The strength :math:`\rho` that was used; only with two classes.  With more, all have one.
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

    ridge: float | str = "evidence"
    _: KW_ONLY
    bag_weights: Any = "size"

    def _run(self, feature_map: FeatureMap, bags: Bags) -> Fitted:
        features, bags, apart = self._seen(feature_map, bags)
        weights, p = self._loss_weights(apart), bags.proportions
        equal = self._warns_of_equal_shares(bags)
        means = bags.means_of(features)
        centre = weights @ means / weights.sum()
        self.ridge_, unit = self._strength(means - centre, p[:, None], weights)
        wide = means.shape[1] > len(means)  # then as many columns have the same inner products
        basis, posed = np.linalg.qr((means - centre).T) if wide else (None, None)
        program = ecological_regression(means - centre if posed is None else posed.T, weights)
        self.solution_ = self._solve(program.set(p=p, lam=self.ridge_ * unit))
        w = self.solution_.variables["w"]
        plane = w if basis is None else basis @ w
        bias = float(self.solution_.variables["b"] - centre @ plane) - 0.5
        return self._end(feature_map.features, plane, bias, self.solution_.value, equal)

    def _for_classes(self, feature_map: FeatureMap, bags: Bags) -> EcologicalRegression:
        """One strength for all classes: then the values of the regressions sum to one."""
        each = [self._seen(feature_map, bags.against_rest(number)) for number in bags.label_values]
        features, first, apart = each[0]
        shares = np.column_stack([seen.proportions for _, seen, _ in each])
        means, weights = first.means_of(features), self._loss_weights(apart)
        strength, _ = self._strength(means - weights @ means / weights.sum(), shares, weights)
        return clone(self).set_params(ridge=strength)

    def _strength(self, centred: Array, shares: Array, weights: Array) -> tuple[float, float]:
        """The strength that is given, or the most probable one, and its unit."""
        rows = np.sqrt(weights)[:, None] * centred
        unit = scatter_unit(rows)
        if not isinstance(self.ridge, str):
            return check_number("ridge", self.ridge, least=0.0), unit
        if self.ridge != "evidence":
            raise InputError(
                f"ridge must be a number of at least 0 or 'evidence', got {self.ridge!r}."
            )
        varied = np.sqrt(weights)[:, None] * (shares - weights @ shares / weights.sum())
        evidence = log_evidence(
            rows, varied, STRENGTHS * unit, n_distinct(centred, shares, weights)
        )
        prior = -0.5 * np.square(np.log(STRENGTHS / MEDIAN) / DEVIATION)
        return float(STRENGTHS[np.argmax(evidence + prior)]), unit

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


def n_distinct(centred: Array, shares: Array, weights: Array) -> int:
    """The number of bags, of which equal ones are one: a bag of weight two is that bag twice."""
    largest = float(np.abs(centred).max(initial=0.0)) or 1.0
    seen = np.column_stack([centred / largest, shares])[weights > 0.0]
    return len(np.unique(np.round(seen, 9) + 0.0, axis=0))


def log_evidence(rows: Array, varied: Array, ridges: Array, n_bags: int) -> Array:
    r"""Log of the marginal likelihood (MacKay 1992), for each :math:`\lambda`, up to a constant.

    The model is :math:`p_k = w^\top m_k + b + e_k` with w and :math:`e_k` normal, of mean 0 and
    variances :math:`s^2 / \lambda` and :math:`s^2 / \omega_k`, b uniform and s of density 1 / s.
    Several classes have one s, and all but one are free.

    Parameters
    ----------
    rows : array of shape (n_bags, rank)
        The bag means less their mean, times the roots of the weights.
    varied : array of shape (n_bags, 1) or (n_bags, n_classes)
        The proportions less their mean, times these roots.
    ridges : array of shape (n_ridges,)
    n_bags : int
        The number of bags that differ.
    """
    left, singular, _ = np.linalg.svd(rows, full_matrices=False)
    squares, projected = np.square(singular), np.square(left.T @ varied).sum(axis=1)
    rest = max(float(np.square(varied).sum() - projected.sum()), 0.0)
    missed = ridges[:, None] / (squares + ridges[:, None]) @ projected + rest
    determinants = np.log1p(squares / ridges[:, None]).sum(axis=1)
    logs = (n_bags - 1) * np.log(np.maximum(missed, np.finfo(float).tiny))
    return np.asarray(-0.5 * max(varied.shape[1] - 1, 1) * (logs + determinants))
