"""How far each solver of the package's own gets as C grows to a hard margin; see solvers.md.

``OPENBLAS_CORETYPE=Haswell python large_C.py`` adds the rows of one kernel of OpenBLAS.
"""

import os
from itertools import product

import numpy as np
from study import HERE, complete

from propcvx.errors import SolverError
from propcvx.programs import (
    conditional_exponential_model,
    mkl_epigraph,
    svm_dual,
    svm_dual_parameters,
)
from propcvx.solvers import solve

KINDS = ("noise", "overlap", "separable", "three positives", "unequal scales")
SOLVERS = ("newton", "auto", "libsvm", "mkl_interior_point", "logistic")
VALUES_OF_C = (1e3, 1e6, 1e8, 1e9, 1e10, 1e12)
N_PROBLEMS, TOL = 20, 1e-6


def problem(kind, random, n=60, d=4):
    """Features of mean 0 and mean square 1, and labels."""
    features, noise = random.normal(size=(n, d)), random.choice((-1.0, 1.0), n)
    if kind == "overlap":
        features += 0.8 * noise[:, None]
    if kind == "unequal scales":
        features *= [1.0, 1e-2, 30.0, 0.1]
    features -= features.mean(axis=0)
    labels = {
        "separable": np.sign(features[:, 0] + 0.7 * features[:, 1:3].sum(axis=1)),
        "three positives": np.where(np.arange(n) < 3, 1.0, -1.0),
    }.get(kind, noise)
    return features / np.sqrt(np.mean(features**2)), labels


def program(solver, features, labels, C, random):
    """The program that a solver is for; the regularization of MeanMap's model is 1 / C."""
    if solver == "logistic":
        operator = labels @ features / len(labels)
        model = conditional_exponential_model(features)
        return model.set(lam=1.0 / C, mean_operator=operator, mean_label=labels.mean())
    if solver == "mkl_interior_point":
        others = [random.permutation(labels) for _ in range(3)]
        return mkl_epigraph(features, np.stack([labels, *others]), C)
    return svm_dual(features).set(**svm_dual_parameters(labels, C))


def measure(kernel, solver, kind, C):
    """The number of answers of each status, and the largest error of those that have one."""
    statuses, errors = [], [0.0]
    for seed in range(N_PROBLEMS):
        random = np.random.default_rng(seed)
        posed = program(solver, *problem(kind, random), C, random)
        try:
            solution = solve(posed, solver, tol=TOL, warn=False)
        except SolverError:
            statuses.append("raised")
            continue
        statuses.append("optimal" if solution.status == "optimal" else "gap above tol")
        gap = solution.gap
        errors.append(solution.residuals.dual_residual if gap is None else gap)
    counts = {name: statuses.count(name) for name in ("optimal", "gap above tol", "raised")}
    return [{**counts, "largest_error": max(errors)}]


if __name__ == "__main__":
    kernel = os.environ["OPENBLAS_CORETYPE"]
    grid = product([kernel], SOLVERS, KINDS, VALUES_OF_C)
    cells = [dict(zip(("kernel", "solver", "kind", "C"), cell, strict=True)) for cell in grid]
    rows = complete(HERE / "large_C.csv", cells, measure)
    print(rows.pivot_table(index=["solver", "kind"], columns="C", values="optimal").to_string())
