"""MeanMap: class means from bag means, then a conditional exponential model."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propcvx.bags import Bags
from propcvx.checks import check_choice, check_number
from propcvx.errors import IllPosedWarning, warn
from propcvx.estimators.bag_means import BagMeanClassifier
from propcvx.estimators.base import Hyperplane, bag_weights
from propcvx.programs import class_means, conditional_exponential_model
from propcvx.programs.structures import best_logistic_bias
from propcvx.solvers import solve

Array = NDArray[np.float64]

ILL_CONDITIONED = 1e3
"""Condition number of the proportions above which the class means are reported as ill-posed."""


@dataclass(eq=False, repr=False)
class MeanMap(BagMeanClassifier):
    r"""MeanMap (Quadrianto et al. 2009), Section 2 of the paper.

    The class means are solved from the bag means by weighted least squares
    (:func:`propcvx.programs.class_means`); the classifier is the conditional exponential model
    with the mean operator they give (:func:`propcvx.programs.conditional_exponential_model`).

    Parameters
    ----------
    lam : float
        Weight :math:`\lambda` of :math:`\|w\|^2` beside the negative log-likelihood.
    likelihood : "mean" or "sum"
        Whether that is the mean over the instances or their sum, beside which :math:`\lambda`
        weighs N times less; the paper does not say.
    fit_intercept : bool
        Whether there is an (unregularised) bias.
    bag_weights : "bag", "size", array of shape (n_bags,), dict or pandas Series
        Weights of the bags in the least squares: equal, by number of instances, or as given.
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
        A solver of exponential cone programs, see ``propcvx.solvers.SOLVERS``, or several to try in
        turn; ``"auto"`` is :func:`propcvx.solvers.automatic`.
    solver_tol : float
        Its tolerance.
    solver_options : dict or None
        Handed to it as they are.

    Attributes
    ----------
    condition_number_ : float
        Condition number of the least squares for the class means.  Above 1e3, near-equal
        proportions leave the class means ill-determined and :class:`IllPosedWarning` says so; of
        several solutions the one of least norm is taken.
    class_means_ : array of shape (2, rank)
        Estimated means of the positive and the negative class, in features.
    objective_ : float
        Regularised mean negative log-likelihood, for ``likelihood="sum"`` too.
    solution_ : Solution
        The solver's answer with its certificate; where positives are the majority, positives and
        negatives are exchanged in it.
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
        Bias.
    classes_ : array of shape (2,)
        Labels; ``[-1, 1]`` for bags.
    """

    gram_matrices = 25.0

    lam: float = 1.0
    _: KW_ONLY
    likelihood: str = "mean"
    fit_intercept: bool = True
    bag_weights: Any = "bag"

    def _fit_means(self, features: Array, bags: Bags) -> Hyperplane:
        check_number("lam", self.lam, above=0.0)
        check_choice("likelihood", self.likelihood, ("mean", "sum"))
        lam = self.lam / bags.n_instances if self.likelihood == "sum" else self.lam
        centre = self.fit_intercept * features.mean(axis=0)  # with a bias the origin is free
        features = features - centre
        means = self._class_means(features, bags)
        prior = float(bags.sizes @ bags.proportions) / bags.n_instances
        program = conditional_exponential_model(features, bias=self.fit_intercept)
        program.set(lam=lam, mean_operator=np.array([prior, prior - 1.0]) @ means)
        if self.fit_intercept:
            program.set(mean_label=2.0 * prior - 1.0)
        found, bias = self._solve(program).variables, 0.0
        weights = found["w"]
        if self.fit_intercept:
            bias = best_logistic_bias(features @ weights, 2.0 * prior - 1.0, float(found["b"]))
        self.class_means_ = (means + centre)[:: bags.sign]
        return Hyperplane(weights, bias - float(centre @ weights), ill_posed=self._is_ill_posed)

    def _class_means(self, features: Array, bags: Bags) -> Array:
        weights = bag_weights(self.bag_weights, bags)
        program = class_means(bags.means_of(features), bags.proportions, weights)
        design = np.sqrt(weights)[:, None] * np.column_stack(
            [bags.proportions, 1 - bags.proportions]
        )
        singular = np.linalg.svd(design, compute_uv=False)
        enough = bags.n_bags > 1 and singular[-1] > 0.0
        self.condition_number_ = float(singular[0] / singular[-1]) if enough else np.inf
        if self._is_ill_posed:
            close = f"the proportions of the {bags.n_bags} bags are so close to each other"
            warn(
                f"{close if bags.n_bags > 1 else 'there is so little in one bag'} (condition "
                f"number {self.condition_number_:.3g}) that the class means are ill-determined; "
                "use AlterPropSVM or ConvPropSVM.",
                IllPosedWarning,
            )
        return solve(program, "lstsq").variables["means"]

    @property
    def _is_ill_posed(self) -> bool:
        return not self.condition_number_ < ILL_CONDITIONED
