r"""Oracles that sort each bag along some directions.

The paper's oracle uses the :math:`\ell_\infty` norm instead of :math:`\ell_2`, eq:inf.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from scipy.linalg import eigh
from sklearn.utils import check_random_state
from sklearn.utils.extmath import randomized_svd

from propcvx.arrays import Array
from propcvx.checks import check_count, check_number
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.relaxation.oracles.cut import (
    BaseOracle,
    Cut,
    best_cuts,
    first_of_best,
    normal_directions,
)

SORTED_AT_ONCE = 2**21
"""Number of scores per sort, which takes several times their memory."""

MAX_AXES = 64
"""Number of axes that are computed where all take too long.  In 18 problems of 690 to 1,500
instances with a Gaussian kernel, conv-pSVM's objective from these was that from all in 15, and 0.1%
to 0.2% smaller in three."""

ITERATIONS = 2
"""Iterations of a randomized singular value decomposition."""


def leading_dimensions(features: Array, variance: float, exact_order: int) -> Array:
    r"""Compute the leading principal axes that keep a fraction of the features' variance.

    The eigendecomposition before Equation (19), eq:inf, done on whichever of :math:`F^\top F`,
    :math:`F F^\top` is smaller.  If its order is above ``exact_order``, randomized subspace
    iteration computes at most ``MAX_AXES`` axes.

    Parameters
    ----------
    features : array of shape (n_instances, rank)
        The features F, one row per instance.
    variance : float
        Fraction of :math:`\operatorname{tr} F F^\top` to keep, in (0, 1].
    exact_order : int

    Returns
    -------
    dimensions : array of shape (n_instances, d)
        The features along the leading axes, largest first: :math:`U_d S_d^{1/2}`.  Their signs
        are arbitrary.
    """
    tall, total = features.shape[1] < len(features), float(np.einsum("ij,ij->", features, features))
    if min(features.shape) > exact_order:
        axes, singular, _ = randomized_svd(features, MAX_AXES, n_iter=ITERATIONS, random_state=0)
        return np.asarray((axes * singular)[:, : _rank(np.square(singular), variance * total)])
    matrix = features.T @ features if tall else features @ features.T
    values, vectors = eigh(matrix.T, driver="evd", overwrite_a=True, check_finite=False)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    rank = _rank(values, variance * total)
    leading = vectors[:, :rank]
    return np.asarray(features @ leading if tall else leading * np.sqrt(values[:rank]))


def _rank(values: Array, total: float) -> int:
    """Count the leading eigenvalues whose sum reaches a total."""
    return int(np.searchsorted(np.cumsum(values), total * (1 - 1e-12))) + 1


@dataclass(frozen=True)
class CoordinateOracle(BaseOracle):
    r"""Oracle that sorts each bag along each dimension, Equation (19) (Proposition 3).

    For each dimension j and each sign it solves :math:`\max_y \pm \sum_i \alpha_i y_i x_i^{(j)}`
    and takes the best.  A heuristic: violated labelings may remain.  ``oracle(alpha)`` returns a
    :class:`Cut`.  As ``CuttingPlanes(oracle=)`` pass ``CoordinateOracle.on_features`` or its name
    ``"coordinate_features"``; the name ``"coordinate"`` is :class:`AxesOracle`.

    Attributes
    ----------
    features : array of shape (n_instances, rank)
        F, in which violation is measured.
    feasible : FeasibleLabelings
        The set :math:`\mathcal{Y}`.
    dimensions : array of shape (n_instances, d)
        The dimensions :math:`x^{(j)}` tried, one per column.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.relaxation.oracles import CoordinateOracle
    >>> from propcvx import Bags, bag_target
    >>> from propcvx.labelings import FeasibleLabelings
    >>> feasible = FeasibleLabelings.from_bags(Bags.from_target(bag_target([0, 0, 0], [1 / 3])), 0)
    >>> features = np.array([[-1.0, 0.0], [1.0, 1.0], [2.0, 1.0]])
    >>> CoordinateOracle.on_features(features, feasible)(np.ones(3)).labeling
    array([ 1., -1., -1.])
    """

    dimensions: Array

    @classmethod
    def on_features(cls, features: Array, feasible: FeasibleLabelings) -> CoordinateOracle:
        """Build an oracle along the features themselves."""
        return cls(features, feasible, features)

    def __call__(self, alpha: Array) -> Cut:
        """Find a labeling for alpha."""
        parts = np.array_split(self.dimensions, 1 + self.dimensions.size // SORTED_AT_ONCE, axis=1)
        labelings, values = [], []
        for sign, part in product((1.0, -1.0), parts):
            scores = sign * alpha[:, None] * part
            labelings.append(self.feasible.best(scores).astype(np.int8))
            values.append(np.einsum("ij,ij->j", scores, labelings[-1]))
        columns, value = np.hstack(labelings), np.hstack(values)
        return self.cut(columns[:, first_of_best(columns.T, value)].astype(np.float64), alpha)


@dataclass(frozen=True)
class AxesOracle(BaseOracle):
    r"""Coordinate oracle along the leading principal axes, as in the paper.

    Attributes
    ----------
    features, feasible
        As in :class:`CoordinateOracle`.
    variance : float
        The fraction of the features' variance that the axes keep.
    exact_order : int
        Order of the smaller Gram matrix up to which all axes are computed, in time proportional to
        its cube.  Above it, only the 64 leading axes (``MAX_AXES``) are computed.
    """

    variance: float = 0.9
    exact_order: int = 2000

    def __post_init__(self) -> None:
        check_number("variance", self.variance, 0.0, 1.0, closed="right")

    @cached_property
    def _along_axes(self) -> CoordinateOracle:
        dimensions = leading_dimensions(self.features, self.variance, self.exact_order)
        return CoordinateOracle(self.features, self.feasible, dimensions)

    def __call__(self, alpha: Array) -> Cut:
        """Find a labeling for alpha."""
        return self._along_axes(alpha)


@dataclass(frozen=True)
class AscentOracle(BaseOracle):
    """Oracle that raises the labeling of :class:`AxesOracle` by :meth:`ascend`.

    Attributes
    ----------
    features, feasible
        As in :class:`CoordinateOracle`.
    """

    @cached_property
    def _start(self) -> AxesOracle:
        return AxesOracle(self.features, self.feasible, exact_order=500)

    def __call__(self, alpha: Array) -> Cut:
        """Find a labeling for alpha."""
        return self.cut(self.ascend(self._start(alpha).labeling, alpha), alpha)


@dataclass(frozen=True)
class RandomDirectionsOracle(BaseOracle):
    r"""Oracle that sorts each bag along each of many random directions u.

    As :math:`\|F^\top (y \circ \alpha)\| = \max_{\|u\| = 1} \sum_i \alpha_i y_i F_i^\top u`, some
    direction gives the most violated labeling.  They are drawn with the covariance of the
    :math:`\alpha_i F_i`, from the same normal numbers at every call, so that an answer depends on
    alpha alone.

    Attributes
    ----------
    features, feasible
        As in :class:`CoordinateOracle`.
    n_directions : int
        The number of directions.
    n_cuts : int
        The number of labelings to return, the most violated ones.
    random_state : int or RandomState
        Seed of the directions.
    """

    n_directions: int = 100
    n_cuts: int = 1
    random_state: int | np.random.RandomState = 0

    def __post_init__(self) -> None:
        check_count("n_directions", self.n_directions)
        check_count("n_cuts", self.n_cuts)

    @cached_property
    def _normal(self) -> Array:
        random = check_random_state(self.random_state)
        return np.asarray(random.standard_normal((self.features.shape[1], self.n_directions)))

    def __call__(self, alpha: Array) -> Cut:
        """Find a labeling for alpha."""
        weighted = alpha[:, None] * self.features
        directions = normal_directions(weighted.T @ weighted, self._normal)
        labelings = self.feasible.best(weighted @ directions).T
        return best_cuts(labelings, weighted, self.n_cuts)
