r"""Metrics of the agreement of predictions with the proportions of bags."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import rel_entr
from sklearn.metrics import make_scorer, r2_score

from propcvx.arrays import Array, Indices
from propcvx.bags.bags import Bags
from propcvx.bags.targets import ONE_CLASS, class_numbers, is_bag_target
from propcvx.checks import as_vector, check_choice
from propcvx.errors import InputError

TIED = 1e-9
"""Difference of errors, and relative difference of scores, below which they are equal."""

MARGIN = 1.0
"""Least distance of a hyperplane that has all instances on one side, as in an SVM."""


def bag_error(
    y_true: NDArray[np.void],
    y_pred: ArrayLike,
    *,
    bag_weights: Literal["uniform", "size"] = "uniform",
) -> float:
    r"""Compute the mean absolute difference between predicted and given proportions of bags.

    .. math::

        \frac1K \sum_{k=1}^K |\tilde p_k - p_k|

    With several classes the difference of a bag is half the sum of the differences of the classes,
    which for two classes is the same.
    The paper's Err, Equation (23), is the sum; the mean does not depend on the number of bags.
    Bags without a proportion do not count.

    Parameters
    ----------
    y_true : bag target of shape (n_instances,)
        Made by :func:`propcvx.bag_target`.
    y_pred : array of shape (n_instances,)
        Predicted labels: an instance is positive where its entry is above 0; with a target from a
        table, names of classes.
    bag_weights : "uniform" or "size", default="uniform"
        Weights of the bags: equal, or their numbers of instances, as in the authors' program.

    Returns
    -------
    float
        In [0, 1]; 0 is best.

    Examples
    --------
    >>> from propcvx import bag_error, bag_target
    >>> y = bag_target([0, 0, 1, 1], [0.5, 1.0])
    >>> bag_error(y, [1, -1, 1, -1])
    0.25
    """
    bags, predicted = _bags_of(y_true), np.asarray(y_pred)
    if bags.multiclass:
        predicted = class_numbers("y_pred", y_pred, bags.class_names, bags.n_instances)
        if not predicted.all():
            raise InputError(f"y_pred must have no unknown labels; got {np.sum(predicted == 0)}.")
    if predicted.shape != y_true.shape:
        raise InputError(
            f"y_pred must have one label per instance, shape {y_true.shape}; got {predicted.shape}."
        )
    numbers = as_vector(predicted)
    if numbers is None:
        raise InputError(
            "y_pred must be a finite number for each instance, above 0 where it is positive; got "
            f"{y_pred!r:.200}. To score class names, pass bag_target proportions with a column for "
            "each class."
        )
    if not bags.has_proportion.any():
        raise InputError(
            "y_true has no bag with a proportion, so labels have no bag error. Give the proportion "
            "of one bag at least, or compare the labels that you know with "
            "sklearn.metrics.accuracy_score."
        )
    by_size = check_choice("bag_weights", bag_weights, ("uniform", "size")) == "size"
    compared, instances = bags.select_with_proportion()
    return proportion_error(compared, numbers[instances], by_size=by_size)


neg_bag_error_scorer = make_scorer(bag_error, greater_is_better=False)
"""Scorer for ``scoring=``: minus :func:`bag_error`."""

neg_size_weighted_bag_error_scorer = make_scorer(
    bag_error, greater_is_better=False, bag_weights="size"
)
"""Scorer for ``scoring=``: minus :func:`bag_error`, bags weighted by their size."""


def bag_r2_score(y_true: NDArray[np.void], y_proba: ArrayLike) -> float:
    r"""Compute the :math:`R^2` of mean probabilities as predictions of proportions of bags.

    .. math::

        1 - \frac{\sum_k n_k (q_k - p_k)^2}{\sum_k n_k (p_k - \bar p)^2}

    with :math:`q_k` the mean of the probabilities in bag k, and :math:`\bar p` the proportion of
    positives in all bags.  If single outcomes are noisy, as votes are, this orders methods by
    accuracy better than :func:`bag_error`, which counts labels: in a state with 40% positives,
    the most probable label of every voter can be -1.  Use bags that the model was not fitted to.

    Parameters
    ----------
    y_true : bag target of shape (n_instances,)
        Made by :func:`propcvx.bag_target`.
    y_proba : array of shape (n_instances,), or (n_instances, n_classes)
        Probability of +1 of each instance, ``predict_proba(X)[:, 1]``; with a target from a table,
        of each class, or of the second of two.  With several classes the two sums are also over
        the classes.

    Returns
    -------
    float
        1 is the best, the mean proportion has 0, and worse predictions are negative.

    Raises
    ------
    InputError
        If the bags do not have at least two different proportions.

    Examples
    --------
    >>> from propcvx import bag_r2_score, bag_target
    >>> y = bag_target([0, 0, 1, 1], [0.5, 1.0])
    >>> bag_r2_score(y, [0.6, 0.4, 0.9, 0.9])
    0.92
    """
    p_true, p_pred, sizes = _true_and_predicted(y_true, y_proba)
    if not np.ptp(p_true, axis=0).any():
        raise InputError(
            f"y_true must have bags of two different proportions at least; got {len(p_true)} of "
            f"{p_true[0, -1]:g}. Hold out more bags at a time, or use bag_deviance."
        )
    return float(r2_score(p_true, p_pred, sample_weight=sizes, multioutput="variance_weighted"))


def bag_correlation(y_true: NDArray[np.void], y_proba: ArrayLike) -> float:
    """Correlate mean probabilities with the proportions of bags, weighted by size.

    It measures the order of bags, whereas :func:`bag_r2_score` also measures level and spread.  It
    is 0 if all bags have the same mean probability, or the same proportion.

    Parameters
    ----------
    y_true, y_proba
        As in :func:`bag_r2_score`, of two classes.

    Returns
    -------
    float
        In [-1, 1].

    Raises
    ------
    InputError
        If there are more than two classes.

    Examples
    --------
    >>> from propcvx import bag_correlation, bag_target
    >>> y = bag_target([0, 0, 1, 1], [0.5, 1.0])
    >>> bag_correlation(y, [0.1, 0.2, 0.4, 0.4])
    1.0
    """
    p_true, p_pred, sizes = _true_and_predicted(y_true, y_proba)
    if p_true.shape[1] > 2:
        raise InputError(
            f"y_true must have two classes; got {p_true.shape[1]}; {ONE_CLASS}, and bag_r2_score "
            "takes several."
        )
    covariance = np.cov(p_true[:, -1], p_pred[:, -1], fweights=sizes)
    spreads = np.sqrt(np.diag(covariance))
    if spreads.min() <= TIED:
        return 0.0
    return float(np.clip(covariance[0, 1] / spreads.prod(), -1.0, 1.0))


def bag_deviance(y_true: NDArray[np.void], y_proba: ArrayLike) -> float:
    r"""Compute the deviance of mean probabilities from the proportions of bags, per instance.

    .. math::

        \frac2N \sum_k n_k \Bigl(p_k \log \frac{p_k}{q_k}
        + (1 - p_k) \log \frac{1 - p_k}{1 - q_k}\Bigr)

    with :math:`q_k` the mean of the probabilities in bag k.  With several classes c the bracket is
    :math:`\sum_c p_{kc} \log(p_{kc} / q_{kc})`.  Unlike :func:`bag_r2_score`, it is also defined
    for bags of equal proportions.

    Parameters
    ----------
    y_true : bag target of shape (n_instances,)
        Made by :func:`propcvx.bag_target`.
    y_proba : array of shape (n_instances,), or (n_instances, n_classes)
        Probability of +1 of each instance, or of each class, as in :func:`bag_r2_score`.

    Returns
    -------
    float
        At least 0, which is best: all proportions are matched.  Infinite if a class that occurs has
        probability 0.

    Examples
    --------
    >>> from propcvx import bag_deviance, bag_target
    >>> y = bag_target([0, 0, 1, 1], [0.5, 1.0])
    >>> round(bag_deviance(y, [0.6, 0.4, 0.9, 0.9]), 4)
    0.1054
    """
    p_true, p_pred, sizes = _true_and_predicted(y_true, y_proba)
    return float(2.0 * (sizes @ rel_entr(p_true, p_pred)).sum() / sizes.sum())


bag_r2_scorer = make_scorer(bag_r2_score, response_method="predict_proba")
"""Scorer for ``scoring=``: :func:`bag_r2_score` of ``predict_proba``."""

neg_bag_deviance_scorer = make_scorer(
    bag_deviance, greater_is_better=False, response_method="predict_proba"
)
"""Scorer for ``scoring=``: minus :func:`bag_deviance` of ``predict_proba``."""


def _true_and_predicted(
    y_true: NDArray[np.void], y_proba: ArrayLike
) -> tuple[Array, Array, Indices]:
    """Return given and predicted class proportions of the bags with a proportion, and sizes."""
    bags = _bags_of(y_true)
    shape = bags.labels.shape + bags.proportions.shape[1:]
    probabilities = np.asarray(y_proba, dtype=float)
    if shape[1:] == (2,) and probabilities.shape == shape[:1]:  # what scorers of scikit-learn pass
        probabilities = np.column_stack([1.0 - probabilities, probabilities])
    if probabilities.shape != shape or not np.all((probabilities >= 0) & (probabilities <= 1)):
        raise InputError(
            f"y_proba must have probabilities in [0, 1] in shape {shape}, of +1 for each instance "
            "or of each class with a target from a table; got shape "
            f"{probabilities.shape} with values from {probabilities.min(initial=np.inf):g} to "
            f"{probabilities.max(initial=-np.inf):g}."
        )
    if bags.multiclass:
        return bags.proportions, bags.means_of(probabilities), bags.sizes
    bags, instances = bags.select_with_proportion()
    positive = bags.means_of(probabilities[instances, None])[:, 0]
    p_true, p_pred = (np.column_stack([1.0 - p, p]) for p in (bags.proportions, positive))
    return p_true, p_pred, bags.sizes


def _bags_of(y_true: Any) -> Bags:
    if not is_bag_target(y_true):
        raise InputError("y_true must be a bag target. Make one with propcvx.bag_target.")
    return Bags.from_target(y_true, table=True)


def proportion_error(bags: Bags, labeling: NDArray[Any], *, by_size: bool = False) -> float:
    """Compute :func:`bag_error` for validated bags, which all have a proportion.

    The error of each is multiplied by the mean weight of its instances.
    """
    gaps = np.abs(bags.proportions_of(labeling) - bags.proportions)
    gaps = gaps if gaps.ndim == 1 else 0.5 * gaps.sum(axis=1)
    weights = bags.masses if by_size else bags.weights_of_bags
    return float((weights * gaps).sum() / (weights.sum() or 1.0))


def least_error_bias(scores: Array, bags: Bags) -> float:
    r"""Find the bias b for which the signs of :math:`f_i + b` have the least bag error.

    The error is constant between two neighboring scores, so one sort gives it for all biases.  A
    bias is the middle between two scores.  If all instances are on one side, it is beyond them by
    their range, and by a margin of at least 1.  Of ties the bias nearest to 0 is taken, or 0 itself
    if two are equally near, so that swapped classes have the opposite bias.  The error of a bag is
    multiplied by the mean weight of its instances.  Only bags with a proportion and a weight count;
    without any, the bias is 0.

    Parameters
    ----------
    scores : array of shape (n_instances,)
        Scores :math:`f_i` without bias.
    bags : Bags

    Examples
    --------
    >>> from propcvx import bag_target
    >>> bags = Bags.from_target(bag_target([0, 0, 1, 1], [0.5, 1.0]))
    >>> least_error_bias(np.array([-4.0, -1.0, -2.0, 3.0]), bags)
    3.0
    """
    counted = bags.has_proportion & (bags.weights_of_bags > 0.0)
    if not counted.any():
        return 0.0
    bags, instances = bags.select(counted)
    scores = scores[instances]
    order = np.argsort(-scores, kind="stable")
    padding = 2.0 * max(MARGIN, float(np.ptp(scores)))
    edges = np.concatenate([[scores.max() + padding], scores[order], [scores.min() - padding]])
    is_distinct = edges[:-1] - edges[1:] > TIED * np.abs(scores).max()
    is_distinct[[0, -1]] = True
    errors = _errors_of_top(order, bags)[is_distinct]
    middles = 0.5 * (edges[:-1] + edges[1:])[is_distinct]
    best = middles[errors <= errors.min() + TIED]
    distances = np.abs(best)
    nearest = best[distances <= distances.min() * (1.0 + TIED)]
    return 0.0 if nearest.min() < 0.0 < nearest.max() else float(-nearest.mean())


def _errors_of_top(order: Indices, bags: Bags) -> Array:
    """Compute the bag errors if the first 0, 1, ... instances of an order are positive."""
    targets, sizes, weights = bags.proportions * bags.sizes, bags.sizes, bags.weights_of_bags
    bag, place = bags.index, np.argsort(order)
    by_bag = np.lexsort((place, bag))
    bag, place = bag[by_bag], place[by_bag]
    rank = np.arange(len(bag)) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # in the same bag
    rises = np.abs(rank + 1 - targets[bag]) - np.abs(rank - targets[bag])
    rises = np.bincount(place, weights[bag] * rises / sizes[bag], len(order))
    errors = np.cumsum(np.concatenate([[0.0], rises]))
    return ((weights * bags.proportions).sum() + errors) / weights.sum()
