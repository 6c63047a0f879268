"""One call, many solvers: ``solve`` takes a program and returns a ``Solution``.

The table ``SOLVERS`` lists the abilities of each solver.  General solvers (through CVXPY) and
specialized solvers are in the same table and return the same kind of solution.
"""

from propcvx.solvers.comparison import compare_solvers
from propcvx.solvers.interface import Solve, SolverNames, solve
from propcvx.solvers.residuals import Residuals, compute_residuals
from propcvx.solvers.solver import Solution, Solver
from propcvx.solvers.table import SOLVERS, choose_solvers, find_solver, list_solvers

__all__ = [
    "SOLVERS",
    "Residuals",
    "Solution",
    "Solve",
    "Solver",
    "SolverNames",
    "choose_solvers",
    "compare_solvers",
    "compute_residuals",
    "find_solver",
    "list_solvers",
    "solve",
]
