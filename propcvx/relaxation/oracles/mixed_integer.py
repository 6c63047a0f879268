"""The most violated labeling by a mixed-integer QP solver."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propcvx.programs import Program, exact_separation
from propcvx.relaxation.oracles.ascent import ascend
from propcvx.relaxation.oracles.cut import Cut, violation_value
from propcvx.relaxation.oracles.rows import RowOracle
from propcvx.solvers import solve

Array = NDArray[np.float64]

SAFETY = 1e-5
"""Added to the solver's bound, as a share of the largest value that any labeling could have: ten
times the tolerance to which SCIP holds its constraints."""


@dataclass(frozen=True)
class MixedIntegerOracle(RowOracle):
    r"""The most violated labeling, for tens of instances, from :func:`exact_separation`.

    The program is scaled so that :math:`\lambda_{\max}(K \circ \alpha \alpha^\top) = 1`.  The bound
    of a cut counts in the solver's gap and tolerances; it holds when the time runs out, too.

    Attributes
    ----------
    features, feasible
        As in every oracle.
    solver : str
        A solver of mixed-integer QPs.
    tol : float
        Its relative gap.
    seconds : float
        Its time limit.
    options : dict
        Handed to it as they are.
    """

    solver: str = "scip"
    tol: float = 1e-6
    seconds: float = 60.0
    options: dict[str, Any] = field(default_factory=dict)

    def _find(self, alpha: Array) -> Cut:
        weighted = alpha[:, None] * self._rows
        norm = float(np.linalg.norm(weighted, 2))
        if norm == 0.0:
            return Cut(self._labelings.best(np.zeros(len(alpha))), 0.0, 0.0)
        unit, n = weighted / norm, len(alpha)
        program = exact_separation(unit, np.ones(n), self._labelings)
        options = {"limits/time": self.seconds, **self.options}
        answer = solve(program, self.solver, tol=self.tol, residuals=False, warm=None, **options)
        labeling = np.where(answer.variables["z"] > 0.5, 1.0, -1.0)
        labeling = ascend(labeling, unit, self._labelings)
        value = violation_value(self._rows, labeling, alpha)
        least = lower_bound_of(program)
        return Cut(labeling, value, max(value, 0.5 * norm**2 * n * (1.0 - least / n + SAFETY)))


def lower_bound_of(program: Program) -> float:
    """Least value that the solver has not excluded; 0, which no square is below, if unknown."""
    extra = program.problem.solver_stats.extra_stats or {}
    model = extra.get("model") if isinstance(extra, dict) else None
    return max(0.0, float(model.getDualbound())) if model is not None else 0.0
