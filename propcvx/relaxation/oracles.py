r"""Separation: labelings that violate the relaxation most, or at all, eq:concave.

An oracle is called with the dual variables alpha and returns a :class:`Cut`.  ``exact`` says
whether it finds the most violated labeling; only then is a gap known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from propcvx.errors import InputError
from propcvx.labelings import FeasibleLabelings
from propcvx.programs import exact_separation
from propcvx.relaxation.separation import DimensionSearch
from propcvx.solvers import solve

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Cut:
    r"""A labeling found for given alpha.

    Attributes
    ----------
    labeling : array of shape (n_instances,)
    value : float
        :math:`\tfrac12 \|F^\top (y \circ \alpha)\|^2` of that labeling.
    bound : float
        An upper bound on that value over all feasible labelings; infinite where the oracle is
        not exact.
    """

    labeling: Array
    value: float
    bound: float


class Oracle(Protocol):
    """What the cutting-plane loop needs of an oracle."""

    exact: bool

    def __call__(self, alpha: Array) -> Cut:
        """Find a labeling."""


@dataclass(frozen=True)
class CoordinateOracle:
    r"""The oracle of the paper: the :math:`\ell_\infty` norm in place of :math:`\ell_2`, eq:inf.

    For each dimension j and each sign, :math:`\max_y \pm \sum_i \alpha_i y_i x_i^{(j)}` is solved
    by sorting every bag once (Proposition 3).  A heuristic: violated labelings may remain.

    Attributes
    ----------
    features : array of shape (n_instances, rank)
        F, in which violation is measured.
    feasible : FeasibleLabelings
        The set :math:`\mathcal{Y}`.
    dimensions : array of shape (n_instances, d)
        The dimensions :math:`x^{(j)}` tried, one per column.
    """

    features: Array
    feasible: FeasibleLabelings
    dimensions: Array
    exact = False

    @cached_property
    def _search(self) -> DimensionSearch:
        return DimensionSearch.of(self.feasible, self.dimensions)

    def __call__(self, alpha: Array) -> Cut:
        """Best labeling over all dimensions and both signs."""
        values = self._search.values(alpha)
        sign, dimension = np.unravel_index(int(np.argmax(values)), values.shape)
        scores = alpha * self.dimensions[:, dimension]
        labeling = self.feasible.best(-scores if sign else scores)
        return Cut(labeling, violation_value(self.features, labeling, alpha), np.inf)


@dataclass(frozen=True)
class ExhaustiveOracle:
    """The most violated labeling by listing all of them, for a handful of instances."""

    features: Array
    feasible: FeasibleLabelings
    chunk: int = 4096
    exact = True

    def __call__(self, alpha: Array) -> Cut:
        """Best of all feasible labelings."""
        weighted, labelings = alpha[:, None] * self.features, self.feasible.enumerate()
        best = max(
            (_best_row(block, weighted) for block in _chunks(labelings, self.chunk)),
            key=lambda cut: cut.value,
        )
        return best


@dataclass(frozen=True)
class DirectionSweepOracle:
    r"""The most violated labeling in two dimensions, by a sweep over directions.

    :math:`\|F^\top (y \circ \alpha)\| = \max_{\|u\| = 1} \sum_i \alpha_i y_i F_i^\top u`, and for a
    direction u the best y sorts each bag.  The sorting changes only where two instances of a bag
    have equal scores, or one's score changes sign, so one direction between each pair of
    neighbouring changes is enough.
    """

    features: Array
    feasible: FeasibleLabelings
    chunk: int = 2048
    exact = True

    def __post_init__(self) -> None:
        if self.features.shape[1] > 2:
            raise InputError(
                f"a sweep over directions needs at most 2 features, got {self.features.shape[1]}; "
                "use ExhaustiveOracle, MixedIntegerOracle or CoordinateOracle."
            )

    def __call__(self, alpha: Array) -> Cut:
        """Best labeling over all directions."""
        weighted = np.zeros((len(alpha), 2))
        weighted[:, : self.features.shape[1]] = alpha[:, None] * self.features
        directions = self._directions(weighted)
        blocks = (directions[i : i + self.chunk] for i in range(0, len(directions), self.chunk))
        return max(
            (_best_row(self.feasible.best(weighted @ block.T).T, weighted) for block in blocks),
            key=lambda cut: cut.value,
        )

    def _directions(self, weighted: Array) -> Array:
        """One direction inside every arc on which no bag changes its order."""
        index = self.feasible.bags.index
        left, right = np.triu_indices(len(weighted), k=1)
        together = index[left] == index[right]
        normals = np.vstack([weighted[left[together]] - weighted[right[together]], weighted])
        normals = normals[np.any(normals != 0.0, axis=1)]
        turns = np.arctan2(normals[:, 0], -normals[:, 1])
        turns = np.unique(np.concatenate([turns, turns + np.pi]) % (2 * np.pi))
        if len(turns) == 0:
            return np.array([[1.0, 0.0]])
        middles = turns + np.diff(np.append(turns, turns[0] + 2 * np.pi)) / 2
        return np.column_stack([np.cos(middles), np.sin(middles)])


@dataclass(frozen=True)
class MixedIntegerOracle:
    """The most violated labeling by a mixed-integer QP solver, for tens of instances."""

    features: Array
    feasible: FeasibleLabelings
    solver: str = "scip"
    tol: float = 1e-6
    options: dict[str, Any] = field(default_factory=dict)
    exact = True

    def __call__(self, alpha: Array) -> Cut:
        """Solve eq:concave; the bound counts in the solver's optimality gap."""
        program = exact_separation(self.features, alpha, self.feasible)
        solution = solve(program, self.solver, tol=self.tol, **self.options)
        labeling = np.where(solution.variables["z"] > 0.5, 1.0, -1.0)
        value = violation_value(self.features, labeling, alpha)
        slack = 0.5 * self.tol * max(1.0, abs(solution.value))
        return Cut(labeling, value, value + slack)


def violation_value(features: Array, labeling: Array, alpha: Array) -> float:
    r""":math:`\tfrac12 \|F^\top (y \circ \alpha)\|^2`, half the objective of eq:concave."""
    weights = features.T @ (labeling * alpha)
    return 0.5 * float(weights @ weights)


def _best_row(labelings: Array, weighted: Array) -> Cut:
    values = 0.5 * np.square(labelings @ weighted).sum(axis=1)
    best = int(np.argmax(values))
    return Cut(labelings[best], float(values[best]), float(values[best]))


def _chunks(labelings: Iterator[Array], size: int) -> Iterator[Array]:
    while block := list(islice(labelings, size)):
        yield np.array(block)
