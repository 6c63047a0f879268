"""InvCal: inverse calibration on the means of bags."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from propcvx.bags import Bags
from propcvx.checks import check_number
from propcvx.errors import IllPosedWarning, warn
from propcvx.estimators.bag_means import BagMeanClassifier
from propcvx.estimators.base import Hyperplane
from propcvx.losses import best_regression_bias
from propcvx.programs import inv_cal_dual, inv_cal_targets

Array = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class InvCal(BagMeanClassifier):
    r"""Inverse Calibration (Rüping 2010), eq:rueping_svm.

    A regression of each bag's mean on the logit of its proportion, with an
    :math:`\epsilon`-insensitive loss; solved in its dual, :func:`propcvx.programs.inv_cal_dual`.
    The logistic function of the score of a bag's mean is the proportion it models (eq:rueping).

    Parameters
    ----------
    C_p : float
        Weight of the loss of a bag.
    epsilon : float
        Half-width of the tube, >= 0.
    scaled_epsilon : bool
        Divide epsilon by :math:`p_k (1 - p_k)`, so that it is in units of the proportion.
    kernel : str or callable
        ``"linear"``, ``"rbf"``, ``"exponential"``, ``"poly"``, ``"precomputed"``, or a callable;
        see :class:`propcvx.kernels.Kernel`.
    gamma : float or "scale"
        Kernel coefficient; ``"scale"`` is ``1 / (n_features * X.var())``.
    degree : int
        Degree of ``"poly"``.
    coef0 : float
        Constant of ``"poly"``.
    solver : str, Solver or sequence
        A solver of quadratic programs, see ``propcvx.solvers.SOLVERS``, or several to try in turn;
        ``"auto"`` is :func:`propcvx.solvers.automatic`.
    solver_tol : float
        The relative duality gap to reach.
    solver_options : dict or None
        Handed to it as they are.

    Attributes
    ----------
    objective_ : float
        Value of eq:rueping_svm.
    solution_ : Solution
        The solver's answer with its certificate, in units in which C_p is 1: features times
        :math:`\sqrt{C_p}`, objective divided by C_p; where positives are the majority, positives
        and negatives are exchanged in it.
    history_ : History
        One round: objective, solver, status and time.
    stop_reason_ : StopReason
        That the program was solved.
    labeling_ : array of shape (n_instances,)
        Predicted labels -1, +1 of the training instances.
    coef_ : array of shape (1, n_features)
        Weights, for the linear kernel.
    dual_coef_ : array of shape (1, n_instances)
        Dual coefficients, for other kernels.
    intercept_ : array of shape (1,)
        Bias; where an interval of them is optimal, its middle.
    classes_ : array of shape (2,)
        Labels; ``[-1, 1]`` for bags.
    """

    gram_matrices = 10.0

    C_p: float = 1.0
    epsilon: float = 0.0
    _: KW_ONLY
    scaled_epsilon: bool = False
    solver_tol: float = 1e-6

    def _fit_means(self, features: Array, bags: Bags) -> Hyperplane:
        check_number("C_p", self.C_p, above=0.0)
        check_number("epsilon", self.epsilon, least=0.0)
        equal = bool(np.ptp(bags.proportions) == 0.0)
        if equal:
            warn(
                f"all {bags.n_bags} bags have the same proportion, so InvCal "
                "finds w = 0 and predicts one class; use AlterPropSVM or ConvPropSVM.",
                IllPosedWarning,
            )
        means = bags.means_of(features)
        centre = means.mean(axis=0)  # with a bias the origin is free, and rounding least there
        means = np.sqrt(self.C_p) * (means - centre)  # with C_p = 1, the same at any scale
        tube = inv_cal_targets(
            bags.proportions, bags.n_instances, self.epsilon, scaled=self.scaled_epsilon
        )
        wide = means.shape[1] > len(means)  # then as many columns have the same inner products
        rows = np.linalg.qr(means.T)[1].T if wide else means
        program = inv_cal_dual(rows).set(C_p=1.0, **tube)
        found = self._solve(program).variables
        weights = means.T @ (found["a"] - found["a_star"])
        bias = best_regression_bias(tube["target"], tube["epsilon"], means @ weights)
        weights = np.sqrt(self.C_p) * weights
        self.objective_ = max(0.0, self.C_p * self.objective_)
        return Hyperplane(weights, bias - float(centre @ weights), ill_posed=equal)
