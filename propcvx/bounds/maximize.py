r"""Maximization of the moment bound over its multipliers, by a quasi-Newton method.

The multipliers are :math:`A_k = L^{-1} R_k R_k^\top L^{-\top}` with the Cholesky factor of
:math:`L L^\top = \sum_k R_k R_k^\top`, and :math:`l_k` less their mean, for any :math:`R_k` and
:math:`l_k`; features beyond the first q are not in them.  The least value of a block's labelings is
smoothed with a temperature that falls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from propcvx.arrays import Array
from propcvx.bounds.interval import Interval
from propcvx.bounds.moments import NEGLIGIBLE, Multipliers, PieceProblem, soft_least
from propcvx.bounds.partition import Partition

STAGES = ((1e-2, 60), (3e-3, 60), (1e-3, 100), (3e-4, 150))
"""Temperatures, relative to the upper bound for each block, and the most iterations at each."""

PROGRAM_ERROR = 1e-5
"""Error of the quadratic programs, relative to the temperature."""

EQUAL = 1e-3
"""Fraction of equal multipliers, I / K, in every A_k; it keeps them well conditioned."""

LEAST_GAIN = 3e-3
"""Gain of an iteration, relative to the temperature, below which a stage ends."""


@dataclass(eq=False)
class SmoothBound:
    """The smoothed bound as a function of a vector without constraints.

    Attributes
    ----------
    partition : Partition
    unit : float
        The size of the value, by which values and gradients are divided.
    best : Multipliers
        The multipliers of the largest bound so far.
    check_time : callable
        Called before every batch of duals; an exception from it ends the search.
    temperature : float
        The temperature of the smoothing.
    largest : float
        The largest bound so far, without smoothing.
    """

    partition: Partition
    unit: float
    best: Multipliers
    check_time: Callable[[], None] = lambda: None
    temperature: float = 0.0
    largest: float = -np.inf

    def pack(self, multipliers: Multipliers) -> Array:
        """Convert multipliers to a vector."""
        roots, fraction = np.linalg.cholesky(multipliers.squares), self._fraction
        linear, prices = multipliers.linear / np.sqrt(fraction), multipliers.prices / fraction
        return _packed(roots, linear, prices)

    @property
    def _fraction(self) -> float:
        """Size of the value of one block."""
        return self.unit / len(self.partition.blocks)

    def _unpack(self, vector: Array) -> tuple[Array, Array, Array]:
        squares, linear = self.best.squares, self.best.linear
        roots, slopes, prices = np.split(vector, np.cumsum([squares.size, linear.size]))
        return roots.reshape(squares.shape), slopes.reshape(linear.shape), prices

    def __call__(self, vector: Array) -> tuple[float, Array]:
        """Compute minus the smoothed bound and its gradient, in units of the value."""
        (roots, linear, prices), fraction = self._unpack(vector), self._fraction
        inverse = np.linalg.inv(np.linalg.cholesky(np.einsum("kij,klj->il", roots, roots)))
        pure = inverse @ roots
        squares = pure @ pure.transpose(0, 2, 1)
        mixed = (1.0 - EQUAL) * squares + EQUAL * np.eye(len(inverse)) / len(roots)
        linear = (linear - linear.mean(axis=0)) * np.sqrt(fraction)
        multipliers = Multipliers(mixed, self.best.fractions, linear, prices * fraction)
        smooth, slopes = self._evaluate(multipliers)
        by_squares = (1.0 - EQUAL) * slopes.squares
        change = np.tril(np.einsum("kij,kjl->il", by_squares, squares))
        change[np.diag_indices_from(change)] *= 0.5  # L moves by L times this part of L^-1 dS L^-T
        by_squares = inverse.T @ (by_squares - change - change.T) @ inverse
        by_linear = (slopes.linear - slopes.linear.mean(axis=0)) * np.sqrt(fraction)
        gradient = _packed(2.0 * by_squares @ roots, by_linear, slopes.prices * fraction)
        return -smooth / self.unit, -gradient / self.unit

    def _evaluate(self, multipliers: Multipliers) -> tuple[float, Multipliers]:
        """Compute the smoothed bound and its derivatives by :math:`A_k`, l and prices."""
        smooth, largest, q = 0.0, 0.0, multipliers.squares.shape[1]
        slopes = Multipliers(*map(np.zeros_like, vars(multipliers).values()))
        margin, tol = NEGLIGIBLE * self.temperature, PROGRAM_ERROR * self.temperature
        for k, block in enumerate(self.partition.blocks):
            problem = PieceProblem(self.partition, multipliers, k)
            values = problem.values(margin, tol, self.check_time)
            soft, mixture = soft_least(values, self.temperature)
            smooth, largest = smooth + soft, largest + float(values.min())
            some = np.flatnonzero(mixture)
            w, mu = problem.weights(block.duals[some]), mixture[some]
            moments = mu[:, None] * w
            slopes.squares[k] = 0.5 * w[:, :q].T @ moments[:, :q]
            slopes.linear[k] = moments.sum(axis=0)
            slopes.prices[:] -= mu @ block.counts[some]
        for b, cost in enumerate(self.partition.costs):
            counts = np.arange(len(cost))
            values = cost + multipliers.prices[b] * counts
            soft, mixture = soft_least(values, self.temperature)
            smooth, largest = smooth + soft, largest + float(values.min())
            slopes.prices[b] += mixture @ counts
        if largest > self.largest:
            self.largest, self.best = largest, multipliers
        return smooth, slopes


def _packed(*parts: NDArray[Any]) -> Array:
    return np.concatenate([part.ravel() for part in parts])


def maximize(
    partition: Partition,
    multipliers: Multipliers,
    interval: Interval,
    stages: Sequence[tuple[float, int]],
) -> Iterator[Multipliers]:
    """Maximize the bound, and yield the best multipliers so far after each stage.

    Parameters
    ----------
    partition : Partition
        The duals of its blocks are improved in place.
    multipliers : Multipliers
        The multipliers to begin with.
    interval : Interval
        The interval, at whose time limit and goal the search ends.
    stages : sequence of (temperature, iterations)
        As in ``STAGES``.
    """
    unit, goal = interval.upper, interval.goal
    bound = SmoothBound(partition, unit, multipliers, interval.check_time)
    vector = bound.pack(multipliers)

    def stop_at_goal(vector: Array) -> None:
        if bound.largest >= goal:
            raise StopIteration

    for temperature, iterations in stages:
        bound.temperature = temperature * unit / len(partition.blocks)
        limits = {"maxiter": iterations, "maxcor": 20, "ftol": LEAST_GAIN * temperature}
        settings = {"jac": True, "method": "L-BFGS-B", "callback": stop_at_goal, "options": limits}
        vector = minimize(bound, vector, **settings).x
        yield bound.best
        if bound.largest >= goal:
            return
