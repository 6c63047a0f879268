"""Second moments inside bags, which separate the classes if all proportions are equal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from propcvx.arrays import Array
from propcvx.bags.bags import Bags
from propcvx.bags.metrics import least_error_bias
from propcvx.checks import check_choice, check_count
from propcvx.errors import IllPosedWarning, warn
from propcvx.estimators.means import OneProgramClassifier
from propcvx.history import FitResult
from propcvx.programs import second_moments
from propcvx.svm.kernels import FeatureMap

BAGS_OF_A_COMPONENT = 10
"""Least number of bags for each principal component that is kept by default.

Eigenvalues of a covariance between bags err by about the root of the components per bag.
"""

STANDARD_ERRORS = 2.0
"""Number of standard errors from 0 above which a correlation determines the sign."""

NOTHING = 1e-8
"""Degrees of freedom, and eigenvalues of M in features of total covariance I, that count as 0."""


@dataclass(eq=False, repr=False)
class SecondMoments(OneProgramClassifier):
    r"""Fisher's discriminant from covariances inside bags, for nearly equal proportions.

    If all proportions are equal, bag means do not identify how the classes differ.  But labels
    inside a bag are correlated negatively, so that instances of one bag differ more along
    :math:`\delta = \mu_+ - \mu_-` than instances of different bags.
    :func:`propcvx.programs.second_moments` models the covariance inside bags of n instances,
    :math:`n_+` of them positive, as :math:`\Sigma + d\, \delta \delta^\top` with
    :math:`d = n_+ n_- / (n (n - 1))`.  All instances are one more bag, and the features are
    principal components of variance 1.  There the leading
    eigenvector of :math:`M = \delta \delta^\top` is the direction w, and the threshold has the
    least bag error.  The method assumes that within a class the instances do not depend on the bag,
    and that proportions are nearly equal or the classes have the same covariance.  It needs at
    least hundreds of bags, preferably thousands; small bags are more informative.

    M does not identify the sign of w.  Known labels determine the sign, if there are any.
    Otherwise the correlation of the proportions with the bag means does, if it is more than two
    standard errors, :math:`2 / \sqrt{K}`, from 0.  Otherwise the fit issues an
    :class:`~propcvx.errors.IllPosedWarning`, and the scores have their longer tail (their skewness)
    on the side of the minority class.  This is correct for two classes that are symmetric and
    equally wide; for a proportion of one half the sign is arbitrary.

    Known labels are singleton bags, and those of one class are merged into one bag.  If all labels
    are known, the direction is Fisher's discriminant in the components.  With a ``sample_weight``
    the covariances are weighted.  This assumes that inside a bag the weights do not depend on the
    label.

    Parameters
    ----------
    n_components : int, "auto" or None, default="auto"
        The number of principal components, at most; ``None`` keeps all, ``"auto"`` a tenth of the
        number of bags.  Unless all are kept, the scale of the features matters.
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
        A solver of semidefinite programs, see
        :data:`~propcvx.solvers.table.SOLVERS`, or several to try in turn;
        ``"auto"`` is :func:`propcvx.solvers.choose_solvers`: the closed form.
    solver_tol : float, default=1e-8
        The solver's own tolerance.
    solver_options : dict or None
        Options of the solver, passed on unchanged.

    Attributes
    ----------
    sign_from_ : str
        Source of the sign: ``"labels"``, ``"proportions"``, or, without both, ``"skewness"``; with
        two classes.
    objective_ : float
        The value of the program; with more than two classes, the sum over the classes.
    solution_ : Solution, with two classes
        The solution, in the components; the larger the first eigenvalue of its M is relative to
        the others, the better.
    history_ : History
        One round: objective, solver, status and time.
    stop_reason_ : StopReason
        ``StopReason.SOLVED``.
    transduction_ : array of shape (n_instances,)
        Predicted labels of the training instances, from ``classes_``.
    coef_ : array of shape (1, n_features)
        Weights, for the linear kernel, of scores with variance 1; a row for each of more than two
        classes.
    dual_coef_ : array of shape (1, n_instances)
        Dual coefficients, for other kernels; a row for each of more than two classes.
    intercept_ : array of shape (1,), with more than two classes (n_classes,)
        Bias.
    classes_ : array of shape (n_classes,)
        After a fit to labels the sorted labels; after a fit to bags ``[-1, 1]``, or with a table
        the sorted names of its classes.  The last of two is positive.

    See Also
    --------
    propcvx.AlterPropSVM : Classify with fewer bags.
    propcvx.programs.second_moments : Build the program of this method.

    Examples
    --------
    Four hundred pairs with a positive each, of which one label is known:

    >>> import numpy as np
    >>> from propcvx import SecondMoments, bag_target
    >>> labels, pairs = np.tile([1, -1], 400), np.repeat(np.arange(400), 2)
    >>> X = np.random.RandomState(0).normal(size=(800, 2)) + 2.0 * np.outer(labels, [0, 1])
    >>> y = bag_target(pairs, np.full(400, 0.5), labels=[1] + 799 * [0])
    >>> float(np.mean(SecondMoments().fit(X, y).predict(X) == labels))
    0.98125
    """

    n_components: int | str | None = "auto"

    def _run(self, feature_map: FeatureMap, bags: Bags) -> FitResult:
        features, training_bags, all_bags = self._training_bags(feature_map, bags)
        mean, basis = self._components(features, training_bags)
        rows = (features - mean) @ basis
        self.solution_ = self._solve(second_moments(*pooled_covariances(rows, training_bags)))
        values, vectors = np.linalg.eigh(self.solution_.variables["M"])
        if ill_posed := bool(values[-1] <= NOTHING):
            warn(
                "the instances inside bags do not differ more in any direction than all do, so "
                "SecondMoments finds w = 0 and predicts one class; it needs bags of two instances "
                "or more with both classes, hundreds of them, and no differences between bags.",
                IllPosedWarning,
            )
        elif (values[-2:-1] >= (1.0 - NOTHING) * values[-1]).any():
            warn(
                "the two largest eigenvalues of M are equal, so the direction of SecondMoments is "
                "arbitrary between their eigenvectors. Keep fewer components with n_components, or "
                "pass more bags.",
                IllPosedWarning,
            )
        plane = basis @ vectors[:, -1] * (not ill_posed)
        scores = (feature_map.features - mean) @ plane
        sign, self.sign_from_ = sign_of(scores, bags)
        if self.sign_from_ == "skewness" and not ill_posed:
            warn(
                "the data do not identify the positive side of the hyperplane of SecondMoments: no "
                f"label is known, and the proportions of {bags.n_bags} bags are not correlated "
                "with their mean scores. The minority class is put on the side of the longer "
                "tail, a guess, and arbitrary for a proportion of one half. Pass known labels in "
                "bag_target.",
                IllPosedWarning,
            )
            ill_posed = True
        plane = sign * plane
        bias = least_error_bias(sign * scores, all_bags) - float(mean @ plane)
        return self._finish(feature_map.features, plane, bias, self.solution_.value, ill_posed)

    def _components(self, features: Array, bags: Bags) -> tuple[Array, Array]:
        """Compute the mean, and a basis of principal components in which the variances are 1."""
        fractions = bags.relative_weights / bags.relative_weights.sum()
        mean = fractions @ features
        _, deviations, axes = np.linalg.svd(
            np.sqrt(fractions)[:, None] * (features - mean), full_matrices=False
        )
        rounding = max(features.shape) * np.finfo(float).eps * deviations.max(initial=0.0)
        rank, limit = int(np.sum(deviations > rounding)), self.n_components
        if isinstance(limit, str):
            check_choice("n_components", limit, ("auto",))
            number = max(np.sum(bags.masses > 0.0), bags.mean_weight * bags.weights_of_bags.sum())
            limit = max(1, int(round(number) / BAGS_OF_A_COMPONENT))
        rank = rank if limit is None else min(rank, check_count("n_components", limit))
        first = slice(max(rank, 1))  # of instances that are all equal none has a variance
        return mean, axes[first].T / np.where(deviations > rounding, deviations, 1.0)[first]


def pooled_covariances(rows: Array, bags: Bags) -> tuple[Array, Array, Array]:
    r"""Compute covariances inside bags, pooled by size and proportion, and of all instances.

    With weights :math:`c_i` in a bag of sum C, the sum of squares is divided by
    :math:`C - \sum_i c_i^2 / C`, which has the same expectation, and is n - 1 if all are 1.

    Parameters
    ----------
    rows : array of shape (n_instances, r)
    bags : Bags
        Bags with proportions; singleton bags with the proportion 0, and those with 1, are one bag.

    Returns
    -------
    covariances : array of shape (G, r, r)
    between : array of shape (G,)
        :math:`n_+ n_- / (n (n - 1))` of each kind of bag, and last of all instances.
    freedom : array of shape (G,)
        The degrees of freedom, :math:`\sum_k (n_k - 1)`.
    """
    is_singleton = (bags.sizes == 1) & np.isin(bags.proportions, (0.0, 1.0))
    names = np.where(is_singleton, -1.0 - bags.proportions, np.arange(bags.n_bags))
    _, first, merged = np.unique(names, return_index=True, return_inverse=True)
    total, everybody = bags.n_instances, np.arange(bags.n_instances)
    sizes = np.append(np.bincount(merged, bags.sizes), total)
    p = bags.proportions @ bags.sizes / bags.sizes.sum()
    kinds, kind = np.unique(
        np.column_stack([sizes, np.append(bags.proportions[first], p)]), axis=0, return_inverse=True
    )
    instance = np.append(everybody, everybody)
    bag = np.append(merged[bags.index], np.full(total, len(first)))
    c = bags.relative_weights[instance]
    masses = np.bincount(bag, c)
    inverses = np.divide(1.0, masses, out=np.zeros_like(masses), where=masses > 0.0)
    means = inverses[:, None] * (sp.csr_array((c, (bag, instance))) @ rows)
    deviations = np.sqrt(c)[:, None] * (rows[instance] - means[bag])
    of_bags: Array = masses - inverses * np.bincount(bag, np.square(c))
    of_kinds = np.bincount(kind.ravel(), of_bags).astype(float)
    retained = np.flatnonzero(np.append(of_kinds[:-1] > NOTHING, True))
    parts = (deviations[kind.ravel()[bag] == number] for number in retained)
    squares = np.array([part.T @ part for part in parts])
    freedom = np.maximum(of_kinds[retained], NOTHING)
    n, p = kinds[retained].T
    between = p * (1.0 - p) * n / np.maximum(n - 1.0, 1.0)
    return squares / freedom[:, None, None], between, freedom


def sign_of(scores: Array, bags: Bags) -> tuple[float, str]:
    """Return the sign with which larger scores mean positive, and the source of the sign.

    Parameters
    ----------
    scores : array of shape (n_instances,)
        Scores with the mean 0.
    bags : Bags

    Returns
    -------
    sign : float
    source : str
        ``"labels"``, ``"proportions"`` or ``"skewness"``, see :class:`SecondMoments`.
    """
    weights = bags.relative_weights
    label_weights = [weights * (bags.labels == label) for label in (1, -1)]
    if np.any(label_weights):
        positive, negative = (part @ scores / (part.sum() or 1.0) for part in label_weights)
        return (1.0 if positive >= negative else -1.0), "labels"
    bags, instances = bags.select_with_proportion()
    scores, masses = scores[instances], bags.masses
    means, p = bags.means_of(scores[:, None])[:, 0], bags.proportions
    covariance = np.cov(means, p, aweights=masses, ddof=0)
    spread = np.sqrt(covariance[0, 0] * covariance[1, 1])
    if abs(covariance[0, 1]) > STANDARD_ERRORS / np.sqrt(bags.n_bags) * spread > 0.0:
        return float(np.sign(covariance[0, 1])), "proportions"
    skewness = bags.relative_weights @ scores**3
    return (-1.0 if skewness * (0.5 - np.average(p, weights=masses)) < 0.0 else 1.0), "skewness"
