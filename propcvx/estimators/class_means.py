"""A test of what MeanMap assumes: within a class, features do not depend on the bag."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.stats import chi2, wishart
from sklearn.preprocessing import scale
from sklearn.utils import check_array, check_random_state

from propcvx.arrays import Array
from propcvx.bags.bags import Bags
from propcvx.checks import check_count, check_same_length
from propcvx.errors import InputError
from propcvx.text import Readable

LEVEL = 0.05
"""Features are named whose p-value, corrected for their number, is below it."""

NAMED = 5
"""Features that the sentence names at most."""

LEAST = 1e-3
"""Variances within a class are at least this share of that of all instances."""


@dataclass(frozen=True, eq=False)
class ClassMeansTest(Readable):
    """What :func:`class_means_test` says.

    Attributes
    ----------
    p_value : float
        How often the largest statistic of a feature is as large where the assumption holds.
    statistics : array of shape (n_features,)
        Of each feature, of the law chi-squared with ``n_bags - 2`` degrees of freedom where the
        assumption holds.
    p_values : array of shape (n_features,)
        Of each feature by itself, not corrected for their number.
    names : sequence of hashable
        Of the features: those of the columns, or 0, 1, ...
    n_bags : int

    Examples
    --------
    >>> from propcvx import bag_target, class_means_test, proportions_of
    >>> random = np.random.RandomState(0)
    >>> bags, labels = np.repeat(np.arange(20), 50), random.choice([-1, 1], 1000)
    >>> X = random.randn(1000, 3) + labels[:, None]
    >>> print(class_means_test(X, bag_target(bags, proportions_of(labels, bags))))
    p = 0.4: 20 bags do not contradict that features within a class are the same in all of them.
    >>> X[:, 1] += 2 * (bags % 2)
    >>> print(class_means_test(X, bag_target(bags, proportions_of(labels, bags))))
    p = 0.001: within a class, features depend on the bag, most of all 1 (20 bags).
    MeanMap attributes that to the classes, and other methods partly: leave out features that do not
    change the labels themselves.
    """

    p_value: float
    statistics: Array
    p_values: Array
    names: Sequence[Hashable]
    n_bags: int

    @property
    def broken_by(self) -> list[Hashable]:
        """The features that depend on the bag, if any does; the smallest p-values first."""
        if self.p_value >= LEVEL:
            return []
        order = np.argsort(-self.statistics, kind="stable")
        corrected = self.p_values * len(self.p_values)
        return [self.names[j] for j in order if corrected[j] < LEVEL]

    def __str__(self) -> str:
        """One sentence, and advice where the assumption does not hold."""
        if self.p_value >= LEVEL:
            return (
                f"p = {self.p_value:.2g}: {self.n_bags} bags do not contradict that features "
                "within a class are the same in all of them."
            )
        named = ", ".join(map(str, self.broken_by[:NAMED]))
        most = f", most of all {named}" if named else ""
        return (
            f"p = {self.p_value:.2g}: within a class, features depend on the bag{most} "
            f"({self.n_bags} bags).\nMeanMap attributes that to the classes, and other methods "
            "partly: leave out features that do not change the labels themselves."
        )


def class_means_test(
    X: Any, y: NDArray[np.void], *, n_draws: int = 999, random_state: Any = 0
) -> ClassMeansTest:
    r"""Test whether features within a class are the same in all bags.

    That is what :class:`propcvx.MeanMap` assumes.  :class:`propcvx.EcologicalRegression` assumes
    that the labels of instances with the same features do not depend on the bag; both hold in
    random bags, and where bags differ, mostly one at best.  Under the first, the mean of a bag of
    :math:`n_k` instances with the share :math:`p_k` is

    .. math::

        m_k = p_k \mu_+ + (1 - p_k) \mu_- + e_k, \qquad
        \operatorname{Var} e_k = \frac{p_k \Sigma_+ + (1 - p_k) \Sigma_-}{n_k}.

    The variances come from inside of the bags, whose sample covariance has the expectation
    :math:`n_k \operatorname{Var} e_k + \frac{n_k p_k (1 - p_k)}{n_k - 1} \delta \delta^\top`, with
    :math:`\delta = \mu_+ - \mu_-`.  The statistic of a feature is the sum of the squared residuals
    of weighted least squares, each times :math:`n_k` and over the variance of the feature within a
    class.  The p-value compares the largest one with those of normal instances that are drawn from
    the fitted model, with one covariance for both classes, and fitted in the same way.

    Parameters
    ----------
    X : array of shape (n_instances, n_features)
    y : bag target of shape (n_instances,)
        Made by :func:`propcvx.bag_target`, of two classes.  The shares are those of the instances
        in a bag: of a population that it is a sample of, the test rejects too often.
    n_draws : int
        How often instances are drawn.
    random_state : int, RandomState or None
        Seeds them.

    Returns
    -------
    ClassMeansTest

    Raises
    ------
    InputError
        If there are less than three bags with a share, of at least two instances, or their shares
        are all equal.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx import bag_target, proportions_of
    >>> random, bags = np.random.RandomState(0), np.repeat(np.arange(20), 50)
    >>> labels = random.choice([-1, 1], size=1000)
    >>> X = random.normal(size=(1000, 3)) + labels[:, None] + bags[:, None] * [0.0, 0.0, 0.1]
    >>> class_means_test(X, bag_target(bags, proportions_of(labels, bags))).broken_by
    [2]
    """
    check_count("n_draws", n_draws)
    columns, X = getattr(X, "columns", None), check_array(X, accept_sparse="csr", dtype=np.float64)
    names = list(range(X.shape[1]) if columns is None else columns)
    X = X.toarray() if sp.issparse(X) else X
    bags, instances = Bags.from_target(y).of_shares()
    check_same_length(X, y)
    bags.require_partition("class_means_test")
    large = bags.sizes > 1
    if large.sum() < 3 or np.ptp(bags.proportions) == 0.0:
        raise InputError(
            "y must have three bags of two instances or more, with shares that are not all equal, "
            f"got {int(large.sum())} bags."
        )
    fit, random = _Fit.of(scale(X[instances]), bags), check_random_state(random_state)
    larger = sum(
        fit.drawn(bags, random).statistics.max() >= fit.statistics.max() for _ in range(n_draws)
    )
    p_values = chi2.sf(fit.statistics, bags.n_bags - 2)
    return ClassMeansTest(
        (larger + 1) / (n_draws + 1), fit.statistics, p_values, names, bags.n_bags
    )


@dataclass(frozen=True, eq=False)
class _Fit:
    """The model that the assumption says, fitted to the bags; features have a variance of 1.

    Attributes
    ----------
    class_means : array of shape (2, n_features)
    root : array of shape (n_features, n_features)
        The symmetric root of the covariance within a class.
    statistics : array of shape (n_features,)
    """

    class_means: Array
    root: Array
    statistics: Array

    @classmethod
    def of(cls, X: Array, bags: Bags) -> _Fit:
        means = bags.means_of(X)
        inside = X - means[bags.index]
        return cls.of_moments(means, inside.T @ inside, bags)

    @classmethod
    def of_moments(cls, means: Array, scatter: Array, bags: Bags) -> _Fit:
        """By the means of the bags and the scatter inside of them, which are all that matters."""
        p, n = bags.proportions, bags.sizes.astype(float)
        design = np.column_stack([p, 1.0 - p])
        gram = np.linalg.inv((design.T * n) @ design)
        class_means = gram @ (design.T * n) @ means
        residuals = means - design @ class_means
        freedom, difference = bags.n_instances - bags.n_bags, np.array([1.0, -1.0])
        delta, mixed = difference @ class_means, float(n @ (p * (1.0 - p)))
        # E[delta delta'] is too large by the covariance, times what the design says
        times = mixed * float(difference @ gram @ difference)
        covariance = (scatter - mixed * np.outer(delta, delta)) / (freedom - times)
        values, vectors = np.linalg.eigh(covariance)
        root = (vectors * np.sqrt(np.maximum(values, LEAST))) @ vectors.T
        variances = np.square(root).sum(axis=1)
        return cls(class_means, root, n @ np.square(residuals) / variances)

    def drawn(self, bags: Bags, random: RandomState) -> _Fit:
        """The fit to normal instances with these class means and this covariance.

        The scatter inside bags has one direction, among those of the instances, in which the
        classes differ; in all others it is that of the noise.
        """
        n, d = bags.sizes.astype(float), len(self.root)
        shares = np.round(bags.proportions * n) / n
        noise = random.standard_normal((bags.n_bags + 1, d)) @ self.root
        means = np.column_stack([shares, 1.0 - shares]) @ self.class_means
        means += noise[1:] / np.sqrt(n)[:, None]
        differs = noise[0] + np.sqrt(n @ (shares * (1.0 - shares))) * np.subtract(*self.class_means)
        rest = self.root @ _scatter(bags.n_instances - bags.n_bags - 1, d, random) @ self.root
        return _Fit.of_moments(means, np.outer(differs, differs) + rest, bags)


def _scatter(n: int, d: int, random: RandomState) -> Array:
    """The sum of the outer products of n standard normal vectors."""
    if n < d:
        normal = random.standard_normal((n, d))
        return np.asarray(normal.T @ normal)
    return np.reshape(wishart.rvs(n, np.eye(d), random_state=random), (d, d))
