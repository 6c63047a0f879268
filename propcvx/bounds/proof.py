"""What a tree of branch and bound leaves behind for a check: :mod:`propcvx.bounds.verification`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from propcvx.arrays import Array
from propcvx.bounds.branch_and_bound import BagMoments, Node
from propcvx.bounds.interval import Interval
from propcvx.bounds.pieces import MOST_LABELINGS, divide
from propcvx.bounds.problem import LabelingProblem
from propcvx.bounds.swap_search import SwapSearch
from propcvx.bounds.verification import digest
from propcvx.errors import InputError

SPARE = 5e-6
"""The proof claims less than was proved, by this share of the value: it keeps few digits."""


@dataclass(eq=False)
class Proof:
    """The steps of a tree, in rows and features as they were given: a bound of ``certify``.

    Attributes
    ----------
    problem : LabelingProblem
        In the features that were given.
    steps : dict
        For each node that is worked on, the instances of its pieces, for each step.
    branches : dict
        For each node that is branched on, the instance, and the children for +1 and for -1.
    arrays : dict of str to array
        The multipliers of each step.
    """

    problem: LabelingProblem
    steps: dict[int, list[Any]] = field(default_factory=dict)
    branches: dict[int, list[int]] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if divide(self.problem).costs or not self.problem.bags.whole.all():
            raise InputError(
                f"proof needs whole bags of at most {MOST_LABELINGS:,} labelings each; "
                "known labels or a smaller epsilon reduce them."
            )

    def run(self, problem: LabelingProblem, interval: Interval, search: SwapSearch) -> None:
        """Branch and bound, of which all is noted."""
        tree = BagMoments(problem, interval, search, "branch_and_bound")
        tree.on_step, tree.on_branch = self.step, self.branched
        tree.branch()

    def step(self, node: Node, axes: Array) -> None:
        """Note the pieces of a node and their multipliers, of features rotated to ``axes``."""
        squares, shares = node.multipliers.squares, node.multipliers.shares[:, None, None]
        (n, q, _), sign = squares.shape, self.problem.bags.sign
        # directions in which no feature varies are shared equally
        other = (shares - 1.0 / n) * (axes.T @ axes) + np.eye(axes.shape[1]) / n
        steps = self.steps.setdefault(node.index, [])
        name = f"{node.index}.{len(steps)}"
        roots = np.linalg.cholesky(axes[:q].T @ (squares - shares * np.eye(q)) @ axes[:q] + other)
        self.arrays[f"roots {name}"] = roots.astype(np.float32)
        linear = sign * node.multipliers.linear @ axes
        self.arrays[f"linear {name}"] = linear.astype(np.float32)
        rows = self.problem.bags.rows
        steps.append([rows[piece.instances].tolist() for piece in node.division.pieces])

    def branched(self, node: Node, instance: int, children: Sequence[Node]) -> None:
        """Note the instance that a node is branched on, and its children."""
        indices = [child.index for child in children][:: self.problem.bags.sign]
        self.branches[node.index] = [int(self.problem.bags.rows[instance]), *indices]

    def write(self, file: Any, interval: Interval, search: SwapSearch, epsilon: float) -> None:
        """Write it, with what it proves, as an ``.npz`` file of any name."""
        bags, solved = self.problem.bags, search.plane(np.asarray(interval.labeling))
        claim = {
            "C": self.problem.C,
            "epsilon": epsilon,
            "lower": interval.lower - SPARE * interval.upper,
            "upper": search.svm.value(solved.labeling, solved.weights),
            "labeling": bags.as_given(solved.labeling).astype(int).tolist(),
            "steps": self.steps,
            "branches": self.branches,
        }
        content: dict[str, Any] = {"claim": np.array(json.dumps(claim)), **self.arrays}
        content["weights"] = bags.sign * solved.weights
        with open(file, "wb") as stream:
            np.savez_compressed(stream, digest=np.array(digest(content)), **content)
