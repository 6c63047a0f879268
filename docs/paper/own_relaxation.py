"""A template: the section "A relaxation" of docs/extending.md says how to begin with a copy."""

import cvxpy as cp
import numpy as np
from small_problems import best_value, small_problem

from propcvx.history import History, Round, StopReason
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.programs import Program
from propcvx.relaxation import RelaxationResult
from propcvx.solvers import Solve


class LargestSingularValue:
    """No labeling is longer than the square root of N: that is all this relaxation knows."""

    def relax(self, features, feasible, C, *, solve, on_round=None):
        """Solve it, and prove a lower bound with whatever alpha the solver returns."""
        n = len(features)
        alpha = cp.Variable((n, 1), nonneg=True, name="alpha")
        longest = cp.sigma_max(cp.multiply(alpha, features))  # ||F'(y o alpha)|| <= sqrt(n) longest
        value = cp.sum(alpha) - 0.5 * n * cp.square(longest)
        program = Program(cp.Problem(cp.Maximize(value), [alpha <= np.reshape(C, (-1, 1))]))
        end = solve(program)
        alpha = np.clip(end.variables["alpha"][:, 0], 0.0, C)  # any alpha in the box proves a bound
        u, s, _ = np.linalg.svd(alpha[:, None] * features, full_matrices=False)
        lower = alpha.sum() - 0.5 * n * s[0] ** 2 * (1.0 + 1e-12)
        vectors, weights = np.sqrt(n) * u[:, :1].T, np.ones(1)
        met = feasible.best(vectors[0])[None]
        history = History([Round(end.value, end.solver, end.status, 0.0)], StopReason.SOLVED)
        return RelaxationResult(end.value, lower, np.inf, vectors, weights, alpha, met, history)


def own_relaxation(C=1.0, seed=0, solver="clarabel", tol=1e-6):
    r"""A lower bound on the best labeling's value from the largest singular value.

    Notes
    -----
    **Problem.** :math:`\max_{0 \le \alpha \le C} \alpha^\top 1 - \tfrac N2
    \|\mathrm{Diag}(\alpha)\, F\|_2^2`, a relaxation of Equation (11).

    **Method.** The program in CVXPY, by a solver; its :math:`\alpha`, clipped to the box, proves
    the bound.

    **Guaranteed.** A lower bound, whatever the solver's error: every labeling has :math:`\|y\|^2 =
    N`, so :math:`\|F^\top (y \circ \alpha)\|^2 \le N \|\mathrm{Diag}(\alpha)\, F\|_2^2`. The other
    side tries all labelings.

    **Reference.** The bound of the largest eigenvalue; Section 5.1 of the paper for what it
    relaxes. This page's file is a template: :doc:`/extending` says how to begin with a copy of it.

    Examples
    --------
    >>> lower, best = own_relaxation(C=0.1)
    >>> bool(0.0 < lower <= best)
    True
    """
    small = small_problem(seed)
    feasible = FeasibleLabelings.from_bags(small.bags, epsilon=0.0)
    reached = LargestSingularValue().relax(small.X, feasible, C, solve=Solve(solver, tol))
    return reached.lower, best_value(small.X, feasible, C)
