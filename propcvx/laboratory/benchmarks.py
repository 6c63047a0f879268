"""Problems for benchmarks of solvers, from LP to SDP: each takes Clarabel about a second.

``python -m propcvx.laboratory.benchmarks`` solves each and prints its size and its time.  They are
what :func:`propcvx.laboratory.compare_solvers` compares on where no program is named, and have the
form of those in CVXPY's collection (https://github.com/cvxpy/solver-benchmarks): a function of a
seed with a name, tags and a description.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
from cvxpy.reductions import EvalParams

from propcvx.laboratory.programs import ProgramAt
from propcvx.programs import Program
from propcvx.text import text_table


@dataclass(frozen=True)
class Benchmark:
    """A problem for benchmarks: ``benchmark(seed)`` is a ``cvxpy.Problem`` without parameters.

    Attributes
    ----------
    name : str
        Its class and what it is.
    description : str
    program : ProgramAt
        The program and its size.
    solver : str
        CVXPY's name of the solver that it is measured with.

    Examples
    --------
    >>> BENCHMARKS["sdp/lifted_svm"](seed=1).is_dcp()
    True
    """

    name: str
    description: str
    program: ProgramAt
    solver: str = "CLARABEL"

    @property
    def tags(self) -> list[str]:
        """Its class, its size and whence it is."""
        return [self.name.split("/")[0], "medium", "learning", "label-proportions"]

    def __call__(self, seed: int = 0) -> cp.Problem:
        """The problem, fresh, on data with a seed."""
        # Compiled with parameters for thousands of instances, it would take gigabytes.
        problem: cp.Problem = EvalParams().apply(replace(self.program, seed=seed)().problem)[0]
        return problem

    def named(self) -> Program:
        """The problem under its name."""
        return Program(self(), self.name)


BENCHMARKS = {
    benchmark.name: benchmark
    for benchmark in (
        Benchmark("qp/svm_dual", "dual of a linear SVM", ProgramAt("svm_dual", 25_000)),
        Benchmark(
            "qp/inv_cal",
            "support vector regression of logits on the means of bags",
            ProgramAt("inv_cal_primal", 120_000),
        ),
        Benchmark(
            "socp/multiple_kernels",
            "learning with 8 kernels of rank 5, epigraph of their quadratics",
            ProgramAt("mkl_epigraph", 4_000),
        ),
        Benchmark(
            "socp/group_norms",
            "its dual: hinge losses and the square of a sum of norms",
            ProgramAt("mkl_group", 4_000),
        ),
        Benchmark(
            "sdp/lifted_svm",
            "semidefinite relaxation of an SVM that chooses its labels",
            ProgramAt("lifted_svm", 32, C=0.1),
        ),
        Benchmark(
            "sdp/bag_moments",
            "many small semidefinite blocks with common moments",
            ProgramAt("bag_moments", 400, C=0.1),
        ),
        Benchmark(
            "lp/crossing_labeling",
            "labels from scores, counted in two groupings: a flow",
            ProgramAt("crossing_labeling", 1_500),
        ),
        Benchmark(
            "mip/exact_separation",
            "the labels with given counts of the largest quadratic form",
            ProgramAt("exact_separation", 16),
            "SCIP",
        ),
        Benchmark(
            "ecp/logistic_model",
            "maximum-entropy model of given moments, by exponential cones",
            ProgramAt("conditional_exponential_model", 5_000),
        ),
    )
}
"""The problems, by name."""


def _measured(benchmark: Benchmark) -> dict[str, Any]:
    """Its size, and the seconds to compile and to solve it."""
    problem = benchmark()
    problem.solve(solver=benchmark.solver)
    size, stats = problem.size_metrics, problem.solver_stats
    return {
        "problem": benchmark.name,
        "variables": size.num_scalar_variables,
        "constraints": size.num_scalar_eq_constr + size.num_scalar_leq_constr,
        "solver": benchmark.solver,
        "status": problem.status,
        "value": problem.value,
        "compile": problem.compilation_time,
        "solve": stats.solve_time,
    }


if __name__ == "__main__":
    rows = [_measured(benchmark) for benchmark in BENCHMARKS.values()]
    print(text_table(rows, {**dict.fromkeys(rows[0], ""), "compile": ".2f", "solve": ".2f"}))
