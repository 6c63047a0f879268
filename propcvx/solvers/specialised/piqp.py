r"""PIQP for the SVM dual, filled directly: the same quadratic program as through CVXPY.

With :math:`w = F^\top v` among the unknowns it is

.. math::

    \min_{v, w} \tfrac12 \|w\|^2 - y^\top v \quad \text{s.t. } F^\top v - w = 0, \;
    \textstyle\sum_i v_i = 0, \; l \le v \le u.

Where hundreds of small programs differ in y, l and u alone, CVXPY takes longer to fill in its
parameters than PIQP takes to solve.  PIQP starts anew at every call.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any

import cvxpy as cp
import numpy as np

from propcvx.programs import Program
from propcvx.solvers.solution import Answer

STATUSES = {"PIQP_SOLVED": cp.OPTIMAL, "PIQP_MAX_ITER_REACHED": cp.USER_LIMIT}
TOLERANCES = "eps_abs eps_rel eps_duality_gap_abs eps_duality_gap_rel"


def run_piqp(program: Program, options: Mapping[str, Any], warm: Any) -> Answer:
    """Solve ``svm_dual``; options other than ``tol`` are PIQP's settings."""
    import piqp  # no dependency of the package's own

    start, values = perf_counter(), program.values
    svm: Any = program.structure
    tol = options["tol"] * min(1.0, svm.magnitude(values))
    solver = piqp.SparseSolver()
    settings = {**dict.fromkeys(TOLERANCES.split(), tol), **options}
    for name in settings.keys() - {"tol"}:
        setattr(solver.settings, name, settings[name])
    P, A = svm.matrices
    n, rank = svm.features.shape
    zeros, none = np.zeros(A.shape[0]), np.full(rank, np.inf)
    y, lower, upper = (values[name] for name in ("y", "lower", "upper"))
    box = {"x_l": np.append(lower, -none), "x_u": np.append(upper, none)}
    solver.setup(P=P, c=np.append(-y, zeros[:rank]), A=A, b=zeros, **box)
    built = perf_counter()
    solver.solve()
    ended, result = perf_counter(), solver.result
    duals = {"lower": result.z_bl[:n], "upper": result.z_bu[:n]}
    if svm.bias:
        duals["balance"] = result.y[-1]
    status = STATUSES.get(result.info.status.name, cp.SOLVER_ERROR)
    seconds = built - start, ended - built
    return Answer(status, {"v": result.x[:n]}, duals, *seconds, result.info.iter)
