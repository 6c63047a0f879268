"""The one rule behind ``solver="auto"``: which solvers are asked for a program, in turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from propcvx.programs import (
    GroupMaster,
    LeastSquares,
    LogisticModel,
    ProblemClass,
    Program,
    RestrictedMaster,
    SVMDual,
)
from propcvx.solvers.table import SOLVERS

Names = tuple[str, ...]

TEACHING_SIZE = (1000, 64)
"""Up to so many instances and unknown weights a program is solved as it stands, through CVXPY.

As docs/results/solvers.md has it, PIQP is then the fastest for the dual of an SVM with five
features (with 100 instances and as many features a specialised solver was 5 times as fast).  The
model of MeanMap takes 4 to 54 times as long as by Newton steps, but that is 80 ms, once in a fit.
"""

MASTER_SIZE = (1000, 192)
"""Likewise, for the restricted master, whose unknown weights are those of all cuts.

Of eight cuts it takes at most three times as long as by the structured solver, and 18 times with
five cuts of 30 features each (breast cancer); then as well it is solved to the default tolerance.
"""

FEW_FEATURES = 0.1
"""Beyond it, Newton's method takes an SVM with at most this share of features per instance."""

GENERAL: Mapping[ProblemClass, Names] = MappingProxyType(
    {
        ProblemClass.QP: ("piqp", "clarabel"),
        ProblemClass.SDP: ("scs", "clarabel"),
        ProblemClass.MILP: ("highs", "scip"),
        ProblemClass.MIQP: ("scip",),
        ProblemClass.MICP: ("scip",),
    }
)
"""Solvers for a class of problem, in turn; Clarabel for those that are not here.

For semidefinite programs neither is best: :func:`propcvx.programs.lifted_svm_dual` takes Clarabel
0.54 s and SCS 1.7 s on 80 instances of heart, and 8.0 s and 0.41 s on 40 of them with a Gaussian
kernel, which has as many features as instances (tolerance 1e-6).
"""


def automatic(program: Program) -> Names:
    """Names of solvers for a program, the next being asked where one fails or stops early.

    Up to ``TEACHING_SIZE`` the program itself is solved, through CVXPY, and a solver that knows its
    structure is asked last; beyond it, and while the program is unchanged, it is asked first.
    Solvers that are not installed are left out, unless none is: then they are named as what to
    install.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.programs import svm_dual
    >>> automatic(svm_dual(np.ones((300, 8))))
    ('piqp', 'clarabel', 'newton')
    >>> automatic(svm_dual(np.ones((5000, 8))))
    ('newton', 'piqp', 'clarabel')
    """
    names = _in_turn(program)
    return tuple(name for name in names if SOLVERS[name].installed) or names


def _in_turn(program: Program) -> Names:
    """The names, whether installed or not."""
    general = GENERAL.get(program.problem_class, ("clarabel",))
    structure: Any = program.structure
    if isinstance(structure, LeastSquares):
        return ("lstsq",)
    if type(structure) not in SPECIALISED:
        return general
    specialised = SPECIALISED[type(structure)](structure)
    limits = MASTER_SIZE if isinstance(structure, RestrictedMaster) else TEACHING_SIZE
    small = all(size <= most for size, most in zip(structure.size, limits, strict=True))
    return (*general, specialised[0]) if small else (*specialised, *general)


def _for_svm(svm: Any) -> Names:
    n, rank = svm.features.shape
    return ("newton",) if rank <= FEW_FEATURES * n or not svm.bias else ("libsvm", "newton")


SPECIALISED: Mapping[type, Callable[[Any], Names]] = MappingProxyType(
    {
        SVMDual: _for_svm,
        RestrictedMaster: lambda master: ("mkl_interior_point",),
        GroupMaster: lambda master: ("mkl_interior_point",),
        LogisticModel: lambda model: ("logistic",),
    }
)
"""The solvers that know a structure.

Of SVMs with many features LIBSVM is the faster where most margins are soft, and as fast where none
is: on dna (608 x 180) along one start of alter-pSVM it takes 4 to 90 ms, Newton's method 8 to
390 ms, and PIQP 140 to 240 ms.
"""
