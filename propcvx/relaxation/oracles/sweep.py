"""The most violated labeling in two dimensions, by a sweep over directions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propcvx.errors import InputError
from propcvx.relaxation.oracles.cut import Cut
from propcvx.relaxation.oracles.rows import RowOracle, best_cut

Array = NDArray[np.float64]


@dataclass(frozen=True)
class DirectionSweepOracle(RowOracle):
    r"""The most violated labeling for at most two features.

    :math:`\|F^\top (y \circ \alpha)\| = \max_{\|u\| = 1} \sum_i \alpha_i y_i F_i^\top u`, and for a
    direction u the best y sorts each bag.  The sorting changes only where two instances of a bag
    have equal scores, or one's score changes sign, so one direction between each pair of
    neighbouring changes is enough.
    """

    chunk: int = 2048

    def __post_init__(self) -> None:
        if self.features.shape[1] > 2:
            raise InputError(
                f"a sweep over directions needs at most 2 features, got {self.features.shape[1]}; "
                "use ExhaustiveOracle, MixedIntegerOracle or CoordinateOracle."
            )

    def _find(self, alpha: Array) -> Cut:
        weighted = np.zeros((len(alpha), 2))
        weighted[:, : self._rows.shape[1]] = alpha[:, None] * self._rows
        directions = direction(arcs(weighted, self._labelings.bags.index))
        blocks = (directions[i : i + self.chunk] for i in range(0, len(directions), self.chunk))
        found = (self._labelings.best(weighted @ block.T).T for block in blocks)
        return best_cut(np.array([best_cut(b, weighted).labeling for b in found]), weighted)


def arcs(points: Array, bags: NDArray[np.intp]) -> Array:
    """One direction, as an angle, inside every arc on which no bag changes its order.

    Parameters
    ----------
    points : array of shape (n_instances, 2)
    bags : int array of shape (n_instances,)
        Which bag each is in.

    Returns
    -------
    angles : array of shape (n_arcs,)
        In radians, rising; neighbouring ones are in neighbouring arcs.
    """
    left, right = np.triu_indices(len(points), k=1)
    together = bags[left] == bags[right]
    normals = np.vstack([points[left[together]] - points[right[together]], points])
    normals = normals[np.any(normals != 0.0, axis=1)]
    turns = np.arctan2(normals[:, 0], -normals[:, 1])
    turns = np.unique(np.concatenate([turns, turns + np.pi]) % (2 * np.pi))
    if len(turns) == 0:
        return np.zeros(1)
    return np.asarray(turns + np.diff(np.append(turns, turns[0] + 2 * np.pi)) / 2)


def direction(angles: Array) -> Array:
    """Unit vectors of shape (n_angles, 2)."""
    return np.column_stack([np.cos(angles), np.sin(angles)])
