"""Where the last call on a program ended: what the specialised solvers begin from."""

from __future__ import annotations

from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import cvxpy as cp

from propcvx.programs import Program

T = TypeVar("T")

_ENDS: WeakKeyDictionary[cp.Problem, Any] = WeakKeyDictionary()


def end_of(program: Program) -> Any:
    """Where the last call on a program ended; None where no solver has left that."""
    return _ENDS.get(program.problem)


def leave_end(program: Program, end: Any) -> None:
    """Leave where a call has ended, or where the next one is to begin; None for nowhere."""
    _ENDS[program.problem] = end


def take_end(program: Program, kind: type[T]) -> T | None:
    """Take out where the last call ended, if a solver of that kind has left it."""
    end = _ENDS.pop(program.problem, None)
    return end if isinstance(end, kind) else None
