"""MeanMap and InvCal, which use only the mean of a bag and solve one program each."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from propcvx.arrays import Array, BagWeights, Scale, Tolerance
from propcvx.bags.bags import Bags
from propcvx.checks import check_choice, number_or_computed
from propcvx.errors import IllPosedWarning, InputError, warn
from propcvx.estimators.base import BagClassifier
from propcvx.estimators.scaling import total_variance
from propcvx.history import FitResult, labels_of, single_round_history
from propcvx.labelings.losses import best_regression_bias
from propcvx.programs import conditional_exponential_model, inv_cal_dual, inv_cal_targets
from propcvx.svm.kernels import FeatureMap
from propcvx.svm.training import bag_weights

ILL_CONDITIONED = 1e3
"""Condition number of the proportions above which the class means are reported as ill-posed."""


@dataclass(eq=False, repr=False)
class OneProgramClassifier(BagClassifier):
    """Base of the methods that solve one program.

    A known label counts as a singleton bag (:meth:`~propcvx.bags.bags.Bags.isolate_known_labels`),
    and bags without a proportion do not count.
    """

    def _check_bags(self, bags: Bags) -> None:
        bags.check_known()

    def _training_bags(self, feature_map: FeatureMap, bags: Bags) -> tuple[Array, Bags, Bags]:
        """Return features and bags with a proportion, known labels as singletons; and all bags."""
        all_bags = bags.isolate_known_labels()
        training_bags, instances = all_bags.select_with_proportion()
        if not training_bags.n_bags:
            raise InputError(
                f"{type(self).__name__} needs a bag with a proportion or a known label; got none."
            )
        if not training_bags.masses.any():
            raise InputError(
                "sample_weight must be above 0 in a bag with a proportion; got 0 in all."
            )
        features = feature_map.features
        rows = features if len(instances) == len(features) else features[instances]
        return rows, training_bags, all_bags

    def _finish(
        self, features: Array, weights: Array, bias: float, objective: float, ill_posed: bool
    ) -> FitResult:
        """Build the result of the fit; ``ill_posed`` if the data do not determine it well."""
        history = single_round_history(self.solution_.value, self.solution_)
        labeling = labels_of(features @ weights + bias)
        return FitResult(labeling, weights, bias, objective, history, ill_posed=ill_posed)

    def _warn_if_equal_proportions(self, *classes: Bags) -> bool:
        """Warn if all bags have the same proportion of a class, or of all that are passed."""
        if equal := all(np.ptp(bags.proportions) == 0.0 for bags in classes):
            several = len(classes) == 1 and len(classes[0].class_names) > 2
            scope, tail = (" of one class", "for it") if several else ("", "and predicts one class")
            warn(
                f"all bags have the same proportion{scope}, so {type(self).__name__} finds w = 0 "
                f"{tail}. Use SecondMoments or AlterPropSVM.",
                IllPosedWarning,
            )
        return equal


@dataclass(eq=False, repr=False)
class BagMeanClassifier(OneProgramClassifier):
    """Base of the methods that use only the mean of a bag, and weight the loss of each bag."""

    _: KW_ONLY
    bag_weights: BagWeights = "uniform"

    def _loss_weights(self, bags: Bags) -> Array:
        """Return the factor of the loss of each bag with a proportion.

        It is the bag's weight times the mean weight of its instances.
        """
        weights = bag_weights(self.bag_weights, bags) * bags.weights_of_bags
        return weights[bags.has_proportion]


@dataclass(eq=False, repr=False)
class MeanMap(BagMeanClassifier):
    r"""MeanMap: logistic regression with class means estimated from bag means.

    The method is by Quadrianto et al. [1]_, Section 2 of the paper.  The class means are solved
    from the bag means by weighted least squares (:func:`propcvx.programs.class_means`); the
    classifier is the conditional exponential model with the mean operator they give
    (:func:`propcvx.programs.conditional_exponential_model`),

    .. math::

        \min_{w, b} \frac1N \sum_i \log(e^{f_i} + e^{-f_i}) - w^\top \hat\mu - b \bar y
        + \lambda \|w\|^2, \qquad f_i = w^\top F_i + b,

    with :math:`\hat\mu` the estimated mean of :math:`y_i F_i` (the mean operator) and
    :math:`\bar y` of :math:`y_i`.

    With a ``sample_weight`` the means of the bags, the log-likelihood and the proportion of
    positives in the data are weighted, and the mean weight of a bag multiplies its weight in the
    least squares.  This assumes that inside a bag the weights do not depend on the label.

    Parameters
    ----------
    lam : float or "scale", default="scale"
        Weight :math:`\lambda` of :math:`\|w\|^2` relative to the negative log-likelihood.
        Larger values give smaller weights.
        ``"scale"`` is :math:`s^2 / \sqrt{N}`, with :math:`s^2` the total variance of the N
        instances in the features of the kernel: the mean squared distance from their mean.
    likelihood : "mean" or "sum", default="mean"
        Whether the negative log-likelihood is the mean over the instances or their sum.  Relative
        to the sum, :math:`\lambda` weighs N times less, and ``"scale"`` is N times larger.  The
        paper does not specify which.
    fit_intercept : bool, default=True
        Whether there is an (unregularized) bias.
    bag_weights : "uniform", "size", array of shape (n_bags,), dict or Series, default="uniform"
        Weights of the bags in the least squares: equal, by number of instances, or an array
        in the order of the sorted ids, or a dict or Series by id.
        Labels known inside a bag are singleton bags, and divide its weight with the rest by number
        of instances.
    kernel : str or callable, default="linear"
        ``"linear"``, ``"rbf"``, ``"exponential"``, ``"poly"``, ``"precomputed"``, or a callable
        ``kernel(X, Z)`` that returns the Gram matrix; see :class:`propcvx.svm.kernels.Kernel`.
    gamma : float or "scale", default="scale"
        Kernel coefficient; ``"scale"`` is ``1 / (n_features * X.var())``.
    degree : int, default=3
        Degree of ``"poly"``.
    coef0 : float, default=1.0
        Constant of ``"poly"``.
    solver : str, Solver or sequence, default="auto"
        A solver of exponential cone programs, see
        :data:`~propcvx.solvers.table.SOLVERS`, or several to try in turn;
        ``"auto"`` is :func:`propcvx.solvers.choose_solvers`.
    solver_tol : float, default=1e-12
        The relative duality gap to reach, about the square of the relative error of the weights.
    solver_options : dict or None
        Options of the solver, passed on unchanged.

    Attributes
    ----------
    condition_number_ : float, with two classes
        Condition number of the least squares for the class means.  Above 1e3, near-equal
        proportions leave the class means ill-determined, and the fit issues an
        :class:`~propcvx.errors.IllPosedWarning`.  If all proportions are equal, both class means
        are the mean of all instances.
    class_means_ : array of shape (2, rank), with two classes
        Row 0: estimated mean of the positive class, row 1: of the negative class (the reverse of
        ``classes_``): of X with the linear kernel
        (``rank`` is ``n_features``), otherwise of the factor F of the Gram matrix F F'.
    lam_ : float
        The :math:`\lambda` that was used; with two classes.
    objective_ : float
        Regularized mean negative log-likelihood, for ``likelihood="sum"`` too.  With more than two
        classes, the sum over the classes.
    solution_ : Solution, with two classes
        The solution of the program that was solved, with its duality gap; classes are exchanged in
        it if positives are the majority.
    history_ : History
        One round: objective, solver, status and time.
    stop_reason_ : StopReason
        ``StopReason.SOLVED``.
    transduction_ : array of shape (n_instances,)
        Predicted labels of the training instances, from ``classes_``.
    coef_ : array of shape (1, n_features)
        Weights, for the linear kernel; a row for each of more than two classes.
    dual_coef_ : array of shape (1, n_instances)
        Dual coefficients, for other kernels; a row for each of more than two classes.
    intercept_ : array of shape (1,), with more than two classes (n_classes,)
        Bias.
    classes_ : array of shape (n_classes,)
        After a fit to labels the sorted labels; after a fit to bags ``[-1, 1]``, or with a table
        the sorted names of its classes.  The last of two is positive.

    See Also
    --------
    propcvx.InvCal : Fit a regression of the logits of proportions.
    propcvx.programs.class_means : Build the least squares for the class means.
    propcvx.programs.conditional_exponential_model : Build the program of the model.

    References
    ----------
    .. [1] N. Quadrianto, A. J. Smola, T. S. Caetano and Q. V. Le. Estimating labels from label
       proportions. JMLR, 10:2349-2374, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx import MeanMap, bag_target
    >>> X = np.array([[2, 1], [1, 2], [-1, -1], [1, 0], [-1, 0], [-2, -1]])
    >>> y = bag_target([0, 0, 0, 1, 1, 1], [2 / 3, 1 / 3])
    >>> fitted = MeanMap().fit(X, y)
    >>> fitted.predict(X)
    array([ 1,  1, -1,  1, -1, -1])
    >>> fitted.class_means_.round(2)
    array([[ 2.  ,  1.67],
           [-2.  , -1.33]])
    """

    lam: Scale = "scale"
    _: KW_ONLY
    likelihood: Literal["mean", "sum"] = "mean"
    fit_intercept: bool = True
    solver_tol: float = 1e-12

    def _run(self, feature_map: FeatureMap, bags: Bags) -> FitResult:
        check_choice("likelihood", self.likelihood, ("mean", "sum"))
        features, bags, all_bags = self._training_bags(feature_map, bags)
        center = self.fit_intercept * features.mean(axis=0)  # with a bias the origin is free
        n = bags.total_weight if self.likelihood == "sum" else 1.0

        def scale() -> float:
            root = np.sqrt(max(bags.n_weighing, bags.total_weight))
            return n * (total_variance(features, bags.relative_weights) / root or 1.0)

        self.lam_ = number_or_computed("lam", self.lam, scale)
        of_bags = bags.means_of(features) - center
        means, ill_posed = self._class_means(of_bags, bags, self._loss_weights(all_bags))
        prior = float(bags.masses @ bags.proportions) / float(bags.masses.sum())
        program = conditional_exponential_model(
            features - center, bias=self.fit_intercept, weights=bags.weights
        )
        program.set(lam=self.lam_ / n, mean_operator=np.array([prior, prior - 1.0]) @ means)
        if self.fit_intercept:
            program.set(mean_label=2.0 * prior - 1.0)
        self.solution_ = self._solve(program)
        weights = self.solution_.variables["w"] * (np.ptp(bags.proportions) > 0.0)
        self.class_means_ = means + center
        bias = float(self.solution_.variables.get("b", 0.0)) - float(center @ weights)
        return self._finish(feature_map.features, weights, bias, self.solution_.value, ill_posed)

    def _class_means(self, of_bags: Array, bags: Bags, weights: Array) -> tuple[Array, bool]:
        """Solve :func:`propcvx.programs.class_means`; return also whether it is ill-posed."""
        roots = np.sqrt(weights)[:, None]
        design = roots * np.column_stack([bags.proportions, 1.0 - bags.proportions])
        means, _, rank, singular = np.linalg.lstsq(design, roots * of_bags)
        is_identified = bags.n_bags > 1 and singular[-1] > 0.0
        if rank < 2:  # equal proportions: the class means are not identified
            means = np.tile(bags.masses @ of_bags / bags.masses.sum(), (2, 1))
        self.condition_number_ = float(singular[0] / singular[-1]) if is_identified else np.inf
        ill_posed = self.condition_number_ >= ILL_CONDITIONED
        if ill_posed:
            warn(
                "the proportions of the bags do not identify the class means (condition number "
                f"{self.condition_number_:.3g}). Use SecondMoments or AlterPropSVM.",
                IllPosedWarning,
            )
        return means, ill_posed


@dataclass(eq=False, repr=False)
class InvCal(BagMeanClassifier):
    r"""InvCal (inverse calibration): support vector regression of bag means.

    The method is by Rüping [1]_, eq:rueping_svm.  It is a regression of the logit of each bag's
    proportion on its mean, with an :math:`\epsilon`-insensitive loss,

    .. math::

        \min_{w, b} \tfrac12 \|w\|^2 + C_p \sum_k \omega_k \max(0, |w^\top m_k + b - \tau_k| -
        \epsilon_k), \qquad \tau_k = -\log(1 / p_k - 1),

    solved in its dual, :func:`propcvx.programs.inv_cal_dual`; :math:`m_k` is the bag's mean.  The
    logistic function of the score of a bag's mean is the proportion it models (Equation (6),
    eq:rueping).

    With a ``sample_weight`` the means of the bags are weighted, and the mean weight of a bag
    multiplies its loss.  This assumes that inside a bag the weights do not depend on the label.
    Proportions are clipped to :math:`[1/N, 1 - 1/N]`, with N the number of instances that have a
    weight, or the sum of the weights if that is more.

    Parameters
    ----------
    C_p : float or "scale", default="scale"
        Weight of the loss of a bag.  Larger values fit the proportions more closely and regularize
        less.  ``"scale"`` is :math:`1 / (2 s^2)`, with
        :math:`s^2 = \frac1N \sum_k n_k \omega_k \|m_k - \bar m\|^2` the total variance of the bag
        means in the features of the kernel, :math:`\omega_k` the ``bag_weights`` and
        :math:`\bar m` the mean of all instances.
    epsilon : float, "sampling", array of shape (n_bags,), dict or Series, default=0.0
        Tolerance within which a bag has no loss, >= 0: in units of the score (the logit), or of
        the proportion with ``scaled_epsilon``.  One for all bags, an array in the order of the
        sorted ids, or a dict or Series keyed by bag id.  ``"sampling"`` uses
        :func:`propcvx.sampling_epsilon`, in units of the proportion: with ``scaled_epsilon`` only.
        A label known inside a bag is a singleton bag with the epsilon of that bag, or, with
        ``"sampling"``, with 0.
    scaled_epsilon : bool, default=False
        Divide epsilon by :math:`p_k (1 - p_k)`, so that it is in units of the proportion.
    bag_weights : "uniform", "size", array of shape (n_bags,), dict or Series, default="uniform"
        Factor of C_p for each bag: 1 (the paper), the bag's number of instances, or an array in
        the order of the sorted ids, or a dict or Series by id.
        Labels known inside a bag are singleton bags, and divide its weight with the rest by number
        of instances.
    kernel : str or callable, default="linear"
        ``"linear"``, ``"rbf"``, ``"exponential"``, ``"poly"``, ``"precomputed"``, or a callable
        ``kernel(X, Z)`` that returns the Gram matrix; see :class:`propcvx.svm.kernels.Kernel`.
    gamma : float or "scale", default="scale"
        Kernel coefficient; ``"scale"`` is ``1 / (n_features * X.var())``.
    degree : int, default=3
        Degree of ``"poly"``.
    coef0 : float, default=1.0
        Constant of ``"poly"``.
    solver : str, Solver or sequence, default="auto"
        A solver of quadratic programs, see
        :data:`~propcvx.solvers.table.SOLVERS`, or several to try in turn;
        ``"auto"`` is :func:`propcvx.solvers.choose_solvers`.
    solver_tol : float, default=1e-8
        The relative duality gap to reach.
    solver_options : dict or None
        Options of the solver, passed on unchanged.

    Attributes
    ----------
    C_p_ : float
        The :math:`C_p` that was used; with two classes.
    objective_ : float
        Value of Equation (5), eq:rueping_svm; with more than two classes, the sum over the classes.
    solution_ : Solution, with two classes
        The solution of the program that was solved, with its duality gap.  Its units are not the
        units of X: the features are scaled so that the largest weight of a bag's loss is 1, and
        classes are exchanged if positives are the majority.  Use ``coef_`` for the units of X.
    history_ : History
        One round: objective, solver, status and time.
    stop_reason_ : StopReason
        ``StopReason.SOLVED``.
    transduction_ : array of shape (n_instances,)
        Predicted labels of the training instances, from ``classes_``.
    coef_ : array of shape (1, n_features)
        Weights, for the linear kernel; a row for each of more than two classes.
    dual_coef_ : array of shape (1, n_instances)
        Dual coefficients, for other kernels; a row for each of more than two classes.
    intercept_ : array of shape (1,), with more than two classes (n_classes,)
        Bias; where an interval of them is optimal, its middle.
    classes_ : array of shape (n_classes,)
        After a fit to labels the sorted labels; after a fit to bags ``[-1, 1]``, or with a table
        the sorted names of its classes.  The last of two is positive.

    See Also
    --------
    propcvx.EcologicalRegression : Fit a ridge regression of the proportions themselves.
    propcvx.programs.inv_cal_dual : Build the program of this method.
    propcvx.fit_means : Fit to a table of means, without instances.

    References
    ----------
    .. [1] Stefan Rüping. SVM classifier estimation from group probabilities. ICML, pages 911-918,
       2010.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx import InvCal, bag_target
    >>> X = np.array([[2, 1], [1, 2], [-1, -1], [1, 0], [-1, 0], [-2, -1]])
    >>> y = bag_target([0, 0, 0, 1, 1, 1], [2 / 3, 1 / 3])
    >>> fitted = InvCal().fit(X, y)
    >>> fitted.predict(X)
    array([ 1,  1, -1,  1, -1, -1])
    >>> fitted.predict_proba(X)[:, 1].round(2)
    array([0.76, 0.74, 0.31, 0.59, 0.38, 0.23])
    """

    C_p: Scale = "scale"
    epsilon: Tolerance = 0.0
    _: KW_ONLY
    scaled_epsilon: bool = False

    def _epsilons(self, bags: Bags) -> Array:
        if isinstance(self.epsilon, str) and not self.scaled_epsilon:
            raise InputError(
                "epsilon must be in units of the score with scaled_epsilon=False; got "
                f"{self.epsilon!r}. Set scaled_epsilon=True for units of the proportion."
            )
        return bags.epsilons(self.epsilon, high=np.inf)[bags.has_proportion]

    def _run(self, feature_map: FeatureMap, bags: Bags) -> FitResult:
        features, bags, all_bags = self._training_bags(feature_map, bags)
        loss_weights, epsilons = self._loss_weights(all_bags), self._epsilons(all_bags)
        equal = self._warn_if_equal_proportions(bags)
        means = bags.means_of(features)

        def scale() -> float:
            masses = bags.sizes * loss_weights  # those of the instances times the bags' weights
            variance = total_variance(means, masses) * masses.sum() / bags.masses.sum()
            return 0.5 / variance if variance else 1.0

        self.C_p_ = number_or_computed("C_p", self.C_p, scale)
        center = means.mean(axis=0)  # with a bias the origin is free, and rounding least there
        costs = self.C_p_ * bags.mean_weight * loss_weights
        unit = float(costs.max())
        means = np.sqrt(unit) * (means - center)  # with C_p = 1, the same at any scale
        n = max(bags.n_weighing, bags.total_weight)
        tube = inv_cal_targets(bags.proportions, n, epsilons, scaled=self.scaled_epsilon)
        wide = means.shape[1] > len(means)  # then as many columns have the same inner products
        rows = np.linalg.qr(means.T)[1].T if wide else means
        self.solution_ = self._solve(inv_cal_dual(rows).set(C_p=costs / unit, **tube))
        duals = self.solution_.variables
        weights = means.T @ (duals["a"] - duals["a_star"])
        if equal:  # then 0 is the answer, and labels would go by rounding errors
            weights = np.zeros_like(weights)
        bias = best_regression_bias(tube["target"], tube["epsilon"], means @ weights, costs)
        weights = np.sqrt(unit) * weights
        objective = max(0.0, unit * self.solution_.value)
        return self._finish(
            feature_map.features, weights, bias - float(center @ weights), objective, equal
        )
