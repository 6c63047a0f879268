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
from scipy.optimize import Bounds, LinearConstraint, linprog

from propcvx.arrays import Array, Indices
from propcvx.bags.bags import Bags
from propcvx.bags.counts import SECONDS, checked, solved_in_integers
from propcvx.errors import InaccurateSolutionWarning, warn

Costs = Callable[[Indices, Indices], Array]

WHOLE = 1e-6
"""How far a number may be from an integer, and still be that one."""

ROUNDING = 8 * np.finfo(float).eps
"""Rounding error of a reduced cost, relative to the terms of its sum."""

MOST_ROUNDS = 20
"""How often a linear program is solved again with what the solver's tolerance left undecided."""

EQUAL_DIGITS = 12
"""Marginal costs of a bag whose digits agree in so many decimals are one piece."""


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
    def of(cls, bags: Bags, lower: Indices, upper: Indices, costs: Costs) -> JointCounts:
        """From the bags, and ``costs(bag, rank)``, what the rank-th positive of a bag costs."""
        bag = np.repeat(np.arange(len(lower)), upper - lower)
        rank = np.concatenate([np.arange(*ends) for ends in zip(lower, upper, strict=True)]) + 1
        marginal = np.broadcast_to(costs(bag, rank), bag.shape)
        digits, exponent = np.frexp(marginal)
        keys = np.column_stack([bag, exponent, np.round(digits, EQUAL_DIGITS)])
        _, first, width = np.unique(keys, axis=0, return_index=True, return_counts=True)
        taken = sp.eye_array(len(lower), format="csc")[:, bag[first]]
        return cls(
            matrix=sp.csr_array(sp.hstack([bags.membership, -taken])),
            fewest=lower,
            low=np.concatenate([bags.labels > 0, 0.0 * width]),
            high=np.concatenate([bags.labels >= 0, 1.0 * width]),
            costs=marginal[first],
        )

    def best(self, gains: Array, ties: Array | None = None) -> Array:
        """The labeling :math:`2 z - 1` of the least cost.

        Parameters
        ----------
        gains : array of shape (n_instances,)
        ties : array of shape (n_instances,), optional
            Of z with the same cost, the one with the largest sum of these is taken, where the
            linear program has whole solutions.
        """
        goal = np.concatenate([-gains, self.costs])
        vertex = self._vertex(goal, self.low, self.high)
        if vertex is not None and ties is not None and not _along(ties, *vertex):
            vertex = self._vertex(np.append(-ties, 0.0 * self.costs), *vertex[1:]) or vertex
        values = self._by_integers(goal) if vertex is None else vertex[0]
        return np.where(values[: len(gains)] > 0.5, 1.0, -1.0)

    def _vertex(self, goal: Array, low: Array, high: Array) -> tuple[Array, Array, Array] | None:
        """A best vertex, and bounds of the face of all best ones; None where it is not whole.

        A solver's tolerance is absolute, and the goal may have entries of very different size.  By
        how much the reduced costs of a whole vertex have the wrong sign bounds what another may
        gain; so what has a larger reduced cost is decided, and the rest is solved again, the
        reduced costs being the goal.
        """
        low, high = low.copy(), high.copy()
        for _ in range(MOST_ROUNDS):
            unit = float(np.abs(goal[low < high]).max(initial=0.0)) or 1.0
            answer = checked(
                linprog(
                    np.where(low < high, goal / unit, 0.0),
                    A_eq=self.matrix,
                    b_eq=self.fewest,
                    bounds=np.column_stack([low, high]),
                    method="highs-ds",
                )
            )
            values = np.rint(answer.x)
            if np.abs(answer.x - values).max() > WHOLE:
                return None
            prices = unit * answer.eqlin.marginals
            error = ROUNDING * (np.abs(goal) + abs(self.matrix).T @ np.abs(prices))
            goal = goal - self.matrix.T @ prices
            goal[np.abs(goal) <= error] = 0.0
            wrong = np.abs(goal) * np.where(goal > 0.0, values - low, high - values)
            decided = np.abs(goal) > wrong.sum()
            low[decided] = high[decided] = values[decided]
            if not wrong.any():
                break
        return values, low, high

    def _by_integers(self, goal: Array) -> Array:
        """The best z by branch and bound; what is left of its gap is warned of."""
        n = len(goal) - len(self.costs)
        unit = (float(np.abs(goal[:n]).max()) or 1.0) / 1e3
        rows = LinearConstraint(self.matrix, self.fewest, self.fewest)
        whole = np.arange(len(goal)) < n
        answer = checked(solved_in_integers(goal / unit, whole, rows, Bounds(self.low, self.high)))
        gap = unit * (answer.fun - answer.mip_dual_bound)
        if gap > WHOLE * unit * 1e3:
            warn(
                f"the labels of crossing bags may be {gap:.3g} from the best ones, in units of "
                f"the instance loss: highs stopped after {SECONDS:g} s.",
                InaccurateSolutionWarning,
            )
        return np.asarray(answer.x)


def _along(ties: Array, values: Array, low: Array, high: Array) -> bool:
    """Whether every z that is not decided is the one that its tie prefers."""
    free = (low < high)[: len(ties)]
    return bool((free <= (values[: len(ties)] == (ties > 0.0))).all())


def decided_labels(bags: Bags, lower: Indices, upper: Indices) -> Array:
    r"""The labels that all solutions :math:`z \in [0, 1]^N` of :math:`l \le B z \le u` agree in.

    In :math:`\max \sum_i t_i` subject to :math:`l s \le B z \le u s`, :math:`t \le z`,
    :math:`t \le s - z`, :math:`0 \le t \le 1` and :math:`s \ge 1`, t is 1 wherever some solution
    :math:`z / s` is neither 0 nor 1, and 0 elsewhere.  Instances of the same bags are alike: they
    have one variable, the mean of theirs.

    Parameters
    ----------
    bags : Bags
    lower, upper : int arrays of shape (n_bags,)
        The ranges, from l to u.

    Returns
    -------
    labels : float array of shape (n_instances,)
        -1, 1, or 0 where solutions differ; labels that are known stay as they are.
    """
    free, labels = np.flatnonzero(bags.labels == 0), bags.labels.astype(float)
    _, first, place, alike = np.unique(
        bags.bags_of_instances[free],
        axis=0,
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    n, known = len(first), bags.known_counts[0]
    inside = bags.membership[:, free[first]] @ sp.diags_array(alike.astype(float))
    ends, unit = (lower - known)[:, None], sp.eye_array(n)
    rows = [
        [inside, None, sp.csr_array(known[:, None] - upper[:, None])],
        [-inside, None, sp.csr_array(ends)],
        [-unit, unit, None],
        [unit, unit, sp.csr_array(-np.ones((n, 1)))],
    ]
    bounds = np.repeat([[0.0, np.inf], [0.0, 1.0], [1.0, np.inf]], [n, n, 1], axis=0)
    goal = -np.repeat([0.0, 1.0, 0.0], [n, n, 1])
    matrix = sp.csr_array(sp.block_array(rows))
    limits = np.zeros(matrix.shape[0])
    answer = checked(linprog(goal, matrix, limits, bounds=bounds, method="highs-ipm"))
    z, t, scale = np.split(answer.x, [n, 2 * n])
    labels[free] = np.where(t > 0.5, 0.0, np.sign(z - scale / 2))[place.ravel()]
    return labels
