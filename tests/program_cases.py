"""Every program on small random data, beside NumPy formulas of its objective and constraints."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from types import SimpleNamespace

import numpy as np
from small_problems import small_problem

from propcvx import programs
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.labelings.losses import HINGE, PROPORTION_LOSSES
from propcvx.solvers import list_solvers, solve


class Data(SimpleNamespace):
    """Instances, labels, bags and weights that all programs are built from."""

    __eq__, __hash__ = object.__eq__, object.__hash__  # a key of caches

    def __init__(self, seed, r, C, sizes=(3, 4, 5)):
        problem = small_problem(seed, sizes, r, known=0.3)
        n, bags, shares = len(problem.X), problem.bags, np.array([0.0, 0.2, 0.5, 0.8, 1.0])
        super().__init__(
            problem=problem,
            C=C,
            bags=bags,
            F=problem.X,
            y=problem.labels.astype(float),
            labelings=np.random.RandomState(seed + 1).choice((-1.0, 1.0), size=(3, n)),
            mu=np.array([0.2, 0.5, 0.3]),
            alpha=np.random.RandomState(seed + 2).uniform(0.1, C, size=n),
            bag_means=np.random.RandomState(seed + 3).randn(5, r),
            proportions=shares,
            weights=np.array([0.7, 1.5, 2.0, 1.0, 3.0]),
            bag_weights=C * np.linspace(0.5, 2.0, bags.n_bags),
            feasible=FeasibleLabelings.from_bags(bags, 0.25),
            targets=programs.inv_cal_targets(shares, 40, 0.05, scaled=True),
        )


DATA = (Data(seed=0, r=3, C=0.4), Data(seed=1, r=15, C=5.0))
"""More instances than features, and more features than instances."""

TINY = Data(seed=2, r=2, C=0.7, sizes=(3, 3))
"""Few enough instances to list all labelings."""


@dataclass(frozen=True)
class Case:
    """A program, and what NumPy says of it.

    ``objective(**values)`` is its objective; ``slacks(**values)`` lists arrays that are >= 0 where
    the inequalities hold, ``equalities(**values)`` arrays that are 0 where the equalities hold.
    """

    program: programs.Program
    objective: Callable
    slacks: Callable = lambda **values: []
    equalities: Callable = lambda **values: []
    solver: str = "clarabel"

    @cached_property
    def reference(self):
        """Optimal value, by one solver at a tight tolerance."""
        return solve(self.program, self.solver, tol=1e-9, residuals=False, warn=False).value


def svm_primal(data, *, bias):
    F, y, C = data.F, data.y, data.C
    return Case(
        programs.svm_primal(F, bias=bias).set(y=y, C=C),
        lambda w, xi, b=0.0: 0.5 * w @ w + C * xi.sum(),
        lambda w, xi, b=0.0: [y * (F @ w + b) - 1 + xi, xi],
    )


def svm_dual(data, *, bias):
    F, y, C = data.F, data.y, data.C
    return Case(
        programs.svm_dual(F, bias=bias).set(**programs.svm_dual_parameters(y, C)),
        lambda v: y @ v - 0.5 * v @ F @ F.T @ v,
        lambda v: [y * v, C - y * v],
        lambda v: [v.sum()] if bias else [],
    )


def inv_cal_primal(data):
    M, tau, tube = data.bag_means, data.targets["target"], data.targets["epsilon"]
    return Case(
        programs.inv_cal_primal(M).set(C_p=data.C, **data.targets),
        lambda w, b, xi, xi_star: 0.5 * w @ w + data.C * (xi + xi_star).sum(),
        lambda w, b, xi, xi_star: [
            M @ w + b - tau + tube + xi,
            tau + tube + xi_star - M @ w - b,
            xi,
            xi_star,
        ],
    )


def ecological_regression(data):
    M, p = data.bag_means, np.linspace(0.2, 0.8, len(data.bag_means))
    weights = np.arange(1.0, len(M) + 1.0)

    def objective(w, b):
        return weights @ np.square(M @ w + b - p) + 0.3 * w @ w

    return Case(programs.ecological_regression(M, weights).set(p=p, lam=0.3), objective)


def inv_cal_dual(data):
    M, tau, tube = data.bag_means, data.targets["target"], data.targets["epsilon"]

    def objective(a, a_star):
        w = (a - a_star) @ M
        return tau @ (a - a_star) - tube @ (a + a_star) - 0.5 * w @ w

    return Case(
        programs.inv_cal_dual(M).set(C_p=data.C, **data.targets),
        objective,
        lambda a, a_star: [a, data.C - a, a_star, data.C - a_star],
        lambda a, a_star: [a.sum() - a_star.sum()],
    )


def second_moments(data):
    random, d, weights = np.random.RandomState(0), np.array([0.5, 0.3, 0.25]), np.arange(1.0, 4.0)
    roots = random.randn(3, 5, 3)
    S = np.einsum("gij,gik->gjk", roots, roots)

    def objective(Sigma, M):
        errors = [S[g] - Sigma - d[g] * M for g in range(3)]
        return weights @ [np.square(error).sum() for error in errors]

    return Case(
        programs.second_moments(S, d, weights), objective, lambda Sigma, M: [np.linalg.eigvalsh(M)]
    )


def class_means(data):
    M, p = data.bag_means, data.proportions

    def objective(means):
        positive, negative = means
        return sum(
            weight * np.sum((m - share * positive - (1 - share) * negative) ** 2)
            for weight, m, share in zip(data.weights, M, p, strict=True)
        )

    return Case(programs.class_means(M, p, data.weights), objective)


def conditional_exponential_model(data, *, bias):
    F, mean, lam = data.F, 0.3 * data.F.mean(axis=0), 0.1
    values = {"mean_operator": mean, "lam": lam} | ({"mean_label": 0.2} if bias else {})

    def objective(w, b=0.0):
        scores = F @ w + b
        partition = np.log(np.exp(scores) + np.exp(-scores)).mean()
        return partition - w @ mean - 0.2 * b + lam * w @ w

    program = programs.conditional_exponential_model(F, bias=bias).set(**values)
    return Case(program, objective, solver="scs")


def mkl_epigraph(data):
    def cuts(alpha):
        weighted = data.labelings * alpha
        return 0.5 * np.sum((weighted @ data.F) ** 2, axis=1) - alpha.sum()

    return Case(
        programs.mkl_epigraph(data.F, data.labelings, data.C),
        lambda alpha, beta: -beta,
        lambda alpha, beta: [beta - cuts(alpha), alpha, data.C - alpha],
    )


def mkl_group(data, n_cuts=3):
    labelings = data.labelings[:n_cuts]

    def margin(W, xi):
        return np.einsum("tn,tr,nr->n", labelings, W, data.F) - 1 + xi

    return Case(
        programs.mkl_group(data.F, labelings, data.C),
        lambda W, s, xi: 0.5 * s.sum() ** 2 + data.C * xi.sum(),
        lambda W, s, xi: [margin(W, xi), xi, -distance_to_cone(s, np.linalg.norm(W, axis=1))],
    )


def distance_to_cone(s, norms):
    """Euclidean distance of (s, w) to the cone of those with norm of w at most s."""
    outside = np.where(s < -norms, np.hypot(s, norms), (norms - s) / np.sqrt(2))
    return np.where(norms <= s, 0.0, outside)


def mkl_inner(data):
    def objective(alpha):
        squares = np.sum(((data.labelings * alpha) @ data.F) ** 2, axis=1)
        return alpha.sum() - 0.5 * data.mu @ squares

    return Case(
        programs.mkl_inner(data.F, data.labelings, data.C).set(root_mu=np.sqrt(data.mu)),
        objective,
        lambda alpha: [alpha, data.C - alpha],
    )


def known(data):
    bags = data.bags
    return lambda z: [(z - (bags.labels > 0))[bags.labels != 0]]


def proportion_loss(data, loss, z):
    bags = data.bags
    gaps = [np.mean(z[bags.index == k]) - p for k, p in enumerate(bags.proportions)]
    return data.bag_weights @ loss.of_differences(bags, np.array(gaps))


def labeling_step(data, *, loss):
    f, loss = data.F[:, 0], PROPORTION_LOSSES[loss]
    program = programs.labeling_step(data.bags, loss)
    return Case(
        program.set(
            loss_positive=HINGE.evaluate(1.0, f),
            loss_negative=HINGE.evaluate(-1.0, f),
            weights=data.bag_weights,
        ),
        lambda z: (
            np.where(z > 0.5, np.maximum(0, 1 - f), np.maximum(0, 1 + f)).sum()
            + proportion_loss(data, loss, z)
        ),
        equalities=known(data),
        solver="scip",
    )


def counts(data):
    feasible, index = data.feasible, data.bags.index

    def slacks(z):
        positives = np.bincount(index, weights=z)
        return [positives - feasible.lower, feasible.upper - positives]

    return slacks


def linear_separation(data):
    f = data.F[:, 0]
    program = programs.linear_separation(data.feasible).set(scores=f)
    return Case(program, lambda z: f @ (2 * z - 1), counts(data), known(data), solver="scip")


def exact_separation(data):
    program = programs.exact_separation(data.F, data.alpha, data.feasible)
    Q = data.F @ data.F.T * np.outer(data.alpha, data.alpha)
    shift = np.linalg.norm(Q, ord=2) * len(Q)
    return Case(
        program,
        lambda z: shift - (2 * z - 1) @ Q @ (2 * z - 1),
        counts(data),
        known(data),
        solver="scip",
    )


def psvm(data, *, loss, bias):
    loss = PROPORTION_LOSSES[loss]

    def slacks(z, w, xi, b=0.0):
        y = np.where(z > 0.5, 1.0, -1.0)
        return [xi - 1 + y * (data.F @ w + b), xi]

    return Case(
        programs.psvm(data.F, data.bags, data.C, data.bag_weights, loss, bias=bias),
        lambda z, w, xi, b=0.0: 0.5 * w @ w + data.C * xi.sum() + proportion_loss(data, loss, z),
        slacks,
        lambda z, w, xi, b=0.0: known(data)(z),
        solver="scip",
    )


CONTINUOUS = {
    "svm_primal-True": partial(svm_primal, bias=True),
    "svm_primal-False": partial(svm_primal, bias=False),
    "svm_dual-True": partial(svm_dual, bias=True),
    "svm_dual-False": partial(svm_dual, bias=False),
    "inv_cal_primal": inv_cal_primal,
    "inv_cal_dual": inv_cal_dual,
    "ecological_regression": ecological_regression,
    "second_moments": second_moments,
    "class_means": class_means,
    "conditional_exponential_model-True": partial(conditional_exponential_model, bias=True),
    "conditional_exponential_model-False": partial(conditional_exponential_model, bias=False),
    "mkl_epigraph": mkl_epigraph,
    "mkl_group": mkl_group,
    "mkl_group-one": partial(mkl_group, n_cuts=1),
    "mkl_inner": mkl_inner,
}

INTEGER = {
    "labeling_step-absolute": partial(labeling_step, loss="absolute"),
    "labeling_step-squared": partial(labeling_step, loss="squared"),
    "linear_separation": linear_separation,
    "exact_separation": exact_separation,
    "psvm-absolute-True": partial(psvm, loss="absolute", bias=True),
    "psvm-squared-False": partial(psvm, loss="squared", bias=False),
}

CASES = {**CONTINUOUS, **INTEGER}


def with_solvers(cases):
    """Pairs of a case's name and an installed solver that can do it."""
    return [
        (name, solver)
        for name, build in cases.items()
        for solver in list_solvers(build(DATA[0]).program)
    ]


def random_values(program, random):
    """Values for the variables: booleans 0 or 1, others of either sign."""
    return {
        name: variable.project(3.0 * random.randn(*variable.shape))
        for name, variable in program.variables.items()
    }


def largest_violation(case, values):
    """Largest violation of the inequalities and the equalities, by NumPy alone."""
    slacks = [np.ravel(-slack) for slack in case.slacks(**values)]
    sides = [np.ravel(np.abs(side)) for side in case.equalities(**values)]
    return np.max(np.concatenate([np.zeros(1), *slacks, *sides]))
