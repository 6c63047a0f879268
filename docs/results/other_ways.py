"""Other ways to write programs of the package, with the same value."""

import cvxpy as cp
from program_examples import PROGRAMS, Parts

from propcvx import programs as p
from propcvx.labelings.losses import PROPORTION_LOSSES
from propcvx.programs.labeling import gaps_of_proportions
from propcvx.programs.psvm import big_constants


def svm_dual_quadratic_form(parts: Parts) -> p.Program:
    """The dual with the Gram matrix in place of its factor."""
    v, gram = cp.Variable(len(parts.labels), name="v"), parts.features @ parts.features.T
    box, quadratic = parts.box, cp.quad_form(v, gram, assume_PSD=True)
    limits = {"lower": v >= box["lower"], "upper": v <= box["upper"], "balance": cp.sum(v) == 0}
    objective = cp.Maximize(parts.labels @ v - 0.5 * quadratic)
    return p.build("svm_dual, quadratic form", "eq:convex_2", objective, limits)


def svm_dual_bounds(parts: Parts) -> p.Program:
    """The dual with the box as bounds of the variable in place of constraints."""
    bounds = [parts.box["lower"], parts.box["upper"]]
    v = cp.Variable(len(parts.labels), name="v", bounds=bounds)
    objective = cp.Maximize(parts.labels @ v - 0.5 * cp.sum_squares(parts.features.T @ v))
    balance = {"balance": cp.sum(v) == 0}
    return p.build("svm_dual, variable bounds", "eq:convex_2", objective, balance)


def mkl_constraint_per_cut(parts: Parts) -> p.Program:
    """The epigraph form with a constraint for each cut in place of one for all."""
    alpha, beta = cp.Variable(len(parts.labels), name="alpha"), cp.Variable(name="beta")
    cuts = {
        f"cut {t}": 0.5 * cp.sum_squares((parts.features * y[:, None]).T @ alpha) - cp.sum(alpha)
        <= beta
        for t, y in enumerate(parts.labelings)
    }
    box = {"lower": alpha >= 0, "upper": alpha <= parts.C}
    name = "mkl_epigraph, a constraint per cut"
    return p.build(name, "eq:convex_4", cp.Maximize(-beta), {**cuts, **box})


def psvm_perspective(parts: Parts) -> p.Program:
    """The hinge of either label in perspective, in place of constants that switch one off.

    The score f is split into a part p, which counts where z = 1, and a part n, which counts where
    z = 0.  The perspective of the hinge is z max(0, 1 - p / z) = max(0, z - p), and likewise
    max(0, 1 - z + n).
    """
    original = PROGRAMS["psvm"](parts)
    z, w, b = (original.variables[name] for name in "zwb")
    most = big_constants(parts.features, parts.C * len(parts.labels), bias=True) - 1.0
    p_, n_ = (cp.Variable(len(parts.labels), name=name) for name in "pn")
    losses = cp.pos(z - p_) + cp.pos(1 - z + n_)
    gaps = gaps_of_proportions(z, parts.bags)
    gap_losses = parts.weights @ PROPORTION_LOSSES["absolute"].expression(gaps)
    return p.build(
        "psvm, perspective",
        "eq:pSVM_2",
        cp.Minimize(0.5 * cp.sum_squares(w) + parts.C * cp.sum(losses) + gap_losses),
        {
            "split": p_ + n_ == parts.features @ w + b,
            "positive": cp.abs(p_) <= cp.multiply(most, z),
            "negative": cp.abs(n_) <= cp.multiply(most, 1 - z),
        },
    )


WAYS = {
    "svm_dual_quadratic_form": (svm_dual_quadratic_form, "svm_dual"),
    "svm_dual_bounds": (svm_dual_bounds, "svm_dual"),
    "mkl_constraint_per_cut": (mkl_constraint_per_cut, "mkl_epigraph"),
    "psvm_perspective": (psvm_perspective, "psvm"),
}
"""By name the function, and the program of the package that has the same value."""
