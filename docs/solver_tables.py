"""The tables of the pages about solvers: of the package at hand, and of what was measured."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from propcvx import Bags, bag_target
from propcvx import programs as p
from propcvx.labelings import FeasibleLabelings
from propcvx.losses import HINGE, PROPORTION_LOSSES
from propcvx.solvers import SOLVERS
from propcvx.text import markdown_table

CLASSES = list(p.ProblemClass)


def class_table() -> str:
    """Each solver with its classes of problem and the package it comes with."""
    rows = (
        [
            f"`{name}`",
            *("yes" if kind in row.classes else "" for kind in CLASSES),
            f"`{row.package}`",
            row.licence,
        ]
        for name, row in SOLVERS.items()
    )
    return markdown_table(
        ["solver", *(kind.name for kind in CLASSES), "comes with", "licence"], rows
    )


def tolerance_table() -> str:
    """Each solver with the options that a tolerance becomes."""
    rows = (
        [f"`{name}`", ", ".join(f"`{option}`" for option in _names(row.options_of(1e-8))) or "none"]
        for name, row in SOLVERS.items()
    )
    return markdown_table(["solver", "options that get `tol`"], rows)


def _names(options: dict[str, Any]) -> Iterator[str]:
    """Names of options; of a record inside, those in it."""
    for name, value in options.items():
        yield from (
            [f"{name}[{inner!r}]" for inner in value] if isinstance(value, dict) else [name]
        )


def program_table() -> str:
    """Each program with its equation, its class of problem and its solvers."""
    rows = (
        [
            f"{{func}}`~propcvx.programs.{program.name}`{remark}",
            f"`{program.equation}`",
            program.problem_class.name,
            ", ".join(f"`{name}`" for name, row in SOLVERS.items() if row.can_solve(program)),
        ]
        for program, remark in _programs()
    )
    return markdown_table(["program", "equation", "class", "solvers"], rows)


def _programs() -> Iterator[tuple[p.Program, str]]:
    """Every program, at a size where building costs nothing."""
    features, labelings = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([[-1.0, 1.0] * 2])
    means, shares, ones = np.array([[-1.5], [1.5]]), np.array([0.5, 0.5]), np.ones(2)
    bags = Bags.from_target(bag_target([0, 0, 1, 1], shares))
    feasible = FeasibleLabelings.of(bags, 0.0)
    yield p.svm_primal(features), ""
    yield p.margin_classifier(features, HINGE), ""
    yield p.svm_dual(features), ", with a bias"
    yield p.svm_dual(features, bias=False), ", without"
    yield p.inv_cal_primal(means), ""
    yield p.inv_cal_dual(means), ""
    yield p.class_means(means, shares, ones), ""
    yield p.conditional_exponential_model(features), ""
    yield p.mkl_epigraph(features, labelings, 1.0), ""
    yield p.mkl_group(features, labelings, 1.0), ""
    yield p.mkl_inner(features, labelings, 1.0), ""
    for name, loss in PROPORTION_LOSSES.items():
        yield p.labeling_step(bags, loss), f", {name} loss"
    yield p.linear_separation(feasible), ""
    yield p.exact_separation(features, np.ones(4), feasible), ""
    yield p.psvm(features, bags, 1.0, ones, PROPORTION_LOSSES["absolute"]), ""
    yield p.constrained_psvm(features, feasible, 1.0, value=1.0), ""
    yield p.constrained_psvm(features, feasible, 1.0, value=1.0, integer=False), ", soft labels"
    yield p.lifted_svm(features, feasible, 1.0), ""
    yield p.lifted_svm_dual(features, feasible, 1.0), ""
    yield p.lifted_quadratic(features @ features.T, feasible), ""
    yield p.diffrac(features, feasible, 1.0), ""
    pairs = [np.array([[1.0, -1.0], [-1.0, 1.0]])] * 2
    yield p.bag_moments([features[:2], features[2:]], pairs, [np.zeros(2)] * 2, 1.0), ""
