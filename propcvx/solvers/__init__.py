"""One call, many solvers: :func:`solve` takes a program and returns a :class:`Solution`.

The table ``SOLVERS`` says what each solver can do.  General solvers (through CVXPY) and
specialised ones are rows of the same table and leave the same answer.
"""

from propcvx.solvers.answer import Answer
from propcvx.solvers.auto import automatic
from propcvx.solvers.call import SolverNames, solve
from propcvx.solvers.row import Solver
from propcvx.solvers.solution import Certificate, Solution
from propcvx.solvers.table import (
    SOLVERS,
    find_solver,
    portable,
    register_solver,
    solvers_for,
)

__all__ = [
    "SOLVERS",
    "Answer",
    "Certificate",
    "Solution",
    "Solver",
    "SolverNames",
    "automatic",
    "find_solver",
    "portable",
    "register_solver",
    "solve",
    "solvers_for",
]
