"""Gram matrices of programs, kept for as long as the program is."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from propcvx.kernels import check_gram_memory
from propcvx.programs import Program

Array = NDArray[np.float64]

_GRAMS: WeakKeyDictionary[cp.Problem, Array] = WeakKeyDictionary()


def gram_of(program: Program) -> Array:
    """K = F F' of a program with the constant ``features``.

    Raises
    ------
    GramMatrixMemoryError
        If it would not fit into memory; nothing has been allocated.
    """
    gram = _GRAMS.get(program.problem)
    if gram is None:
        features = program.constants["features"]
        check_gram_memory(len(features), "use a solver that needs none, such as 'newton' or 'osqp'")
        gram = _GRAMS[program.problem] = features @ features.T
    return gram
