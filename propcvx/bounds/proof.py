"""What a tree of branch and bound leaves behind for a check: :mod:`propcvx.bounds.verify`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import null_space

from propcvx.arrays import Array
from propcvx.bounds.interval import Interval
from propcvx.bounds.problem import LabelingProblem
from propcvx.bounds.verify import digest
from propcvx.errors import InputError

if TYPE_CHECKING:
    from propcvx.bounds.branch_and_bound import Node

TO_SPARE = 0.05
"""The proof claims less than was proved, by this share of the tolerance: it keeps few digits."""


@dataclass(eq=False)
class Proof:
    """The nodes of a tree with their steps, in rows and features as they were given.

    Attributes
    ----------
    problem : LabelingProblem
        In the features that were given.
    nodes : dict
        By index: the steps, the instance that is branched on, and the children for +1 and -1.
    arrays : dict of str to array
        The multipliers of each step.
    """

    problem: LabelingProblem
    nodes: dict[int, dict[str, Any]] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)

    def step(self, node: Node, axes: Array) -> None:
        """Note the pieces of a node and their multipliers, of features rotated to ``axes``."""
        if node.division.costs:
            raise InputError("proof: a bag has more than 1,000 labelings, which has no proof yet.")
        multipliers, bags = node.multipliers, self.problem.bags
        q, rank = multipliers.factors.shape[1], axes.shape[1]
        others = null_space(axes).T  # directions in which no feature varies
        roots = []
        for factor, scale in zip(multipliers.factors, multipliers.scales, strict=True):
            parts = (
                axes[:q].T @ factor,
                scale * axes[q:].T,
                others.T / np.sqrt(len(multipliers.scales)),
            )
            roots.append(np.linalg.qr(np.hstack(parts).T)[1][np.triu_indices(rank)])
        steps = self._of(node.index)["steps"]
        name = f"{node.index}.{len(steps)}"
        groups = [bags.rows[piece.instances].tolist() for piece in node.division.pieces]
        steps.append({"name": name, "groups": groups})
        linear = bags.sign * multipliers.linear @ axes
        self.arrays[f"roots {name}"] = np.array(roots, dtype=np.float32)
        self.arrays[f"linear {name}"] = linear.astype(np.float32)

    def branched(self, node: Node, instance: int, positive: int, negative: int) -> None:
        """Note the instance that a node is branched on, and its children."""
        children = [positive, negative][:: self.problem.bags.sign]
        self._of(node.index).update(
            instance=int(self.problem.bags.rows[instance]), children=children
        )
        self._of(max(children))

    def _of(self, index: int) -> dict[str, Any]:
        for missing in range(len(self.nodes), index + 1):
            self.nodes[missing] = {"steps": [], "instance": None, "children": []}
        return self.nodes[index]

    def write(self, file: Any, interval: Interval, weights: Array, epsilon: float) -> None:
        """Write it, with what it proves, as an ``.npz`` file."""
        bags = self.problem.bags
        claim = {
            "C": self.problem.C,
            "epsilon": epsilon,
            "lower": interval.lower - TO_SPARE * interval.tol * interval.upper,
            "upper": interval.upper,
            "labeling": bags.as_given(np.asarray(interval.labeling)).astype(int).tolist(),
            "nodes": list(self.nodes.values()),
        }
        content = {
            "claim": np.array(json.dumps(claim)),
            "weights": bags.sign * weights,
            **self.arrays,
        }
        np.savez_compressed(file, digest=np.array(digest(content)), **content)
