r"""The best multipliers of the moment bound, by a quasi-Newton method on a smoothed bound.

The multipliers are :math:`A_k = S^{-1/2} R_k R_k^\top S^{-1/2}` with
:math:`S = \sum_k R_k R_k^\top`, and :math:`l_k` less their mean, for any :math:`R_k` and
:math:`l_k`.  The least value of a piece's labelings is smoothed with a temperature that falls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from propcvx.bounds.moments import Evaluation, Multipliers, evaluate
from propcvx.bounds.pieces import Division

Array = NDArray[np.float64]

STAGES = ((1e-2, 60), (3e-3, 60), (1e-3, 100), (3e-4, 150))
"""Temperatures, as shares of the value of one piece, and the most iterations at each."""


PRECISION = 1e-5
"""Error of the quadratic programs, as a share of the temperature."""

EQUAL = 1e-3
"""Share of equal multipliers, I / K, in every A_k: it keeps them well conditioned."""


SETTLED = 3e-3
"""A stage ends when an iteration gains less than this share of its temperature."""


class EnoughError(Exception):
    """The bound has reached what was asked for."""


@dataclass(eq=False)
class SmoothBound:
    """The smoothed bound as a function of a vector without constraints.

    Attributes
    ----------
    division : Division
    duals : list of arrays
        Improved in place.
    C : float
    unit : float
        Size of the value: of everything that has its unit.
    goal : float
        :class:`EnoughError` is raised once the bound reaches it.
    before : callable
        Called before every batch of duals; an exception from it ends the search.
    """

    division: Division
    duals: Sequence[Array]
    C: float
    unit: float
    goal: float
    before: Callable[[], None]
    temperature: float = 0.0
    best: tuple[float, Multipliers] | None = None
    mixtures: list[Array] = field(default_factory=list)

    def pack(self, multipliers: Multipliers) -> Array:
        """The vector of some multipliers."""
        parts = (
            _mixed(multipliers.factors),
            np.hypot(multipliers.scales, np.sqrt(EQUAL / len(multipliers.scales))),
            multipliers.linear / self._length,
            multipliers.prices / self._price,
        )
        return np.concatenate([part.ravel() for part in parts])

    @property
    def _length(self) -> float:
        return float(np.sqrt(self.unit / len(self.division.pieces)))

    @property
    def _price(self) -> float:
        return self.unit / len(self.division.pieces)

    def _unpack(self, vector: Array) -> tuple[Array, Array, Array, Array]:
        n, d = len(self.division.pieces), len(self.division.costs)
        rank = self.division.pieces[0].features.shape[1]
        q = round(np.sqrt((len(vector) - n - n * rank - d) / n))
        ends = np.cumsum([n * q * q, n, n * rank])
        roots, scales, linear, prices = np.split(vector, ends)
        return roots.reshape(n, q, q), scales, linear.reshape(n, rank), prices

    def __call__(self, vector: Array) -> tuple[float, Array]:
        """Minus the smoothed bound and its gradient, in units of the value."""
        roots, scales, linear, prices = self._unpack(vector)
        values, vectors = np.linalg.eigh(np.einsum("kij,klj->il", roots, roots))
        lengths = np.sqrt(values)
        inverse = (vectors / lengths) @ vectors.T
        norm = float(np.sqrt(scales @ scales))
        pure = inverse @ roots
        multipliers = Multipliers(
            _mixed(pure),
            np.abs(scales) / norm,
            (linear - linear.mean(axis=0)) * self._length,
            prices * self._price,
        )
        found = evaluate(
            self.division,
            multipliers,
            self.duals,
            self.C,
            temperature=self.temperature,
            tol=PRECISION * self.temperature,
            before=self.before,
        )
        self._note(found, multipliers)
        squares = _through_root((1.0 - EQUAL) * found.squares, pure, inverse, vectors, lengths)
        shares = np.square(multipliers.scales)
        gradient = (
            2.0 * squares @ roots,
            2.0 * scales * (found.tails - found.tails @ shares) / norm**2,
            (found.linear - found.linear.mean(axis=0)) * self._length,
            found.prices * self._price,
        )
        packed = np.concatenate([part.ravel() for part in gradient])
        return -found.smooth / self.unit, -packed / self.unit

    def _note(self, found: Evaluation, multipliers: Multipliers) -> None:
        if self.best is None or found.sharp > self.best[0]:
            self.best, self.mixtures = (found.sharp, multipliers), found.mixtures
        if found.sharp >= self.goal:
            raise EnoughError


def _mixed(factors: Array) -> Array:
    """Factors of the same matrices with a share of equal ones."""
    squares = factors @ factors.transpose(0, 2, 1)
    equal = np.eye(factors.shape[1]) / len(factors)
    mixed = (1.0 - EQUAL) * squares + EQUAL * equal
    return np.asarray(np.linalg.cholesky(mixed), dtype=np.float64)


def _through_root(
    squares: Array, factors: Array, inverse: Array, vectors: Array, lengths: Array
) -> Array:
    r"""Derivatives by :math:`B_k = R_k R_k^\top` from those by :math:`A_k = T^{-1} B_k T^{-1}`.

    :math:`T^2 = \sum_k B_k`, so T moves by the solution of :math:`T\,dT + dT\,T = dB_k`.
    """
    moved = np.einsum("kij,klj,klm->im", factors, factors, squares) @ inverse
    by_root = vectors.T @ -(moved + moved.T) @ vectors
    by_sum = vectors @ (by_root / (lengths[:, None] + lengths)) @ vectors.T
    result: Array = inverse @ squares @ inverse + by_sum
    return result


def maximise(
    division: Division,
    multipliers: Multipliers,
    duals: Sequence[Array],
    C: float,
    *,
    unit: float,
    stages: Sequence[tuple[float, int]] = STAGES,
    goal: float = np.inf,
    before: Callable[[], None] = lambda: None,
    after_stage: Callable[[Multipliers], Any] = lambda multipliers: None,
) -> tuple[Multipliers, list[Array]]:
    """Multipliers with a better bound.

    Parameters
    ----------
    division : Division
    multipliers : Multipliers
        Where to begin.
    duals : sequence of arrays of shape (P, n)
        Duals of every labeling; improved in place.
    C : float
    unit : float
        Size of the value, such as an upper bound.
    stages : sequence of (temperature, iterations)
        Temperatures as shares of ``unit`` per piece.
    goal : float
        It stops where the bound reaches this.
    before, after_stage : callable
        Called before every batch of duals, and after every stage with the best multipliers so far;
        what they raise ends the search.

    Returns
    -------
    multipliers : Multipliers
        The best that were met.
    mixtures : list of arrays
        Weights of the labelings of every piece there.
    """
    bound = SmoothBound(division, duals, C, unit, goal, before)
    vector = bound.pack(multipliers)
    try:
        for temperature, iterations in stages:
            bound.temperature = temperature * unit / len(division.pieces)
            found = minimize(
                bound,
                vector,
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": iterations, "maxcor": 20, "ftol": SETTLED * temperature},
            )
            vector = found.x
            after_stage(bound.best[1] if bound.best else multipliers)
    except EnoughError:
        pass
    if bound.best is None:
        raise RuntimeError("no stage was asked for")
    return bound.best[1], bound.mixtures
