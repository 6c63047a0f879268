r"""What every feasible labeling y has in common, as linear facts of :math:`x = (1, y)`.

Semidefinite relaxations put a matrix X in the place of :math:`x x^\top`; what holds of x holds of X
row by row.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import helmert

from propcvx.labelings import FeasibleLabelings

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Lifting:
    r"""Linear facts of :math:`x = (1, y)` for the feasible labelings y.

    Attributes
    ----------
    span : sparse array of shape (N + 1, m)
        W, whose orthonormal columns span the x with :math:`\mathbf{1}_k^\top y = s_k` for every
        bag whose count is exact and :math:`y_i` the known label, so that :math:`X = W U W^\top`.
    ranges : sparse array of shape (R, N + 1)
        G, with :math:`G x \ge 0`: of every other bag that its sum is at least, and at most, what
        its counts allow; nothing where that is no more than :math:`|y_i| \le 1` says.
    rows : sparse array of shape (R + 2 N, N + 1) or (0, N + 1)
        H, with :math:`H x \ge 0`: the rows of G, :math:`1 + y_i` and :math:`1 - y_i`.  Products
        of what is not negative are not: :math:`G X H^\top \ge 0`.
    """

    span: sp.csr_array = field(repr=False)
    ranges: sp.csr_array = field(repr=False)
    rows: sp.csr_array = field(repr=False)

    @classmethod
    def of(cls, feasible: FeasibleLabelings) -> Lifting:
        """What the counts and the known labels of some bags say."""
        ranges = _ranges(feasible)
        ones, unit = np.ones((feasible.bags.n_instances, 1)), sp.eye_array(len(feasible.bags.index))
        signs = [sp.hstack([ones, unit]), sp.hstack([ones, -unit])] if ranges.shape[0] else []
        return cls(_span(feasible), ranges, sp.csr_array(sp.vstack([ranges, *signs])))

    @property
    def no_products(self) -> Array:
        """P of zeros."""
        return np.zeros((self.ranges.shape[0], self.rows.shape[0]))

    def largest(self, quadratic: Array, diagonal: Array, products: Array) -> float:
        r"""At least :math:`y^\top Q y` of every feasible labeling, for any multipliers.

        With :math:`\lambda` on the diagonal of X, all ones, and :math:`P \ge 0` on
        :math:`G X H^\top`, and with :math:`\|x\|^2 = N + 1`,

        .. math::

            y^\top Q y \le \lambda^\top 1 + (N + 1)\, \lambda_{\max}\big( W^\top ( \tilde Q
            + \tfrac12 (G^\top P H + H^\top P^\top G) - \operatorname{diag} \lambda ) W \big),

        where :math:`\tilde Q` is Q with a first row and column of zeros.  The error of the
        eigenvalue is counted in.

        Parameters
        ----------
        quadratic : array of shape (N, N)
            Q, symmetric.
        diagonal : array of shape (N + 1,)
            :math:`\lambda`.
        products : array of shape (R, R + 2 N)
            P; what is negative of it is taken to be 0.
        """
        lifted = np.pad(quadratic, ((1, 0), (1, 0))) - np.diag(diagonal)
        product = self.ranges.T @ np.maximum(products, 0.0) @ self.rows
        lifted += (product + product.T) / 2
        inside = self.span.T @ lifted @ self.span
        size, order = float(np.linalg.norm(lifted)), len(diagonal)
        error = order * np.finfo(float).eps * size
        return float(diagonal.sum()) + order * (float(np.linalg.eigvalsh(inside)[-1]) + error)


def mixture(lifted: Array) -> tuple[Array, Array]:
    r"""Soft labelings :math:`v_t` with a lifted matrix X as the average of :math:`x_t x_t^\top`.

    Of X every factor :math:`X = Z Z^\top` can be turned until its first row is constant; its
    columns are then multiples of :math:`x_t = (1, v_t)`, which have the bags' sums as X has them.

    Parameters
    ----------
    lifted : array of shape (N + 1, N + 1)
        X, positive semidefinite up to rounding, with :math:`X_{00} > 0`.

    Returns
    -------
    vectors : array of shape (T, N)
    weights : array of shape (T,)
        :math:`1 / T`, with :math:`M = \sum_t \mu_t v_t v_t^\top` and
        :math:`\sum_t \mu_t v_t` the first column of X.

    Examples
    --------
    >>> vectors, weights = mixture(np.eye(3))
    >>> np.round(weights @ vectors, 12) + 0.0, np.round((vectors.T * weights) @ vectors, 12) + 0.0
    (array([0., 0.]), array([[1., 0.],
           [0., 1.]]))
    """
    values, vectors = np.linalg.eigh(lifted / lifted[0, 0])
    kept = values > values[-1] * 1e-9
    factor = vectors[:, kept] * np.sqrt(values[kept])
    count = factor.shape[1]
    first = np.linalg.norm(factor[0]) / np.sqrt(count)
    mirror = factor[0] - first
    if (square := float(mirror @ mirror)) > 0.0:
        factor = factor - np.outer(factor @ mirror, 2.0 * mirror / square)
    return (factor[1:] / factor[0]).T, np.full(count, 1.0 / count)


def _span(feasible: FeasibleLabelings) -> sp.csr_array:
    """The particular solution, then what each bag is free to do, one block of columns each."""
    bags, exact = feasible.bags, feasible.lower == feasible.upper
    solution, blocks = bags.labels.astype(float), [sp.csr_array((bags.n_instances, 0))]
    for bag in range(bags.n_bags):
        free = np.flatnonzero((bags.index == bag) & (bags.labels == 0))
        basis = np.eye(len(free))
        if exact[bag] and len(free):
            known = bags.labels[bags.index == bag].sum()
            solution[free] = (2 * feasible.lower[bag] - bags.sizes[bag] - known) / len(free)
            basis = helmert(len(free)).T if len(free) > 1 else np.zeros((1, 0))
        rows = np.repeat(free, basis.shape[1])
        columns = np.tile(np.arange(basis.shape[1]), len(free))
        shape = (bags.n_instances, basis.shape[1])
        blocks.append(sp.csr_array((basis.ravel(), (rows, columns)), shape=shape))
    particular = np.append(1.0, solution)[:, None]
    below = sp.hstack(blocks)
    free_part = sp.vstack([sp.csr_array((1, below.shape[1])), below])
    return sp.csr_array(sp.hstack([particular / np.linalg.norm(particular), free_part]))


def _ranges(feasible: FeasibleLabelings) -> sp.csr_array:
    bags, inexact = feasible.bags, feasible.lower < feasible.upper
    sizes, sums = bags.sizes, sp.csr_array(bags.membership)
    positive, negative = bags.known_counts()
    least = np.flatnonzero(inexact & (feasible.lower > positive))
    most = np.flatnonzero(inexact & (feasible.upper < sizes - negative))
    low, high = (2.0 * feasible.lower - sizes)[least], (2.0 * feasible.upper - sizes)[most]
    return sp.csr_array(
        sp.vstack(
            [
                sp.hstack([-low[:, None], sums[least]]),
                sp.hstack([high[:, None], -sums[most]]),
            ]
        )
    )
