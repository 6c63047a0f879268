"""Logistic regression by the likelihood of the numbers of positives in bags."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any, Literal

import numpy as np
from cvxpy import OPTIMAL, USER_LIMIT
from scipy.optimize import minimize
from scipy.special import log_expit, softmax
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from propcvx.alternating import descent, maximize_likelihood
from propcvx.arrays import Array, Seed, Tolerance
from propcvx.bags.bags import Bags
from propcvx.checks import check_count, check_number, number_or_computed
from propcvx.errors import InputError
from propcvx.estimators.means import OneProgramClassifier
from propcvx.estimators.scaling import known_variance
from propcvx.history import FitResult, History, Round, StopReason, labels_of
from propcvx.labelings.given_counts import CountLikelihood, class_likelihood
from propcvx.svm.kernels import FeatureMap
from propcvx.svm.training import TrainingData

MOST_COLUMNS = 500
"""With more columns there is no posterior, whose covariance takes a gradient for each column."""

STEP = 1e-4
"""Of the differences of gradients, in units of the parameters."""

LABEL_VARIANCE = 0.01
"""A typical variance of a label after the fit, which determines the scale of the first steps."""

SAME_MAXIMUM = 1e-6
"""Relative difference of two objective values of one maximum."""

MANY_BAGS = 1000
"""With more bags there is one ascent; a second changed none of 15 problems of 1,500 or more."""

RIDGES = (1.0, 0.3, 0.1, 0.03)
"""Strengths that ``ridge="held-out"`` chooses from; each fit starts from the one before."""

N_FOLDS = 3
"""Of bags that are held out together."""

FEW_BAGS, FEW_BAGS_RIDGE = 8, 0.1
"""With fewer bags the strength is fixed; a choice costs 2 points with four (natural.py)."""

FOLD_TOL = 1e-5
"""Improvement below which a fit to the other folds ends; fits within 1e-7 chose no better."""

Likelihoods = Sequence[CountLikelihood]


@dataclass(eq=False, repr=False)
class AggregateLogisticRegression(OneProgramClassifier):
    r"""Logistic regression fitted by the likelihood of the number of positives in each bag.

    The labels :math:`t_i \in \{0, 1\}` are independent, with
    :math:`P(t_i = 1) = 1 / (1 + e^{-s_i})` and :math:`s_i = w^\top x_i + b`.  The number of
    positives of bag k then has a Poisson-binomial distribution, and the fit is

    .. math::

        \max_{w, b} \sum_k \omega_k \log P(l_k \le \textstyle\sum_{i \in k} t_i \le u_k)
        - \frac{\rho s^2}{2} \|w\|^2

    where :math:`l_k` to :math:`u_k` are the counts that the proportion of bag k allows [1]_
    [2]_, :math:`s^2` is the total variance of the
    instances, and :math:`\omega_k = 1`.  The probabilities are exact in bags of any size.  A method
    that sees only the means of bags ignores the variance of a count, which has most of the
    information where bags are random or few.  The objective is not concave.  With at most
    1,000 bags, L-BFGS runs from two starts, the constant probability and the mirror image of the
    first maximum, and the larger maximum is the fit; with more bags, from the first start.

    Multiplying all features by one number, or shifting them, changes no prediction.  With a
    ``sample_weight``, :math:`\omega_k` is the mean weight of the instances of bag k, so that in the
    likelihood a bag with a mean weight of two counts as two bags.  This assumes that inside a bag
    the weights do not depend on the label.  A known label is a singleton bag, and the rest of its
    bag has the rest of the count.  Bags without a proportion have no term.

    With more than two classes, the probabilities are the softmax of a score for each class, and the
    fit maximizes a composite likelihood: half the sum of the log-likelihoods of the counts of each
    class, which ignores that these counts depend on each other; see
    :func:`propcvx.labelings.given_counts.class_likelihood`.

    Parameters
    ----------
    ridge : float or "held-out", default="held-out"
        Strength :math:`\rho > 0` of the ridge in units of the total variance :math:`s^2` of the
        instances in the features of the kernel.  Larger values give smaller weights.
        ``"held-out"`` takes the value of 0.03, 0.1, 0.3 and 1 with the largest likelihood of
        held-out bags, in three folds of whole bags; with fewer than eight bags it is 0.1.
    epsilon : float, str, array of shape (n_bags,), dict or Series, default="rounding"
        Tolerance of the proportions, which gives the counts :math:`l_k` to :math:`u_k`.
        ``"rounding"`` takes the count nearest to a proportion, ``"sampling"`` is
        :func:`propcvx.sampling_epsilon`.
    tol : float, default=1e-12
        Improvement of the objective by an iteration, relative to the objective, below which the fit
        ends.
    max_iter : int, default=1000
        Largest number of iterations.
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
        ``"auto"`` is SciPy's L-BFGS on the likelihood.  With two classes and a solver of
        exponential cone programs the fit alternates between expected labels and the program
        :func:`propcvx.programs.soft_logistic_regression`
        (:func:`propcvx.alternating.maximize_likelihood`): this ends at the same
        maximum in most problems, and takes ten to a hundred times as long.  Other solvers, and any
        solver with more than two classes, raise an error.
    solver_tol : float, default=1e-8
        Tolerance of that solver.
    solver_options : dict or None
        Options of the solver, passed on unchanged.

    Attributes
    ----------
    covariance_ : array of shape (n_features + 1, n_features + 1) or None
        Covariance of the weights and the bias (a sandwich estimate), from which
        :meth:`sample_probabilities` draws.  None if there are more than two classes, more than 500
        columns or another kernel than the linear one, or if all proportions are equal.
    ridge_ : float
        The strength :math:`\rho` that was used.
    objective_ : float
        Minus the penalized log-likelihood.
    history_ : History
        Objective, solver, status and time of every iteration.
    n_iter_ : int
        Number of iterations.
    stop_reason_ : StopReason
        Why the iterations stopped.
    transduction_ : array of shape (n_instances,)
        Predicted labels of the training instances, from ``classes_``; known labels of several
        classes are kept.
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
    propcvx.EcologicalRegression : Use only the means of bags, with other intervals.
    propcvx.AlterPropSVM : Estimate labels and a separator together.
    propcvx.group_rates : Estimate rates of groups from the fit.

    References
    ----------
    .. [1] R. L. Prentice and L. Sheppard. Aggregate data studies of disease risk factors.
       Biometrika, 82(1):113-125, 1995.
    .. [2] T. Sun, D. Sheldon and B. O'Connor. A probabilistic approach for learning with label
       proportions applied to the US presidential election. ICDM, pages 445-454, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx import AggregateLogisticRegression, bag_target
    >>> X = np.array([[2, 1], [1, 2], [-1, -1], [1, 0], [-1, 0], [-2, -1]])
    >>> y = bag_target([0, 0, 0, 1, 1, 1], [2 / 3, 1 / 3])
    >>> fitted = AggregateLogisticRegression().fit(X, y)
    >>> fitted.predict(X)
    array([ 1,  1, -1,  1, -1, -1])
    >>> fitted.predict_proba(X)[:, 1].round(2)
    array([0.97, 0.94, 0.09, 0.8 , 0.17, 0.02])
    """

    ridge: float | Literal["held-out"] = "held-out"
    _: KW_ONLY
    epsilon: Tolerance = "rounding"
    tol: float = 1e-12
    max_iter: int = 1000

    def _check_bags(self, bags: Bags) -> None:
        bags.check_known(self.epsilon)

    def _likelihood(self, feature_map: FeatureMap, bags: Bags) -> CountLikelihood:
        _, training_bags, _ = self._training_bags(feature_map, bags)
        return CountLikelihood.from_bags(training_bags, bags, self.epsilon)

    def _standardize(self, feature_map: FeatureMap, bags: Bags) -> tuple[Array, Array, float]:
        """Return the training rows with a total variance of 1, and their mean and unit."""
        features, training_bags, _ = self._training_bags(feature_map, bags)
        unit = np.sqrt(known_variance(feature_map.features, bags)) or 1.0
        mean = np.average(features, axis=0, weights=training_bags.relative_weights)
        return (features - mean) / unit, mean, unit

    def _run(self, feature_map: FeatureMap, bags: Bags) -> FitResult:
        return self._maximize(feature_map, [bags])

    def _run_classes(self, feature_map: FeatureMap, bags: Bags) -> FitResult:
        """Maximize the composite likelihood of the counts of all classes."""
        against_rest = [bags.against_rest(number) for number in bags.label_values]
        result = self._maximize(feature_map, against_rest)
        return replace(result, labeling=np.where(bags.labels > 0, bags.labels, result.labeling))

    def _maximize(self, feature_map: FeatureMap, classes: Sequence[Bags]) -> FitResult:
        """Fit to the bags of two classes, or to the bags of each of several against the rest."""
        tol = check_number("tol", self.tol, low=0.0, closed="left")
        limits: Any = {"tol": tol, "max_iter": check_count("max_iter", self.max_iter)}
        direct = isinstance(self.solver, str) and self.solver == "auto"
        if not direct and len(classes) > 1:
            raise InputError(f"solver must be 'auto' with several classes; got {self.solver!r}.")
        likelihoods = [self._likelihood(feature_map, bags) for bags in classes]
        rows, mean, unit = self._standardize(feature_map, classes[0])
        if equal := self._warn_if_equal_proportions(*(each.feasible.bags for each in likelihoods)):
            rows = np.zeros_like(rows)
        choose = partial(choose_ridge, rows, likelihoods)
        self.ridge_ = number_or_computed("ridge", self.ridge, choose, "held-out")
        if equal or direct:
            result = maximize_directly(rows, likelihoods, self.ridge_, **limits)
        else:
            loop = maximize_likelihood(rows, likelihoods[0], self.ridge_, self._solve, **limits)
            result = descent(loop)
        self.n_iter_ = len(result.history)
        weights = result.weights / unit
        bias = result.bias - mean @ weights
        labeling = labels_of(feature_map.features @ weights + bias)
        return FitResult(labeling, weights, bias, result.objective, result.history, ill_posed=equal)

    def _store(
        self, data: TrainingData, feature_map: FeatureMap, result: FitResult, scores: Array
    ) -> None:
        super()._store(data, feature_map, result, scores)
        self.covariance_ = None
        linear, few = feature_map.kernel.name == "linear", len(result.weights) <= MOST_COLUMNS
        if linear and few and scores.ndim == 1 and not result.ill_posed:
            rows, mean, unit = self._standardize(feature_map, data.bags)
            likelihood = self._likelihood(feature_map, data.bags)
            plane = np.append(result.weights * unit, result.bias + mean @ result.weights)
            covariance = sandwich_covariance(rows, likelihood, self.ridge_, plane)
            back = np.diag(np.append(np.full(len(mean), 1.0 / unit), 1.0))
            back[-1, :-1] = -mean / unit
            self.covariance_ = back @ covariance @ back.T

    def predict_proba(self, X: Any) -> Array:
        """Compute the probability of each class by the model, without a calibration.

        With more than two classes, it is the softmax of the scores.

        Parameters
        ----------
        X : array of shape (n_instances, n_features)

        Returns
        -------
        probabilities : array of shape (n_instances, n_classes)
            In the order of ``classes_``.
        """
        scores = self.decision_function(X)
        both = np.column_stack([-scores / 2.0, scores / 2.0]) if scores.ndim == 1 else scores
        return np.asarray(softmax(both, axis=1))

    @available_if(lambda model: getattr(model, "covariance_", None) is not None)
    def sample_probabilities(self, X: Any, random_state: Seed = None) -> Array:
        """Draw a hyperplane around the fit and return its probabilities of positives.

        Weights and bias are drawn from the normal distribution with the fit as mean and the
        covariance ``covariance_``.  The method does not exist if ``covariance_`` is None.

        Parameters
        ----------
        X : array of shape (n_instances, n_features)
        random_state : int, RandomState or None

        Returns
        -------
        probabilities : array of shape (n_instances,)
        """
        sample, random = copy(self), check_random_state(random_state)
        covariance: Any = self.covariance_
        values, vectors = np.linalg.eigh(covariance)
        normal = random.normal(size=len(values)) * np.sqrt(np.maximum(values, 0.0))
        plane = np.append(self.coef_, self.intercept_) + vectors @ normal
        sample.coef_, sample.intercept_ = plane[None, :-1], plane[-1:]
        return sample.predict_proba(X)[:, 1]


def design_matrix(features: Array) -> Array:
    """Features with one more column, that of the bias."""
    return np.column_stack([features, np.ones(len(features))])


def penalized_loss(
    design: Array, likelihoods: Likelihoods, lam: float, plane: Array
) -> tuple[float, Array, Array]:
    """Compute minus the penalized log-likelihood, its gradient, and its slope by each score."""
    penalized, scores = plane.copy(), design @ plane
    penalized[-1] = 0.0
    if plane.ndim == 1:
        value, slope = likelihoods[0].value_and_slope(scores)
    else:
        value, slope = class_likelihood(likelihoods, scores)
    loss = 0.5 * lam * float(np.vdot(penalized, penalized)) - value
    return loss, lam * penalized - design.T @ slope, -slope


def whitening(design: Array, likelihood: CountLikelihood, lam: float) -> Callable[[Array], Array]:
    r"""Multiply by :math:`S = \sqrt{N} (G^\top G + \lambda I)^{-1/2}`, a symmetric matrix.

    The row of bag k in G is :math:`\sqrt{\omega_k v / n_k} \sum_{i \in k} (x_i, 1)`.  With v the
    variance of labels, :math:`G^\top G` is nearly the expected information of w and b.  N is the
    weight of all instances.

    Parameters
    ----------
    design : array of shape (n_instances, rank + 1)
        Features and a column of ones.
    likelihood : CountLikelihood
    lam : float
    """
    bags, total = likelihood.feasible.bags, float(likelihood.weights.sum())
    scales = np.sqrt(likelihood.weights_of_bags * LABEL_VARIANCE / bags.sizes)
    of_bags = scales[:, None] * (bags.membership @ design)
    _, values, axes = np.linalg.svd(of_bags, full_matrices=False)
    shrinkage = 1.0 / np.sqrt(1.0 + np.square(values) / lam) - 1.0
    return lambda u: np.sqrt(total / lam) * (u + (axes.T * shrinkage) @ (axes @ u))


def equal_scores(design: Array, likelihoods: Likelihoods) -> Array:
    """Return the hyperplane with w = 0, and the bias of the rate of positives in all bags."""
    odds = np.array([likelihood.start for likelihood in likelihoods])
    bias = odds[0] if len(odds) == 1 else log_expit(odds)
    return np.concatenate([np.zeros((design.shape[1] - 1, *np.shape(bias))), bias[None]])


def choose_ridge(features: Array, likelihoods: Likelihoods) -> float:
    """Return the strength with the largest likelihood of the counts of held-out bags.

    Each bag is held out once, in three folds.  Bags are assigned to folds in turn, in the order of
    the norms of their means, which depends on no order of rows and no names.  If fewer than eight
    bags have a weight, or all features are 0, it is 0.1.

    Parameters
    ----------
    features : array of shape (n_instances, rank)
        Columns of mean 0, with a total variance of 1.
    likelihoods : sequence of CountLikelihood
        As for :func:`maximize_directly`.
    """
    design, bags = design_matrix(features), likelihoods[0].feasible.bags
    has_weight, total = likelihoods[0].weights_of_bags > 0.0, np.zeros(len(RIDGES))
    if np.count_nonzero(has_weight) < FEW_BAGS or not features.any():
        return FEW_BAGS_RIDGE
    norms = np.where(has_weight, np.linalg.norm(bags.means_of(features), axis=1), np.inf)
    fold_of = np.argsort(np.argsort(norms, kind="stable")) % N_FOLDS
    for fold in range(N_FOLDS):
        (rows, train), (held_out_rows, test) = (
            (design[mask[bags.index]], [each.select(mask) for each in likelihoods])
            for mask in (fold_of != fold, fold_of == fold)
        )
        plane = equal_scores(rows, train)
        for number, lam in enumerate(RIDGES):
            plane, _, _ = ascend(rows, train, lam, FOLD_TOL, 100, plane)
            total[number] -= penalized_loss(held_out_rows, test, 0.0, plane)[0]
    return RIDGES[int(np.argmax(total))]


def maximize_directly(
    features: Array, likelihoods: Likelihoods, lam: float, *, tol: float, max_iter: int
) -> FitResult:
    r"""Maximize :math:`\ell(F w + b) - \tfrac{\lambda}{2} \|w\|^2` by L-BFGS from two starts.

    The first is w = 0.  In at most 1,000 bags there is a second, the mirror image -w and b of the
    first end: in few random bags both signs can be maxima, and the larger one is the answer.  If
    all features are 0, it is the first start, which has one instance of each class more than the
    counts, so that b is finite.

    Parameters
    ----------
    features : array of shape (n_instances, rank)
        F, with columns of mean 0.
    likelihoods : sequence of CountLikelihood
        :math:`\ell`; or the likelihood of each of several classes against the rest.  Then
        :math:`\ell` is :func:`~propcvx.labelings.given_counts.class_likelihood`, and w and b have a
        column for each class.
    lam : float
        :math:`\lambda > 0`.
    tol : float
        Improvement of an iteration below which it ends, per unit of the weights of the instances.
    max_iter : int
        Largest number of iterations from each start.
    """
    started, design = perf_counter(), design_matrix(features)
    plane = equal_scores(design, likelihoods)
    if features.any():
        climb = partial(ascend, design, likelihoods, lam, tol, max_iter)
        plane, values, is_limited = climb(plane)
        if likelihoods[0].feasible.bags.n_bags <= MANY_BAGS:
            mirrored = climb(np.concatenate([-plane[:-1], plane[-1:]]))
            if mirrored[1][-1] < values[-1] - SAME_MAXIMUM * abs(values[-1]):
                plane, values, is_limited = mirrored
    else:
        values, is_limited = [penalized_loss(design, likelihoods, lam, plane)[0]], False
    seconds = (perf_counter() - started) / len(values)
    history = History([Round(value, "lbfgs", OPTIMAL, seconds) for value in values])
    if is_limited:
        history[-1] = replace(history[-1], status=USER_LIMIT)
    history.stop_reason = StopReason.MAX_ROUNDS if is_limited else StopReason.CONVERGED
    return FitResult(labels_of(design @ plane), plane[:-1], plane[-1], values[-1], history)


def ascend(
    design: Array, likelihoods: Likelihoods, lam: float, tol: float, max_iter: int, start: Array
) -> tuple[Array, list[float], bool]:
    """Return a local maximum, the loss after each iteration, and whether their number ended it.

    The steps are taken in coordinates u, with the hyperplane at the start plus S u, in which the
    curvature is nearly the same in all directions; :func:`whitening` multiplies by S.
    """
    total, values = float(likelihoods[0].weights.sum()), list[float]()
    stretch = whitening(design, likelihoods[0], lam)

    def objective(u: Array) -> tuple[float, Array]:
        plane = start + stretch(u.reshape(start.shape))
        value, slope, _ = penalized_loss(design, likelihoods, lam, plane)
        return value / total, stretch(slope).ravel() / total

    def record(intermediate_result: Any) -> None:
        values.append(total * float(intermediate_result.fun))

    options = {"ftol": tol, "gtol": 0.0, "maxiter": max_iter, "maxfun": 20 * max_iter, "maxcor": 20}
    settings: Any = {"method": "L-BFGS-B", "jac": True, "callback": record, "options": options}
    result = minimize(objective, np.zeros(start.size), **settings)
    plane = start + stretch(result.x.reshape(start.shape))
    return plane, values or [total * float(result.fun)], result.status == 1


def sandwich_covariance(
    features: Array, likelihood: CountLikelihood, lam: float, plane: Array
) -> Array:
    r"""Covariance of weights and bias, from the scores of bags: :math:`A^{-1} (B + P) A^{-1}`.

    A is the second derivative of minus the penalized log-likelihood, by differences of gradients,
    and :math:`B = \frac{K}{K - f - 2} \sum_k g_k g_k^\top` the sum of squares of the gradients of K
    bags, with :math:`f = \sum_j (1 - \lambda / a_j)` free parameters, where :math:`a_j` are the
    eigenvalues of A, raised to :math:`\lambda`.  Normal hyperplanes with this B have the variance
    of Student's t with :math:`K - f` degrees of freedom.  P is the variance of the gradient of the
    penalty, :math:`\lambda` for each weight.  If the model is right, A and B + P are nearly equal,
    and this is Laplace's approximation of the posterior.  If bags differ beside their features, B
    is larger.

    Parameters
    ----------
    features : array of shape (n_instances, rank)
    likelihood : CountLikelihood
    lam : float
    plane : array of shape (rank + 1,)
        Weights and bias at the maximum.
    """
    design, bags = design_matrix(features), likelihood.feasible.bags
    penalty = lam * np.diag(np.append(np.ones(features.shape[1]), 0.0))
    _, slope, errors = penalized_loss(design, [likelihood], lam, plane)
    step = STEP * max(1.0, float(np.abs(plane).max()))
    gradients = [
        penalized_loss(design, [likelihood], lam, plane + step * e)[1] for e in np.eye(len(plane))
    ]
    curvature = (np.array(gradients) - slope) / step
    values, vectors = np.linalg.eigh((curvature + curvature.T) / 2.0)
    values = np.maximum(values, lam)
    inverse = (vectors / values) @ vectors.T
    freedom = bags.n_bags - float((1.0 - lam / values).sum()) - 2.0
    of_bags = bags.membership @ (errors[:, None] * design)
    squares = of_bags.T @ of_bags * (bags.n_bags / max(freedom, 1.0))
    return np.asarray(inverse @ (squares + penalty) @ inverse)
