"""The most violated labeling: by listing all, by a sweep in two dimensions, by a solver."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

import numpy as np

from propcvx.arrays import Array, Indices
from propcvx.errors import InputError
from propcvx.programs import Program, exact_separation
from propcvx.relaxation.oracles.cut import BaseOracle, Cut, best_cut, violation_value
from propcvx.solvers import solve

CHUNK = 2048
"""Number of labelings at a time."""

SAFETY = 1e-5
"""Added to the solver's bound, relative to the largest value that any labeling could have: ten
times the tolerance to which SCIP holds its constraints."""


@dataclass(frozen=True)
class ExhaustiveOracle(BaseOracle):
    """Oracle that lists all labelings, for few instances.

    Attributes
    ----------
    features, feasible
        As in :class:`~propcvx.relaxation.oracles.CoordinateOracle`.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.relaxation.oracles import ExhaustiveOracle
    >>> from propcvx import Bags, bag_target
    >>> from propcvx.labelings import FeasibleLabelings
    >>> feasible = FeasibleLabelings.from_bags(Bags.from_target(bag_target([0, 0, 0], [1 / 3])), 0)
    >>> features = np.array([[-1.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    >>> ExhaustiveOracle(features, feasible)(np.ones(3)).labeling
    array([ 1., -1., -1.])
    """

    def __call__(self, alpha: Array) -> Cut:
        """Find a labeling for alpha."""
        weighted = alpha[:, None] * self.features
        labelings = self.feasible.enumerate()
        blocks = iter(lambda: list(islice(labelings, CHUNK)), [])
        return _best_of_blocks(map(np.array, blocks), weighted)


def _best_of_blocks(blocks: Iterable[Array], weighted: Array) -> Cut:
    """Find the most violated of all labelings, a block at a time."""
    best = [best_cut(block, weighted).labeling for block in blocks]
    return best_cut(np.array(best), weighted)


@dataclass(frozen=True)
class DirectionSweepOracle(BaseOracle):
    r"""Oracle that finds the most violated labeling for at most two features.

    :math:`\|F^\top (y \circ \alpha)\| = \max_{\|u\| = 1} \sum_i \alpha_i y_i F_i^\top u`, and for a
    direction u the best y sorts each bag.  The sorting changes only where two instances of a bag
    have equal scores, or one's score changes sign, so one direction between each pair of
    neighboring changes is enough.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.relaxation.oracles import DirectionSweepOracle
    >>> from propcvx import Bags, bag_target
    >>> from propcvx.labelings import FeasibleLabelings
    >>> feasible = FeasibleLabelings.from_bags(Bags.from_target(bag_target([0, 0, 0], [1 / 3])), 0)
    >>> features = np.array([[-1.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    >>> DirectionSweepOracle(features, feasible)(np.ones(3)).labeling
    array([ 1., -1., -1.])
    """

    def __post_init__(self) -> None:
        if self.features.shape[1] > 2:
            raise InputError(
                f"a sweep over directions needs at most 2 features; got {self.features.shape[1]}. "
                "Use ExhaustiveOracle, MixedIntegerOracle or CoordinateOracle."
            )

    def __call__(self, alpha: Array) -> Cut:
        """Find a labeling for alpha."""
        missing = 2 - self.features.shape[1]
        weighted = np.pad(alpha[:, None] * self.features, ((0, 0), (0, missing)))
        directions = direction(arcs(weighted, self.feasible.bags.index))
        blocks = np.split(directions, range(CHUNK, len(directions), CHUNK))
        labelings = (self.feasible.best(weighted @ block.T).T for block in blocks)
        return _best_of_blocks(labelings, weighted)


def arcs(points: Array, bags: Indices) -> Array:
    """Choose one direction, as an angle, inside every arc on which no bag changes its order.

    Parameters
    ----------
    points : array of shape (n_instances, 2)
    bags : int array of shape (n_instances,)
        The bag of each instance.

    Returns
    -------
    angles : array of shape (n_arcs,)
        In radians, rising; neighboring ones are in neighboring arcs.
    """
    left, right = np.triu_indices(len(points), k=1)
    same_bag = bags[left] == bags[right]
    normals = np.vstack([points[left[same_bag]] - points[right[same_bag]], points])
    normals = normals[np.any(normals != 0.0, axis=1)]
    turns = np.arctan2(normals[:, 0], -normals[:, 1])
    turns = np.unique(np.concatenate([turns, turns + np.pi]) % (2 * np.pi))
    if len(turns) == 0:
        return np.zeros(1)
    return np.asarray(turns + np.diff(np.append(turns, turns[0] + 2 * np.pi)) / 2)


def direction(angles: Array) -> Array:
    """Convert angles to unit vectors of shape (n_angles, 2)."""
    return np.column_stack([np.cos(angles), np.sin(angles)])


@dataclass(frozen=True)
class MixedIntegerOracle(BaseOracle):
    r"""Oracle that solves ``exact_separation``, for tens of instances.

    The program is scaled so that :math:`\lambda_{\max}(K \circ \alpha \alpha^\top) = 1`.  The bound
    of a cut counts in the solver's gap and tolerances; it holds when the time runs out, too.

    Attributes
    ----------
    features, feasible
        As in :class:`~propcvx.relaxation.oracles.CoordinateOracle`.
    tol : float
        Relative gap of the solver, SCIP.
    time_limit : float
        Its time limit.
    """

    tol: float = 1e-6
    time_limit: float = 60.0

    def __call__(self, alpha: Array) -> Cut:
        """Find a labeling for alpha."""
        weighted = alpha[:, None] * self.features
        norm = float(np.linalg.norm(weighted, 2))
        if norm == 0.0:
            return Cut(self.feasible.best(np.zeros(len(alpha))), 0.0, 0.0)
        unit, n = weighted / norm, len(alpha)
        program = exact_separation(unit, np.ones(n), self.feasible)
        answer = solve(program, "scip", tol=self.tol, residuals=False, time_limit=self.time_limit)
        labeling = np.where(answer.variables["z"] > 0.5, 1.0, -1.0)
        labeling = self.ascend(labeling, alpha)
        value = violation_value(self.features, labeling, alpha)
        lower = lower_bound_of(program)
        return Cut(labeling, value, max(value, 0.5 * norm**2 * n * (1.0 - lower / n + SAFETY)))


def lower_bound_of(program: Program) -> float:
    """Return the least value that the solver has not excluded; if unknown, 0 (of squares)."""
    extra = program.problem.solver_stats.extra_stats or {}
    model = extra.get("model") if isinstance(extra, dict) else None
    return max(0.0, float(model.getDualbound())) if model is not None else 0.0
