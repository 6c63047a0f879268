"""Problems for benchmarks of solvers, from LP to SDP: each takes its solver about a second.

They are what :func:`propcvx.laboratory.compare_solvers` compares on where no program is named, and
have the form of those in CVXPY's collection (https://github.com/cvxpy/solver-benchmarks): a
function of a seed with a name, tags and a description.
"""

from __future__ import annotations

from dataclasses import dataclass

import cvxpy as cp
from cvxpy.reductions import EvalParams

from propcvx.laboratory.programs import ProgramAt
from propcvx.programs import Program


@dataclass(frozen=True)
class Benchmark:
    """A problem for benchmarks: ``benchmark(seed)`` is a ``cvxpy.Problem`` without parameters.

    Attributes
    ----------
    name : str
        Its class and what it is.
    program : str
        A name in :data:`propcvx.laboratory.programs.PROGRAMS`.
    instances : int
    description : str
    C : float
    solver : str
        CVXPY's name of the solver that it is measured with.

    Examples
    --------
    >>> BENCHMARKS["sdp/lifted_svm"](seed=1).is_dcp()
    True
    """

    name: str
    program: str
    instances: int
    description: str
    C: float = 1.0
    solver: str = "CLARABEL"

    @property
    def tags(self) -> list[str]:
        """Its class, its size and whence it is."""
        return [self.name.split("/")[0], "medium", "label-proportions"]

    def __call__(self, seed: int = 0) -> cp.Problem:
        """The problem, fresh, on data with a seed."""
        program = ProgramAt(self.program, self.instances, C=self.C, seed=seed)()
        # Compiled with parameters for thousands of instances, it would take gigabytes.
        problem: cp.Problem = EvalParams().apply(program.problem)[0]
        return problem

    def named(self) -> Program:
        """The problem under its name."""
        return Program(self(), self.name)


BENCHMARKS = {
    benchmark.name: benchmark
    for benchmark in (
        Benchmark("qp/svm_dual", "svm_dual", 25_000, "dual of a linear SVM"),
        Benchmark("qp/inv_cal", "inv_cal_primal", 120_000, "support vector regression of logits"),
        Benchmark("socp/kernels", "mkl_epigraph", 4_000, "8 kernels of rank 5 at once"),
        Benchmark("socp/group_norms", "mkl_group", 4_000, "its dual: the square of a sum of norms"),
        Benchmark("sdp/lifted_svm", "lifted_svm", 32, "an SVM that chooses its labels", 0.1),
        Benchmark("sdp/bag_moments", "bag_moments", 400, "50 blocks of common moments", 0.1),
        Benchmark("lp/labeling", "crossing_labeling", 1_500, "labels of two groupings, a flow"),
        Benchmark("mip/separation", "exact_separation", 16, "whole labels", solver="SCIP"),
        Benchmark("ecp/logistic", "conditional_exponential_model", 5_000, "a model of moments"),
    )
}
"""The problems, by name."""
