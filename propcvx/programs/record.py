"""The record that every program is handed over in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from propcvx.errors import InputError

Array = NDArray[np.float64]


class ProblemClass(Enum):
    """Classes of problem, by what a solver must be able to do."""

    QP = "quadratic program"
    SOCP = "second-order cone program"
    EXPONENTIAL = "exponential cone program"
    MILP = "mixed-integer linear program"
    MIQP = "mixed-integer quadratic program"

    @property
    def has_integers(self) -> bool:
        """Whether some variables are boolean; such programs have no duals."""
        return self in (ProblemClass.MILP, ProblemClass.MIQP)


@dataclass(frozen=True)
class Program:
    """An optimisation problem of the paper: a plain CVXPY problem and the names of its parts.

    Attributes
    ----------
    name : str
        Name of the function that built it.
    equation : str
        Label of the equation in the paper.
    problem_class : ProblemClass
        What a solver must be able to do.
    problem : cvxpy.Problem
        The problem; change it, print it, solve it as any other.
    variables, parameters, constraints : mappings by name
        Its parts; the docstring of the building function gives shapes and the signs of duals.
    constants : mapping by name
        The arrays it was built from, for solvers that do not go through CVXPY.
    """

    name: str
    equation: str
    problem_class: ProblemClass
    problem: cp.Problem
    variables: Mapping[str, cp.Variable]
    constraints: Mapping[str, cp.Constraint]
    parameters: Mapping[str, cp.Parameter] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)

    def set(self, **values: Any) -> Program:
        """Give parameters their values, by name; returns the program itself.

        Raises
        ------
        InputError
            If a name is not a parameter, or a value does not fit (shape, sign).
        """
        for name, value in values.items():
            if name not in self.parameters:
                raise InputError(
                    f"{name!r} is not a parameter of {self.name}; it has {list(self.parameters)}."
                )
            try:
                _give(self.parameters[name], np.asarray(value, dtype=np.float64))
            except ValueError as error:
                raise InputError(f"{name} does not fit {self.name}: {error}") from error
        return self


def _give(parameter: cp.Parameter, value: Array) -> None:
    """Set a value; with no more than the shape to check, without CVXPY's passes over it."""
    if any(parameter.attributes.values()):
        parameter.value = value
    elif value.shape != parameter.shape:
        raise ValueError(f"shape {value.shape} given, {parameter.shape} needed.")
    else:
        parameter.save_value(value)
