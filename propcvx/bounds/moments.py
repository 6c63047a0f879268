r"""The bag-wise moment bound: blocks separate once each has its own copy of the weights.

For any positive semidefinite :math:`A_k` with :math:`\sum_k A_k = I`, any :math:`l_k` with
:math:`\sum_k l_k = 0` and any prices :math:`\lambda_b` of the counts of divided bags, the best
labeling's value is at least

.. math::

    \sum_k \min_{y \in Y_k} \Big[ c_k(y) - \lambda^\top m(y) + \min_w \big( \tfrac12 w^\top A_k w
    + l_k^\top w + C \sum_{i \in k} \max(0, 1 - y_i w^\top F_i) \big) \Big]
    + \sum_b \min_m \big[ c_b(m) + \lambda_b m \big],

and by weak duality the inner minimum over w is at least, for any v with
:math:`0 \le y_i v_i \le C`,
:math:`y^\top v - \tfrac12 (F_k^\top v - l_k)^\top A_k^{-1} (F_k^\top v - l_k)`.
So :func:`certify_values` is a bound for any accuracy of multipliers and duals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np

from propcvx.arrays import Array, Indices, Mask, Signs
from propcvx.bounds.partition import Block, Partition

Check = Callable[[], None]

NEGLIGIBLE = 30.0
"""Number of temperatures above the least value from which a mixture omits labelings."""

PROGRAMS_AT_ONCE = 4096
"""Number of quadratic programs that are solved at once."""

EPSILON = float(np.finfo(float).eps)
TINY = float(np.finfo(float).tiny)

MOST_PAIRS = 100_000_000
"""Largest number of pairs of labelings of two blocks that are bounded to merge them."""

STEPS = 100
"""Most steps of the batch of quadratic programs."""

PAIRS_AT_ONCE = 500_000
"""Number of pairs of labelings that are bounded at once."""

RIDGE = 1e-13
"""Number added to the diagonal of a quadratic program, relative to its largest entry, so that no
face is singular."""


@dataclass(frozen=True, eq=False)
class Multipliers:
    r"""Multipliers, for which the bound is a sum over the blocks.

    Attributes
    ----------
    squares : array of shape (K, q, q)
        :math:`A_k` in the first q features.
    fractions : array of shape (K,)
        :math:`s_k`, with :math:`A_k = s_k I` in all other features.
    linear : array of shape (K, rank)
        :math:`l_k`.
    prices : array of shape (D,)
        :math:`\lambda_b` of one positive in each of the D divided bags.
    """

    squares: Array
    fractions: Array
    linear: Array
    prices: Array

    @classmethod
    def equal(cls, partition: Partition, n_factored: int) -> Multipliers:
        """Build equal multipliers of all blocks: :math:`A_k = I / K`, :math:`l_k = 0`."""
        n, rank = len(partition.blocks), partition.blocks[0].features.shape[1]
        squares = np.tile(np.eye(min(n_factored, rank)) / n, (n, 1, 1))
        prices = np.zeros(len(partition.costs))
        return cls(squares, np.full(n, 1.0 / n), np.zeros((n, rank)), prices)

    def merge(self, groups: Sequence[Sequence[int]]) -> Multipliers:
        """Sum multipliers over merged blocks, which makes the bound no smaller."""
        squares, fractions, linear = (
            np.array([part[list(group)].sum(axis=0) for group in groups])
            for part in (self.squares, self.fractions, self.linear)
        )
        return Multipliers(squares, fractions, linear, self.prices)


class PieceProblem:
    r"""The quadratic programs of block k, which differ in their labeling only.

    With :math:`z = H^\top v - h` the duals have the value
    :math:`y^\top v - \tfrac12 \|z\|^2 + c(y) - \lambda^\top m(y)`, and :math:`A_k^{-1/2} z` are the
    weights.
    """

    def __init__(
        self, partition: Partition, multipliers: Multipliers, k: int, block: Block | None = None
    ) -> None:
        self.partition, self.block = partition, block or partition.blocks[k]
        self.factor = np.linalg.cholesky(multipliers.squares[k]).astype(float, copy=False)
        self.scale = float(np.sqrt(multipliers.fractions[k]))
        self.linear, q = multipliers.linear[k], len(self.factor)
        rows = np.vstack([self.block.features, self.linear])
        rows = np.hstack([np.linalg.solve(self.factor, rows[:, :q].T).T, rows[:, q:] / self.scale])
        self.rows, self.offset = rows[:-1], rows[-1]
        self.Q, self.q = self.rows @ self.rows.T, self.rows @ self.offset
        self.costs = self.block.costs - self.block.counts @ multipliers.prices
        self.constants = self.costs - 0.5 * self.offset @ self.offset

    def values(self, margin: float, tol: float, check_time: Check) -> Array:
        """Compute the dual values of all labelings, improved within ``margin`` of the least."""
        duals = self.block.duals
        slopes = self.block.labelings + self.q - 0.5 * duals @ self.Q
        values: Array = np.einsum("pi,pi->p", slopes, duals) + self.constants
        mask = values <= values.min() + margin
        self.improve(values, mask, np.inf, tol, check_time)
        limit = float(values[mask].min()) + margin
        self.improve(values, ~mask & (values < limit), limit, tol, check_time)
        return values

    def improve(
        self, values: Array, mask: Mask, limit: float, tol: float, check_time: Check
    ) -> None:
        """Improve the duals of some labelings and their values, in place, while below a value."""
        places = np.flatnonzero(mask & np.isfinite(self.constants))  # the others are infeasible
        for start in range(0, len(places), PROGRAMS_AT_ONCE):
            check_time()
            part = places[start : start + PROGRAMS_AT_ONCE]
            y, constants = self.block.labelings[part].astype(float), self.constants[part]
            program = self.Q, y + self.q, self._box(y), self.block.duals[part]
            v, optima = solve_boxes(*program, limit - constants, tol)
            self.block.duals[part], values[part] = v, optima + constants

    def _box(self, labelings: Array | Signs) -> tuple[Array, Array]:
        """Return lower and upper bounds on the duals of some labelings."""
        corners = self.partition.C * labelings
        return np.minimum(0.0, corners), np.maximum(0.0, corners)

    def weights(self, duals: Array) -> Array:
        """Compute the weights w of some duals, in rows."""
        z, q = duals @ self.rows - self.offset, len(self.factor)
        return np.hstack([np.linalg.solve(self.factor.T, z[:, :q].T).T, z[:, q:] / self.scale])

    def certify(self) -> tuple[Array, Array]:
        r"""Compute lower bounds of :math:`\min_w` over :math:`\|w\| \le` reach, and z.

        The bounds include rounding errors.

        For any z, :math:`\tfrac12 w^\top A w - x^\top w \ge -\tfrac12 \|z\|^2 - \|x - G z\| \|w\|`.
        """
        q, reach = len(self.factor), self.partition.reach
        duals = np.clip(self.block.duals, *self._box(self.block.labelings))
        z = duals @ self.rows - self.offset
        x = duals @ self.block.features - self.linear
        back = np.hstack([z[:, :q] @ self.factor.T, z[:, q:] * self.scale])
        square = np.einsum("pj,pj->p", z, z)
        missing = np.linalg.norm(x - back, axis=1)
        total = np.abs(duals).sum(axis=1)
        size = np.abs(duals) @ np.abs(self.block.features).sum(axis=1)
        size += np.abs(self.linear).sum() + np.abs(back).sum(axis=1)
        rounding = EPSILON * 4 * sum(self.rows.shape) * (total + square + size * reach)
        values: Array = total - 0.5 * square - missing * reach - rounding + self.costs
        return values, z


def soft_least(values: Array, temperature: float) -> tuple[float, Array]:
    r"""Compute :math:`-T \log \sum_y e^{-d_y / T}` and its derivative, 0 where negligible."""
    excess = (values - values.min()) / temperature
    weights = np.where(excess < NEGLIGIBLE, np.exp(-excess), 0.0)
    total = weights.sum()
    return float(values.min() - temperature * np.log(total)), weights / total


@dataclass(frozen=True, eq=False)
class CertifiedValues:
    """Lower bounds, with rounding errors included, for weights no longer than ``Division.reach``.

    Attributes
    ----------
    values : list of arrays
        For each block, and each of its labelings, a lower bound on the block's part of the sum.
    rest : float
        A lower bound on all that does not belong to a block.
    """

    values: list[Array]
    rest: float

    @cached_property
    def lower(self) -> float:
        """A lower bound on the whole problem."""
        return self.rest + sum(float(values.min()) for values in self.values)

    def lower_without(self, blocks: Sequence[int]) -> float:
        """Return a lower bound on everything except the parts of some blocks."""
        return self.lower - sum(float(self.values[k].min()) for k in blocks)

    def of_labelings(self, k: int) -> Array:
        """Return lower bounds on the whole problem for each labeling of block k."""
        return self.values[k] + self.lower_without([k])


def improve_duals(
    partition: Partition, multipliers: Multipliers, margin: float, tol: float, check_time: Check
) -> None:
    """Improve, in place, duals of labelings within ``margin`` of the least of their block.

    ``check_time`` is called before every batch, and ends the work by raising an exception.
    """
    for k in range(len(partition.blocks)):
        problem = PieceProblem(partition, multipliers, k)
        values = problem.values(0.0, tol, check_time)
        limit = float(values.min()) + margin
        problem.improve(values, values < limit, limit, tol, check_time)


def certify_values(partition: Partition, multipliers: Multipliers) -> CertifiedValues:
    r"""Compute lower bounds from any multipliers and duals, with rounding errors included.

    Parameters
    ----------
    division : Division
        The duals of its blocks are clipped to their boxes.
    multipliers : Multipliers
        Their sums need not be exact: for weights no longer than ``reach``, an error of the sums
        costs at most :math:`\tfrac12 \|I - \sum_k A_k\| \, reach^2 + \|\sum_k l_k\| \, reach`.
    """
    problems = [PieceProblem(partition, multipliers, k) for k in range(len(partition.blocks))]
    factors, reach = np.array([problem.factor for problem in problems]), partition.reach
    squares = np.einsum("kij,klj->il", factors, factors) - np.eye(factors.shape[1])
    tail = abs(float(sum(problem.scale**2 for problem in problems)) - 1.0)
    deviation = np.linalg.norm(squares) + tail + EPSILON * factors.size
    defect = 0.5 * reach**2 * deviation + reach * np.linalg.norm(multipliers.linear.sum(axis=0))
    values, rest = [problem.certify()[0] for problem in problems], -float(defect)
    for cost, price in zip(partition.costs, multipliers.prices, strict=True):
        rest += float((cost + price * np.arange(len(cost))).min())
    return CertifiedValues(values, rest)


def find_pairs(
    partition: Partition, multipliers: Multipliers, pair: Sequence[int], goal: float, limit: int
) -> Indices | None:
    r"""Find pairs of labelings of two blocks with a bound below a goal; None if too many.

    The pair has the sum of both blocks' A and :math:`l`.  Let :math:`b_1, b_2` be their bounds of
    :meth:`PieceProblem.certified` with this A and half of this :math:`l`.  With the duals of both
    the pair has :math:`z = z_1 + z_2`, so that :math:`b_1 + b_2 - z_1^\top z_2` is a bound for it.
    The allowance of b for rounding covers this sum, too.

    Returns
    -------
    pairs : int array of shape (2, n_pairs)
    """
    blocks = [partition.blocks[k] for k in pair]
    if len(blocks) < 2 or prod(map(len, blocks)) > MOST_PAIRS:
        return None
    merged = multipliers.merge([pair])
    merged = replace(merged, linear=0.5 * merged.linear)
    (b, z), (c, x) = (PieceProblem(partition, merged, 0, block).certify() for block in blocks)
    places: list[Indices] = []
    for part in np.array_split(range(len(b)), len(b) * len(c) // PAIRS_AT_ONCE + 1):
        rows, columns = np.nonzero(b[part, None] + c - z[part] @ x.T < goal)
        places.append(np.array([part[rows], columns]))
        if sum(map(np.size, places)) > 2 * limit:
            return None
    return np.hstack(places)


def solve_boxes(
    Q: Array, g: Array, box: tuple[Array, Array], start: Array, limits: Array, tol: float
) -> tuple[Array, Array]:
    r"""Solve P quadratic programs of n variables with one matrix over boxes, by active sets.

    .. math::

        \max_{l \le v \le u} \; g^\top v - \tfrac12 v^\top Q v

    Each step of the batch solves for the coordinates inside their box, and moves until a coordinate
    is at its bound.  If it reaches the solution, the next step moves the coordinate that gains most
    away from its bound.

    Parameters
    ----------
    Q : array of shape (n, n)
        Positive semidefinite.
    g : array of shape (P, n)
    box : pair of arrays of shape (P, n)
        The bounds l and u.
    start : array of shape (P, n)
        The first points; clipped to the box.
    limits : array of shape (P,)
        Values above which programs are not improved further.
    tol : float
        Largest error of a value; programs that need more than ``STEPS`` keep their last point.

    Returns
    -------
    v : array of shape (P, n)
    values : array of shape (P,)
    """
    (lower, upper), diagonal = box, np.maximum(Q.diagonal(), TINY)
    v = np.clip(start, lower, upper)
    gradient = g - v @ Q
    for j in range(len(Q)):  # along each coordinate once
        target = np.clip(v[:, j] + gradient[:, j] / diagonal[j], lower[:, j], upper[:, j])
        gradient -= (target - v[:, j])[:, None] * Q[j]
        v[:, j] = target
    face_solved = np.zeros(len(g), dtype=bool)
    for _ in range(STEPS):
        gain = gradient * np.where(gradient > 0.0, upper - v, lower - v)
        values = 0.5 * np.einsum("pi,pi->p", v, g + gradient)
        active = np.flatnonzero((gain.sum(axis=1) > tol) & (values <= limits))
        if not len(active):
            break
        free, solved = (v > lower) & (v < upper), active[face_solved[active]]
        free[solved, (gain * ~free)[solved].argmax(axis=1)] = True
        face = Q, v[active], gradient[active], free[active], lower[active], upper[active]
        v[active], face_solved[active] = _along_face(*face)
        gradient[active] = g[active] - v[active] @ Q
    return v, 0.5 * np.einsum("pi,pi->p", v, g + gradient)


def _along_face(
    Q: Array, v: Array, gradient: Array, free: Mask, lower: Array, upper: Array
) -> tuple[Array, Mask]:
    """Move to the maximum over the free coordinates, or until some are at their bound.

    Return the points, and whether the face is solved before a bound.
    """
    identity = np.eye(len(Q))
    ridged = Q + RIDGE * max(float(Q.diagonal().max()), TINY) * identity
    faces = np.where(free[:, :, None] & free[:, None, :], ridged, identity)
    direction = np.linalg.solve(faces, np.where(free, gradient, 0.0)[..., None])[..., 0]
    bound = np.where(direction > 0.0, upper, lower)
    lengths = np.divide(bound - v, direction, out=np.full_like(v, np.inf), where=direction != 0.0)
    length = np.minimum(lengths.min(axis=1, keepdims=True), 1.0)
    point = np.clip(v + length * direction, lower, upper)
    return np.where(lengths == length, bound, point), length[:, 0] == 1.0
