"""The instances of one ``svm_dual``, and primal and dual feasible points of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propcvx.programs import Program
from propcvx.solvers.specialised.rounded import Losses

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

CHUNK = 8192
"""Instances at a time: few enough for all that is known of them to stay in a processor's cache."""


def parameters_of(program: Program) -> tuple[Array, Array, Array]:
    """The values of y, lower and upper of ``svm_dual``."""
    values = program.values
    return values["y"], values["lower"], values["upper"]


@dataclass(frozen=True)
class Start:
    r"""A plane, and no dual point yet.

    Attributes
    ----------
    plane : array of shape (rank,) or (rank + 1,)
        w, and the bias last where there is one.
    residuals : array of shape (n_instances,)
        r at the plane.
    v : array of shape (n_instances,)
        Slopes there, :math:`\phi_i(r_i) = v_i r_i`.
    pull : array of the shape of ``plane``
        :math:`F^\top v`, and the sum of v where there is a bias.
    primal : float
        The primal objective.
    """

    plane: Array
    residuals: Array
    v: Array
    pull: Array
    primal: float


@dataclass(frozen=True)
class Point:
    r"""Primal and dual feasible points of one problem.

    Attributes
    ----------
    plane : array of shape (rank,) or (rank + 1,)
        w, and the bias last where there is one.
    v : array of shape (n_instances,)
        Feasible for the dual; its weights :math:`F^\top v` are w.
    scores : array of shape (n_instances,)
        :math:`F w`.
    above, below : arrays of shape (n_instances,)
        Positive and negative part of r at the plane.
    primal, gap : float
        The primal objective, and by how much it exceeds the dual one.
    """

    plane: Array
    v: Array
    scores: Array
    above: Array
    below: Array
    primal: float
    gap: float

    def within(self, tol: float) -> bool:
        """Whether the gap is at most ``tol`` times the primal objective."""
        return self.gap <= tol * self.primal


@dataclass(frozen=True)
class Instances:
    """The data of one ``svm_dual`` and what is summed over all instances.

    Attributes
    ----------
    features : array of shape (n_instances, rank)
    y, lower, upper : arrays of shape (n_instances,)
    bias : bool
        Whether v sums to zero.
    """

    features: Array
    y: Array
    lower: Array
    upper: Array
    bias: bool

    @classmethod
    def of(cls, program: Program) -> Instances:
        """Read them off a program whose parameters are set."""
        svm: Any = program.structure
        return cls(svm.features, *parameters_of(program), svm.bias)

    def residuals(
        self, plane: Array, part: slice = slice(None), scores: Array | None = None
    ) -> Array:
        """:math:`r = y - F w - b`; F w where it is known."""
        if scores is None:
            scores = self.features[part] @ plane[: self.features.shape[1]]
            residuals = np.subtract(self.y[part], scores, out=scores)
        else:
            residuals = self.y[part] - scores[part]
        if self.bias:
            residuals -= plane[-1]
        return residuals

    def slopes(self, residuals: Array, part: slice = slice(None)) -> Array:
        r""":math:`v_i` at which :math:`\phi_i(r_i) = v_i r_i`."""
        slopes = self.upper[part] - self.lower[part]
        slopes *= residuals > 0.0
        slopes += self.lower[part]
        return slopes

    def start(self, plane: Array, scores: Array | None = None) -> Start:
        """A plane, its F w where that is known, and the slopes there."""
        n, rank = self.features.shape
        residuals, v, pull = np.empty(n), np.empty(n), np.zeros(len(plane))
        primal = 0.5 * float(plane[:rank] @ plane[:rank])
        for first in range(0, n, CHUNK):
            part = slice(first, first + CHUNK)
            r = self.residuals(plane, part, scores)
            slopes = self.slopes(r, part)
            residuals[part], v[part] = r, slopes
            primal += float(slopes @ r)
            pull[:rank] += slopes @ self.features[part]
        pull[rank:] = v.sum()
        return Start(plane, residuals, v, pull, primal)

    def point(self, plane: Array, v: Array) -> Point:
        """A feasible v, the plane of its weights and some bias, and the gap between them."""
        w = plane[: self.features.shape[1]]
        scores = self.features @ w
        residuals = self.residuals(plane, scores=scores)
        above = np.maximum(residuals, 0.0)
        below = np.subtract(above, residuals, out=residuals)
        norm, losses = 0.5 * float(w @ w), float(self.upper @ above - self.lower @ below)
        gap = losses + 2.0 * norm - float(self.y @ v)
        return Point(plane, v, scores, above, below, losses + norm, gap)

    def losses(self, near: Indices, start: Start) -> Losses:
        """Losses of the instances ``near``, all others linear."""
        rank = self.features.shape[1]
        rows, ridge = np.ones((len(near), rank + self.bias)), np.ones(rank + self.bias)
        np.take(self.features, near, axis=0, out=rows[:, :rank], mode="clip")
        ridge[rank:] = 0.0
        y, lower, upper = self.y[near], self.lower[near], self.upper[near]
        return Losses(rows, y, lower, upper, ridge, start.pull - start.v[near] @ rows)

    def bias_alone(self) -> tuple[Array, float]:
        """Of the planes with w = 0 the best one, and its objective; without a bias, w = 0."""
        plane = np.zeros(self.features.shape[1] + self.bias)
        if not self.bias:
            return plane, float(self.slopes(self.y) @ self.y)
        least, most = self.y.min(), self.y.max()
        above, below = self.upper @ (self.y - least), self.lower @ (self.y - most)
        plane[-1] = least if above < below else most
        return plane, float(min(above, below))

    def every(self, step: int) -> Instances:
        """Every so many instances, each counting for so many."""
        lower, upper = step * self.lower[::step], step * self.upper[::step]
        return Instances(self.features[::step], self.y[::step], lower, upper, self.bias)


def duals_of(above: Array, below: Array, bias: float) -> dict[str, Array]:
    """Duals that belong to the positive and the negative part of the residuals."""
    return {"lower": below, "upper": above, "balance": np.asarray(bias)}
