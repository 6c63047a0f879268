"""The thin record around a ``cvxpy.Problem`` that represents every program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from textwrap import fill
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms import EXP_ATOMS, PSD_ATOMS
from cvxpy.constraints import PSD, ExpCone, PowCone3D, PowConeND

from propcvx.arrays import Array
from propcvx.errors import InputError
from propcvx.programs.statement import in_latex, relation, render, size
from propcvx.programs.structures import Structure


class ProblemClass(Enum):
    """Classes of problem, by what a solver must be able to do."""

    LP = "linear program"
    QP = "quadratic program"
    SOCP = "second-order cone program"
    SDP = "semidefinite program"
    EXPONENTIAL = "exponential cone program"
    POWER = "power cone program"
    MILP = "mixed-integer linear program"
    MIQP = "mixed-integer quadratic program"
    MICP = "mixed-integer conic program"


@dataclass(frozen=True, eq=False)
class Program:
    """An optimization problem with the names of its parts, read off the CVXPY problem itself.

    Parameters
    ----------
    problem : cvxpy.Problem
        The problem.  In print, a constant without a name has its shape, such as ``[2x1]``.
        Variables and parameters have their names, constraints their labels
        (``constraint.set_label``), or without a label their place: ``"constraint 2"``.
    name : str, default="program"
        The name in messages; for the programs of the paper the function that built it.
    equation : str, default=""
        Label of the equation, or of the section, in the paper.

    Attributes
    ----------
    structure : Structure or None
        The data of the program, for solvers that use them; :func:`build` attaches it, and no
        variant has it.

    Raises
    ------
    InputError
        If two variables, two parameters or two constraints have the same name, a variable is
        complex, or the problem is not convex by CVXPY's rules (DCP).

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.programs import svm_primal
    >>> print(svm_primal(np.ones((5, 2))))
    svm_primal (eq:pSVM_2): quadratic program
      minimize    0.5 * sum_squares(w) + C * sum(xi)
      subject to  margin: 1 - xi <= y * (F @ w + b)
                  slack:  0 <= xi
      variables   w (2), xi (5), b
      parameters  C (nonneg), y (5)
    """

    problem: cp.Problem
    name: str = "program"
    equation: str = ""
    structure: Structure | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        problem = self.problem
        for what, parts, names in (
            ("variables", problem.variables(), self.variables),
            ("parameters", problem.parameters(), self.parameters),
            ("constraints", problem.constraints, self.constraints),
        ):
            if len(names) < len(parts):
                raise InputError(
                    f"{self.name} has several {what} of the same name: it has {len(parts)}, and "
                    f"their names are {list(names)}. Give each a different name."
                )
        if any(variable.is_complex() for variable in problem.variables()):
            raise InputError(
                "program must have real variables; got complex ones. Write the real and the "
                "imaginary part as two variables."
            )
        parts = (problem.objective, *problem.constraints)
        if wrong := [str(part) for part in parts if not part.is_dcp()]:
            raise InputError(
                f"{self.name} is not convex by CVXPY's rules (DCP, https://dcp.stanford.edu), so "
                f"no solver accepts it; violations: {'; '.join(wrong)}."
            )

    @classmethod
    def from_problem(cls, problem: Program | cp.Problem) -> Program:
        """Convert a problem of CVXPY to a program; return a program unchanged."""
        if isinstance(problem, cls):
            return problem
        if not isinstance(problem, cp.Problem):
            raise InputError(
                f"program must be a propcvx.programs.Program or a cvxpy.Problem; got {problem!r}."
            )
        return cls(problem, "problem")

    @cached_property
    def variables(self) -> Mapping[str, cp.Variable]:
        """Variables by name."""
        return {variable.name(): variable for variable in self.problem.variables()}

    @cached_property
    def parameters(self) -> Mapping[str, cp.Parameter]:
        """Parameters by name."""
        return {parameter.name(): parameter for parameter in self.problem.parameters()}

    @cached_property
    def constraints(self) -> Mapping[str, cp.Constraint]:
        """Constraints by label."""
        return {
            constraint.label or f"constraint {place}": constraint
            for place, constraint in enumerate(self.problem.constraints)
        }

    @property
    def values(self) -> dict[str, Array]:
        """Values of the parameters, by name."""
        return {name: np.asarray(p.value) for name, p in self.parameters.items()}

    @cached_property
    def problem_class(self) -> ProblemClass:
        """The class of the problem, from its variables, constraints and atoms."""
        problem = self.problem
        if problem.is_mixed_integer():
            if problem.is_lp():
                return ProblemClass.MILP
            return ProblemClass.MIQP if problem.is_qp() else ProblemClass.MICP
        if problem.is_qp():
            return ProblemClass.LP if problem.is_lp() else ProblemClass.QP
        atoms, cones = set(problem.atoms()), {type(c) for c in problem.constraints}
        semidefinite = any(v.attributes["PSD"] or v.attributes["NSD"] for v in problem.variables())
        if semidefinite or PSD in cones or atoms & set(PSD_ATOMS):
            return ProblemClass.SDP
        if cones & {PowCone3D, PowConeND}:
            return ProblemClass.POWER
        if ExpCone in cones or atoms & set(EXP_ATOMS):
            return ProblemClass.EXPONENTIAL
        return ProblemClass.SOCP

    def set(self, **values: Any) -> Program:
        """Set the values of parameters by name, and return the program itself.

        A number is the value of every entry.

        Raises
        ------
        InputError
            If a name is not a parameter, or a value does not fit (shape, sign).
        """
        parameters = self.parameters
        for name, value in values.items():
            if name not in parameters:
                raise InputError(
                    f"{name!r} is not a parameter of {self.name}; it has {list(parameters)}."
                )
            try:
                array = np.asarray(value, dtype=np.float64)
                full = array if array.ndim else np.full(parameters[name].shape, array)
                parameters[name].value = full
            except ValueError as error:
                raise InputError(f"{name} does not fit {self.name}: {error}") from error
        return self

    def with_constraints(self, **constraints: cp.Constraint) -> Program:
        """Return a variant with further constraints by label, which replace those of equal labels.

        It has no structure, so that only general solvers accept it.  It shares variables and
        parameters with the program, so that :meth:`set` changes both; a constraint that you pass to
        several variants has the label of the last variant.

        Raises
        ------
        InputError
            If one is not a constraint, or the variant is not convex by CVXPY's rules.

        Examples
        --------
        >>> import cvxpy as cp
        >>> import numpy as np
        >>> from propcvx.programs import svm_dual
        >>> program = svm_dual(np.eye(2))
        >>> variant = program.with_constraints(small=cp.norm(program.variables["v"], 1) <= 1)
        >>> list(variant.constraints), variant.structure
        (['lower', 'upper', 'balance', 'small'], None)
        """
        for label, constraint in constraints.items():
            if not isinstance(constraint, cp.Constraint):
                raise InputError(
                    f"{label} must be a constraint of CVXPY; got {constraint!r}; w >= 0 of a "
                    "variable w is one, and each needs a different label."
                )
        objective = self.problem.objective
        return build(self.name, self.equation, objective, {**self.constraints, **constraints})

    def without_constraints(self, *labels: str) -> Program:
        """Return a variant without some constraints, by label, and without the structure.

        It shares variables and parameters with the program, as in :meth:`with_constraints`.

        Raises
        ------
        InputError
            If the program has no constraint of a label.
        """
        table = self.constraints
        if unknown := sorted(set(labels) - table.keys()):
            raise InputError(f"{unknown} are no constraints of {self.name}; it has {list(table)}.")
        others = {label: table[label] for label in table if label not in labels}
        return build(self.name, self.equation, self.problem.objective, others)

    def with_objective(self, objective: cp.Minimize | cp.Maximize) -> Program:
        """Return a variant with another objective and without the structure.

        It shares variables and parameters with the program, as in :meth:`with_constraints`.

        Raises
        ------
        InputError
            If it is not an objective, or the variant is not convex by CVXPY's rules.
        """
        if not isinstance(objective, cp.Minimize | cp.Maximize):
            raise InputError(
                "objective must be a cvxpy.Minimize or a cvxpy.Maximize; got "
                f"{objective!r}; cvxpy.Minimize(expression) is one."
            )
        return build(self.name, self.equation, objective, self.constraints)

    def _repr_latex_(self) -> str:
        """Format the problem in LaTeX, like its text."""
        leaves = (*self.problem.variables(), *self.problem.parameters(), *self.problem.constants())
        texts = [render(self.problem.objective.args[0]), *map(relation, self.constraints.values())]
        goal, *rest = [
            in_latex(t, [leaf.name() for leaf in leaves if not leaf.ndim]) for t in texts
        ]
        variables = in_latex(", ".join(self.variables), [])
        lines = [rf"\operatorname*{{{self.problem.objective.NAME}}}_{{{variables}}} & {goal}"]
        lines += [rf"\text{{s.t.}} & {side}" for side in rest[:1]] + [f"& {s}" for s in rest[1:]]
        return r"$\begin{array}{rl} " + r" \\ ".join(lines) + r" \end{array}$"

    def __str__(self) -> str:
        """Format the problem as on paper, under its name, equation and class."""
        heading = f"{self.name} ({self.equation})" if self.equation else self.name
        objective = self.problem.objective
        aim = "maximize" if isinstance(objective, cp.Maximize) else "minimize"
        lines = [f"{heading}: {self.problem_class.value}", _line(aim, render(objective.args[0]))]
        width = max((len(label) + 1 for label in self.constraints), default=0)
        for place, (label, constraint) in enumerate(self.constraints.items()):
            start = "" if place else "subject to"
            lines.append(_line(start, f"{label + ':':<{width}} {relation(constraint)}"))
        for start, leaves in (("variables", self.variables), ("parameters", self.parameters)):
            if leaves:
                lines.append(f"  {start:<11} {', '.join(map(size, leaves.values()))}")
        return "\n".join(lines)


def _line(start: str, rest: str) -> str:
    """Format the objective or a constraint, with line breaks and a hanging indent if it is long."""
    text, indent = f"  {start:<11} {rest}", " " * 16
    return fill(text, 88, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def weighted_sum(weights: Array | float, losses: cp.Expression) -> cp.Expression:
    """Sum losses times one number, or times the entries of a vector."""
    if np.ndim(weights) == 0:
        return weights * cp.sum(losses)
    return cp.sum(cp.multiply(np.reshape(weights, losses.shape), losses))


def build(
    name: str,
    equation: str,
    objective: cp.Minimize | cp.Maximize,
    constraints: Mapping[str, cp.Constraint] | None = None,
    structure: Structure | None = None,
) -> Program:
    """Build a program from its objective and labeled constraints, and attach its structure.

    Parameters
    ----------
    name, equation : str
        Name in messages, and label of the equation.
    objective : cvxpy.Minimize or cvxpy.Maximize
    constraints : mapping from str to cvxpy.Constraint, optional
        Constraints by label.
    structure : Structure, optional
        Data of the program, for solvers and gaps.

    Returns
    -------
    Program

    Raises
    ------
    InputError
        As :class:`Program` does.

    Examples
    --------
    >>> import cvxpy as cp
    >>> from propcvx.programs import build
    >>> x = cp.Variable(2, name="x")
    >>> print(build("nearest", "", cp.Minimize(cp.norm2(x - 1)), {"budget": cp.sum(x) <= 1}))
    nearest: second-order cone program
      minimize    norm(x - 1, 2)
      subject to  budget: sum(x) <= 1
      variables   x (2)
    """
    labeled = [c.set_label(label) for label, c in (constraints or {}).items()]
    program = Program(cp.Problem(objective, labeled), name, equation)
    object.__setattr__(program, "structure", structure)  # no argument, lest a copy has it, too
    return program
