"""Benchmark of solving the SVM program again for new labelings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propcvx.experiments.bench.data import real_or_generated
from propcvx.experiments.bench.measure import (
    Benchmark,
    Check,
    Measurement,
    Setting,
    at_most,
    measure,
)
from propcvx.kernels import FeatureMap, Kernel
from propcvx.losses import best_bias, hinge
from propcvx.programs import Program, svm_dual, svm_dual_parameters
from propcvx.solvers.compiled import problem_data

Array = NDArray[np.float64]

TOL = 1e-8
GAP = 1e-6
OPTIONS = {"eps_abs": TOL, "eps_rel": TOL}
KERNELS = {"linear": Kernel("linear"), "Gaussian": Kernel("rbf", 0.1)}


class Answer(NamedTuple):
    """A labeling, and the dual variables found for it."""

    labeling: Array
    v: Array


def svm_resolve(setting: Setting) -> Iterator[Measurement]:
    """New labelings of one SVM program over the same through PIQP's own interface."""
    for name in ("heart", "vote"):
        data = real_or_generated(name, 30 if setting.quick else None)
        for kernel_name, kernel in KERNELS.items():
            features = FeatureMap.fit(data.X, kernel).features
            labelings = _flipped(data.y)
            native = _native(features, labelings)
            for way, first, reach in (
                ("compiled program", _compiled, 1.3),
                ("Problem.solve", _problem_solve, 4.0),
            ):
                yield measure(
                    "svm-resolve",
                    f"{way} / PIQP itself, {name}, {kernel_name}, rank {features.shape[1]}",
                    first(features, labelings),
                    native,
                    _check(features),
                    reach=reach,
                    repeats=setting.repeats if kernel_name == "linear" else min(setting.repeats, 5),
                    note=data.note,
                )


def _flipped(labels: Array) -> list[Array]:
    """Labelings a tenth of which differs from the labels, as between rounds of alter-pSVM."""
    random = np.random.default_rng(0)
    return [np.where(random.random(len(labels)) < 0.1, -labels, labels) for _ in range(20)]


def _programs(features: Array, labelings: list[Array]) -> Iterator[tuple[Program, Array]]:
    """The program with the parameters of one labeling after the other."""
    program = svm_dual(features)
    for labeling in cycle(labelings):
        yield program.set(**svm_dual_parameters(labeling, 1.0)), labeling


def _compiled(features: Array, labelings: list[Array]) -> Callable[[], Answer]:
    programs = _programs(features, labelings)

    def again() -> Answer:
        program, labeling = next(programs)
        data, chain, _ = problem_data(program, "PIQP", OPTIONS)
        raw = chain.solve_via_data(program.problem, data, True, False, dict(OPTIONS))
        return Answer(labeling, _dual_variables(program, data, raw.x))

    return again


def _problem_solve(features: Array, labelings: list[Array]) -> Callable[[], Answer]:
    programs = _programs(features, labelings)

    def again() -> Answer:
        program, labeling = next(programs)
        program.problem.solve(solver="PIQP", warm_start=True, **OPTIONS)
        return Answer(labeling, np.array(program.variables["v"].value))

    return again


def _native(features: Array, labelings: list[Array]) -> Callable[[], Answer]:
    """PIQP set up with the compiled program's matrices, its vectors known beforehand."""
    import piqp

    known = []
    for program, labeling in _programs(features, labelings):
        data, _, _ = problem_data(program, "PIQP", OPTIONS)
        known.append((labeling, {"c": data["q"], "b": data["b"], "h_u": data["G"]}))
        if len(known) == len(labelings):
            break
    solver = piqp.SparseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = TOL
    solver.setup(P=data["P"], A=data["A"], G=data["F"], **known[0][1])
    remaining = cycle(known)

    def again() -> Answer:
        labeling, vectors = next(remaining)
        solver.update(**vectors)
        solver.solve()
        return Answer(labeling, _dual_variables(program, data, solver.result.x))

    return again


def _dual_variables(program: Program, data: Any, x: Array) -> Array:
    v = program.variables["v"]
    first = data["param_prob"].var_id_to_col[v.id]
    return np.array(x[first : first + v.size])


def _check(features: Array) -> Callable[[Answer, Answer], Check]:
    def check(first: Answer, second: Answer) -> Check:
        worst = max(_gap(features, first), _gap(features, second))
        return at_most("relative duality gap", worst, GAP)

    return check


def _gap(features: Array, answer: Answer) -> float:
    """Relative gap between primal and dual SVM value, infeasibility of v included."""
    y, v = answer
    weights = features.T @ v
    scores, norm = features @ weights, 0.5 * float(weights @ weights)
    primal = norm + float(hinge(y, scores + best_bias(y, scores)).sum())
    outside = max(0.0, float(np.max(-y * v)), float(np.max(y * v)) - 1.0, abs(float(v.sum())))
    return (abs(primal - (float(y @ v) - norm)) + outside) / primal


ROWS = (
    Benchmark("svm-resolve", "the SVM program again over PIQP itself", svm_resolve, needs="piqp"),
)
