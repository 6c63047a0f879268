r"""The best labels of instances that are each in several bags, as a linear program.

.. math::

    \min_{z \in \{0, 1\}^N,\; t} \; -g^\top z + c^\top t \quad \text{s.t.} \quad
    B z - S t = a, \quad 0 \le t \le u

B is the matrix of ``Bags.membership``.  The count of positives of a bag is its fewest,
``a``, and the pieces t of its range that are taken; each piece has a marginal cost c, and as the
cost of the count is convex, the cheaper pieces are taken first.  Of two partitions of the instances
the matrix is totally unimodular, so that the linear program has whole solutions; of three or more
it may have none, and then z is solved for as integers.
:func:`propcvx.programs.counted_labeling` is the same in CVXPY.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.optimize import OptimizeResult, linprog

from propcvx.arrays import Array, Indices, Signs
from propcvx.errors import InaccurateSolutionWarning, SolverError, warn

WHOLE = 1e-6
"""How far a number may be from an integer, and still be that one."""

ROUNDING = 8 * np.finfo(float).eps
"""Rounding error of a reduced cost, relative to the terms of its sum."""

MOST_ROUNDS = 20
"""How often a linear program is solved again with what the solver's tolerance left undecided."""

SECONDS = 60.0
"""Time limit of a program with integers."""

EQUAL_DIGITS = 12
"""Marginal costs of a bag that agree in so many digits of its largest are one piece."""


@dataclass(frozen=True)
class JointCounts:
    """The feasible set of the program, and the marginal costs of its pieces.

    Attributes
    ----------
    matrix : sparse array of shape (n_bags, n_instances + n_pieces)
        B and -S.
    fewest : int array of shape (n_bags,)
    low, high : array of shape (n_instances + n_pieces,)
        Bounds on z and t; equal for labels that are known.
    costs : array of shape (n_pieces,)
    """

    matrix: sp.csr_array
    fewest: Indices
    low: Array
    high: Array
    costs: Array

    @classmethod
    def of(
        cls,
        membership: sp.csr_array,
        labels: Signs,
        lower: Indices,
        upper: Indices,
        costs: Callable[[Indices, Indices], Array],
    ) -> JointCounts:
        """From the bags, and ``costs(bag, rank)``, what the rank-th positive of a bag costs."""
        bag = np.repeat(np.arange(len(lower)), upper - lower)
        before = np.cumsum(upper - lower) - (upper - lower)
        rank = lower[bag] + np.arange(1, len(bag) + 1) - before[bag]
        marginal = np.broadcast_to(costs(bag, rank), bag.shape)
        bag, marginal, width = _pieces(bag, marginal, len(lower))
        taken = sp.csr_array(
            (np.ones(len(bag)), (bag, np.arange(len(bag)))), (len(lower), len(bag))
        )
        low, high = np.concatenate([labels > 0, 0 * width]), np.concatenate([labels >= 0, width])
        matrix = sp.csr_array(sp.hstack([membership, -taken]))
        return cls(matrix, lower, low.astype(float), high.astype(float), marginal)

    def best(self, gains: Array, ties: Array | None = None) -> Array | None:
        """The labeling :math:`2 z - 1` of the least cost, None where no z has such counts.

        Parameters
        ----------
        gains : array of shape (n_instances,)
        ties : array of shape (n_instances,), optional
            Of z with the same cost, the one with the largest sum of these is taken, where the
            linear program has whole solutions.
        """
        goals = [np.concatenate([-gains, self.costs])]
        if ties is not None:
            goals.append(np.concatenate([-ties, 0 * self.costs]))
        low, high, n = self.low, self.high, len(gains)
        found: Array | None = None
        for goal in goals:
            answer = self._vertex(goal, low, high)
            if answer is None:
                return None
            values, low, high, whole = answer
            if not whole:
                found = self._by_integers(goal) if found is None else found
                break
            found = values
            if not (low[:n] < high[:n]).any():
                break
        return None if found is None else np.where(found[:n] > 0.5, 1.0, -1.0)

    def _vertex(
        self, goal: Array, low: Array, high: Array
    ) -> tuple[Array, Array, Array, bool] | None:
        """A best vertex, bounds of the face of all best ones, and whether it is whole.

        A solver's tolerance is absolute, and the goal may have entries of very different size.  By
        how much the reduced costs of a whole vertex have the wrong sign bounds what another may
        gain; so what has a larger reduced cost is decided, and the rest is solved again, the
        reduced costs being the goal.
        """
        low, high = low.copy(), high.copy()
        for _ in range(MOST_ROUNDS):
            unit = float(np.abs(goal[low < high]).max(initial=0.0)) or 1.0
            answer = self._solve(np.where(low < high, goal / unit, 0.0), low, high, "highs-ds")
            if answer.status == 2:
                return None
            values = np.rint(answer.x)
            if np.abs(answer.x - values).max() > WHOLE:
                return answer.x, low, high, False
            prices = unit * answer.eqlin.marginals
            error = ROUNDING * (np.abs(goal) + abs(self.matrix).T @ np.abs(prices))
            goal = goal - self.matrix.T @ prices
            too_high, too_low = np.maximum(goal, 0.0), np.maximum(-goal, 0.0)
            wrong = too_high * (values - low) + too_low * (high - values)
            decided = np.abs(goal) > wrong.sum() + error
            low[decided] = high[decided] = values[decided]
            if (wrong <= error * (self.high - self.low)).all():
                break
        return values, low, high, True

    def _by_integers(self, goal: Array) -> Array | None:
        """The best z by branch and bound; what is left of its gap is warned of."""
        n = len(goal) - len(self.costs)
        unit = (float(np.abs(goal[:n]).max()) or 1.0) / 1e3
        answer = self._solve(goal / unit, self.low, self.high, "highs", n)
        if answer.status == 2:
            return None
        if answer.x is None:
            raise SolverError(
                f"highs found no labels with the counts of all bags: {answer.message}",
                "highs",
                str(answer.status),
            )
        gap = unit * (answer.fun - answer.mip_dual_bound)
        if gap > WHOLE * unit * 1e3:
            warn(
                f"the labels of crossing bags may be {gap:.3g} from the best ones, in units of "
                f"the instance loss: highs stopped after {SECONDS:g} s.",
                InaccurateSolutionWarning,
            )
        return np.asarray(answer.x)

    def _solve(
        self, goal: Array, low: Array, high: Array, method: str, n_whole: int = 0
    ) -> OptimizeResult:
        integers = {"integrality": np.arange(len(goal)) < n_whole} if n_whole else {}
        options = {"mip_rel_gap": 0.0, "time_limit": SECONDS} if n_whole else {}
        bounds = np.column_stack([low, high])
        rows = {"A_eq": self.matrix, "b_eq": self.fewest, "bounds": bounds}
        answer = linprog(goal, method=method, options=options, **rows, **integers)
        if answer.status not in (0, 2) and not n_whole:
            raise SolverError(f"highs: {answer.message}", "highs", str(answer.status))
        return answer


def _pieces(bag: Indices, marginal: Array, n_bags: int) -> tuple[Indices, Array, Indices]:
    """The bag, the marginal cost and the width of each piece: ranks of a bag that cost the same."""
    largest = np.zeros(n_bags)
    np.maximum.at(largest, bag, np.abs(marginal))
    unit = np.where(largest > 0.0, largest, 1.0)[bag]
    keys = np.column_stack([bag, np.round(marginal / unit, EQUAL_DIGITS)])
    _, first, width = np.unique(keys, axis=0, return_index=True, return_counts=True)
    return bag[first], marginal[first], width
