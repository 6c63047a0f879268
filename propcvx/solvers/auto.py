"""The one rule behind ``solver="auto"``: which solvers are asked for a program, in turn."""

from __future__ import annotations

from importlib.util import find_spec

from propcvx.programs import (
    LeastSquares,
    ProblemClass,
    Program,
    RestrictedMaster,
    SVMDual,
)

TEACHING = 500
"""Up to so many instances a program goes through CVXPY, to be solved as it stands."""

BY_CLASS = {
    ProblemClass.MILP: ("highs", "scip"),
    ProblemClass.MIQP: ("scip",),
    ProblemClass.MICP: ("scip",),
}


def automatic(program: Program) -> tuple[str, ...]:
    """Names of solvers for a program, the next being asked where one fails or stops early.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.programs import svm_dual
    >>> automatic(svm_dual(np.ones((300, 8)))), automatic(svm_dual(np.ones((5000, 8))))
    (('piqp', 'clarabel'), ('newton', 'clarabel'))
    """
    structure = program.structure
    if isinstance(structure, LeastSquares):
        return ("lstsq",)
    if isinstance(structure, SVMDual):
        return _for_svm(structure)
    if isinstance(structure, RestrictedMaster) and len(structure.features) > TEACHING:
        return ("mkl_interior_point", "clarabel")
    return BY_CLASS.get(program.problem_class, ("clarabel",))


def _for_svm(structure: SVMDual) -> tuple[str, ...]:
    n, rank = structure.features.shape
    qp = ("piqp", "clarabel") if find_spec("piqp") else ("clarabel",)
    if n <= TEACHING and rank <= 50:
        return qp
    if rank <= 0.1 * n:
        return ("newton", *qp)
    return ("libsvm", *qp) if structure.bias else qp
