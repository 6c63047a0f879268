"""Benchmark of the rule behind ``solver="auto"``: its choice against every other solver."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from propcvx.alternating.algorithm import (
    Alternation,
    Machine,
    PropSVM,
    Separator,
    SVMStep,
    annealing_values,
)
from propcvx.errors import InaccurateSolutionWarning, SolverError
from propcvx.experiments.bench.data import BenchData, bags_of, generated, real_or_generated
from propcvx.experiments.bench.measure import (
    Benchmark,
    Check,
    Measurement,
    Setting,
    at_most,
    measure,
)
from propcvx.kernels import FeatureMap, Kernel
from propcvx.labelings import random_labeling
from propcvx.losses import PROPORTION_LOSSES, hinge
from propcvx.solvers import SOLVERS, SolverNames, svm_solver

Array = NDArray[np.float64]
Question = tuple[Array, float]

SOLVERS_TRIED = ("active_set", "newton", "libsvm", "piqp", "osqp", "clarabel")
LAST = 6
"""How many of a path's SVMs are solved, the last ones."""

TOL = 1e-4
EXCESS = 1e-3
"""Largest relative excess of an SVM's objective over the best of all answers to it."""


def svm_path(setting: Setting) -> Iterator[Measurement]:
    """The last SVMs of an annealed path of alter-pSVM, by the solver chosen and by others."""
    for text, features, data in _sets(setting):
        questions = _questions(features, data)
        chosen = svm_solver(features)
        first = chosen if isinstance(chosen, str) else chosen[0]
        for other in SOLVERS_TRIED:
            if other != first and SOLVERS[other].installed:
                yield measure(
                    "svm-path",
                    f"{first} / {other}, {len(questions)} SVMs, {text}",
                    partial(_answers, features, questions, chosen),
                    partial(_answers, features, questions, other),
                    partial(_check, questions),
                    reach=1.0,
                    repeats=1,
                    note=data.note,
                )


def _sets(setting: Setting) -> Iterator[tuple[str, Array, BenchData]]:
    few, many = (60, 120) if setting.quick else (800, 4000)
    vote = real_or_generated("vote", few if setting.quick else None)
    gaussian = FeatureMap.fit(vote.X, Kernel("rbf", 0.1)).features
    yield _named("vote, Gaussian kernel", gaussian, vote)
    yield _named("vote, linear", vote.X, vote)
    wide = generated(few, 2 * few // 5)
    yield _named("generated", wide.X, wide)
    long = generated(many, 8)
    yield _named("generated", long.X, long)


def _named(text: str, features: Array, data: BenchData) -> tuple[str, Array, BenchData]:
    return f"{text}, {features.shape[0]:,} x {features.shape[1]}", features, data


def _questions(features: Array, data: BenchData) -> list[Question]:
    """The last SVMs that one annealed descent asks for."""
    bags = bags_of(data.y, 8)
    problem = PropSVM(bags, 1.0, np.full(bags.n_bags, 10.0), PROPORTION_LOSSES["absolute"])
    step, asked = SVMStep(features, "auto", TOL), []

    def machine(labeling: Array, C: float, after: Separator | None) -> Separator:
        asked.append((labeling, C))
        return step(labeling, C, after)

    Alternation(problem, machine, annealing_values(1.0))(random_labeling(bags, RandomState(0)))
    return asked[-LAST:]


def _answers(features: Array, questions: list[Question], solver: SolverNames) -> list[Separator]:
    """Separators one after the other; none from where the solver has no answer."""
    machine: Machine = SVMStep(features, solver, TOL)
    answers: list[Separator] = []
    with warnings.catch_warnings():  # what is inaccurate does not pass the check
        warnings.simplefilter("ignore", InaccurateSolutionWarning)
        for labeling, C in questions:
            try:
                answers.append(machine(labeling, C, answers[-1] if answers else None))
            except SolverError:
                break
    return answers


def _check(questions: list[Question], ours: list[Separator], theirs: list[Separator]) -> Check:
    if len(theirs) < len(questions):
        return Check(False, f"no answer to SVM {len(theirs) + 1}")
    objectives = np.array([_objectives(questions, side) for side in (ours, theirs)])
    excess = objectives.max(axis=0) / objectives.min(axis=0) - 1.0
    return at_most("excess of either objective over the other", float(excess.max()), EXCESS)


def _objectives(questions: list[Question], answers: list[Separator]) -> list[float]:
    return [
        0.5 * float(a.weights @ a.weights) + C * float(hinge(labeling, a.scores).sum())
        for (labeling, C), a in zip(questions, answers, strict=True)
    ]


ROWS = (Benchmark("svm-path", "the solver chosen for an SVM over every other one", svm_path),)
