"""One call, many solvers: ``solve`` takes a program and returns a ``Solution``.

The table ``SOLVERS`` lists the abilities of each solver.  General solvers (through CVXPY) and
specialized solvers are in the same table and return the same kind of solution.
"""

from propcvx.solvers.comparison import compare_solvers
from propcvx.solvers.interface import Solve, SolverNames, solve
from propcvx.solvers.residuals import Residuals, residuals_of
from propcvx.solvers.solver import Solution, Solver
from propcvx.solvers.table import SOLVERS, automatic, find_solver, solvers_for

__all__ = [
    "SOLVERS",
    "Residuals",
    "Solution",
    "Solve",
    "Solver",
    "SolverNames",
    "automatic",
    "compare_solvers",
    "find_solver",
    "residuals_of",
    "solve",
    "solvers_for",
]
