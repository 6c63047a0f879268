"""One call, many solvers: :func:`solve` takes a program record and returns a :class:`Solution`.

The table ``SOLVERS`` says what each solver can do.  General solvers (through CVXPY) and
specialised ones are rows of the same table and leave the same answer.
"""

from propcvx.solvers.call import SolverNames, solve
from propcvx.solvers.choice import master_solvers, svm_solver
from propcvx.solvers.solution import Certificate, Solution
from propcvx.solvers.table import SOLVERS, Solver, find_solver, register_solver, solvers_for
from propcvx.solvers.through_cvxpy import Run

__all__ = [
    "SOLVERS",
    "Certificate",
    "Run",
    "Solution",
    "Solver",
    "SolverNames",
    "find_solver",
    "master_solvers",
    "register_solver",
    "solve",
    "solvers_for",
    "svm_solver",
]
