"""Section 5: conv-pSVM, its relaxation, and the labelings that it cuts with."""

import numpy as np
from small_problems import all_labelings, small_problem, svm_values

from propcvx import CuttingPlanes
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.programs import mkl_epigraph, mkl_group
from propcvx.relaxation.oracles import DirectionSweepOracle
from propcvx.solvers import Solve, solve
from propcvx.svm.step import LabelingSVM


def labelings_of(small):
    """The feasible labelings of a problem, as a set and listed."""
    feasible = FeasibleLabelings.from_bags(small.bags, epsilon=0.0)
    return feasible, all_labelings(feasible)


def equation_11(C=1.0, seed=0):
    r"""The value of a labeling: the SVM without a bias, and its dual.

    Notes
    -----
    **Problem.** :math:`\min_w \tfrac12 \|w\|^2 + C \sum_i L(y_i, w^\top F_i)` for each feasible
    labeling.

    **Method.** The dual :func:`propcvx.programs.svm_dual` for all labelings, compiled once, and the
    primal :func:`propcvx.programs.svm_primal` for each.

    **Guaranteed.** Strong duality, so that minimizing over labelings gives Equation (9) from
    Equation (11).

    **Reference.** Equations (9) and (11), ``eq:convex_1`` and ``eq:convex_2``.

    Examples
    --------
    >>> dual, primal = equation_11()
    >>> print(f"{len(dual)} labelings, the best {min(dual):.4f}, {min(primal):.4f}")
    6 labelings, the best 1.0415, 1.0415
    """
    small = small_problem(seed)
    svm = LabelingSVM(small.X, C)
    _, every = labelings_of(small)
    dual = [svm.value(labels, svm.weights(labels)) for labels in every]
    return dual, svm_values(small.X, every, C)


def equation_15(C=1.0, seed=0):
    r"""Minimum and maximum of the relaxation may be exchanged.

    Notes
    -----
    **Problem.** :math:`\min_\mu \max_\alpha` of Equation (14) against :math:`\max_\alpha \min_\mu`
    of Equation (15), over mixtures of all feasible labelings.

    **Method.** The first as :func:`propcvx.programs.mkl_group`, a minimum over :math:`\mu` and the
    weights of each labeling; the second as :func:`propcvx.programs.mkl_epigraph`, Equation (16).

    **Guaranteed.** The same optimum: the objective is linear in :math:`\mu`, concave in
    :math:`\alpha`, and both sets are convex and compact.

    **Reference.** Equations (14) to (16), ``eq:convex_3`` and ``eq:convex_4`` (with the sign of our
    errata).

    Examples
    --------
    >>> min_max, max_min = equation_15(C=0.1)
    >>> print(f"{min_max:.4f} {max_min:.4f}")
    0.2915 0.2915
    """
    small = small_problem(seed)
    _, every = labelings_of(small)
    features, unit = np.sqrt(min(C, 1.0)) * small.X, min(C, 1.0)  # so that values are near one
    programs = (build(features, every, C / unit) for build in (mkl_group, mkl_epigraph))
    min_max, max_min = (solve(side, "clarabel", tol=1e-6, warn=False).value for side in programs)
    return unit * min_max, unit * max_min


def equation_18(seed=0):
    r"""In the plane, a sweep over directions finds the most violated labeling.

    Notes
    -----
    **Problem.** :math:`\max_{y \in \mathcal{Y}} \tfrac12 \|F^\top (y \circ \alpha)\|^2`: NP-hard in
    general.

    **Method.** :class:`propcvx.relaxation.oracles.DirectionSweepOracle`: for a fixed direction,
    sorting each bag is exact, and in two dimensions the order changes only at finitely many
    directions.

    **Guaranteed.** The largest value, in two dimensions. Compared with all feasible labelings.

    **Reference.** Equation (18), ``eq:concave`` (a convex function is maximized, see our errata).

    Examples
    --------
    >>> by_sweep, by_trying_all = equation_18()
    >>> bool(abs(by_sweep - by_trying_all) < 1e-9)
    True
    """
    small = small_problem(seed, sizes=(3, 4, 4))
    feasible, every = labelings_of(small)
    alpha = np.random.RandomState(seed).uniform(size=len(small.X))
    by_sweep = DirectionSweepOracle(small.X, feasible)(alpha).value
    return by_sweep, 0.5 * np.square((every * alpha) @ small.X).sum(axis=1).max()


def proposition_3(n_features=3, seed=0):
    r"""In the maximum norm, sorting along each coordinate finds the most violated labeling.

    Notes
    -----
    **Problem.** Equation (19): :math:`\max_{y \in \mathcal{Y}} \max_j |\sum_i \alpha_i y_i
    x_i^{(j)}|`.

    **Method.** For every coordinate and both signs
    :meth:`propcvx.labelings.feasible.FeasibleLabelings.best` sorts each bag, Equations (20) and
    (21); the best of these :math:`2 d` labelings is taken.

    **Guaranteed.** The largest value in this norm, in :math:`O(d N \log J)` time. It is not the
    most violated labeling of Equation (18): the oracle is a heuristic for it. Compared with all
    feasible labelings.

    **Reference.** Proposition 3, ``prop:conv_2``, and Equations (19) to (21).

    Examples
    --------
    >>> by_sorting, by_trying_all = proposition_3(n_features=2)
    >>> print(f"{by_sorting:.4f} {by_trying_all:.4f}")
    7.4986 7.4986
    """
    small = small_problem(seed, sizes=(3, 4, 4), n_features=n_features)
    feasible, every = labelings_of(small)
    weighted = np.random.RandomState(seed).uniform(size=len(small.X))[:, None] * small.X
    directions = np.hstack([weighted, -weighted])
    by_sorting = (feasible.best(directions) * directions).sum(axis=0).max()
    return by_sorting, np.abs(every @ weighted).max()


def algorithm_2(C=1.0, seed=0):
    r"""With an exact oracle, cutting planes reach the optimum of the relaxation.

    Notes
    -----
    **Problem.** Equation (16), which has a constraint for each feasible labeling.

    **Method.** :class:`propcvx.CuttingPlanes`: solve with the labelings found so far, add the most
    violated one, until none is violated. The other side solves the program with all labelings at
    once.

    **Guaranteed.** The optimum of the relaxation, and so a lower bound on the value of the best
    labeling. With the paper's own oracle the loop can stop above it.

    **Reference.** Algorithm 2, ``alg:conv``.

    Examples
    --------
    >>> by_cuts, all_at_once = algorithm_2()
    >>> print(f"{by_cuts:.4f} {all_at_once:.4f}")
    1.0415 1.0415
    """
    small = small_problem(seed)
    feasible, every = labelings_of(small)
    planes = CuttingPlanes(oracle="exhaustive", max_cuts=100, tol=1e-7)
    reached = planes.relax(small.X, feasible, C, solve=Solve(tol=1e-6))
    features, unit = np.sqrt(min(C, 1.0)) * small.X, min(C, 1.0)  # so that values are near one
    program = mkl_epigraph(features, every, C / unit)
    return reached.value, unit * solve(program, "clarabel", tol=1e-6, warn=False).value
