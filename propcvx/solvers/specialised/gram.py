"""Gram matrices of programs, kept for as long as the program is."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from propcvx.kernels import check_gram_memory
from propcvx.programs import Program

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Gram:
    """The matrix K, and the mean of its diagonal; 1 where that is 0."""

    matrix: Array
    size: float


_GRAMS: WeakKeyDictionary[cp.Problem, Gram] = WeakKeyDictionary()


def gram_of(program: Program) -> Gram:
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
        matrix = features @ features.T
        gram = _GRAMS[program.problem] = Gram(matrix, float(matrix.diagonal().mean()) or 1.0)
    return gram
