"""The entries of the table of solvers, and the solution of a program that each returns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import numpy as np
from cvxpy import OPTIMAL

from propcvx.errors import InputError
from propcvx.programs import ProblemClass, Program, Structure
from propcvx.solvers.residuals import Residuals
from propcvx.text import Readable

ADVICE = "scale the features, or use a smaller C, a looser tol or another solver"
"""Advice if a solver stopped before its tolerance."""


@dataclass(frozen=True)
class Solution(Readable):
    r"""Solution of a program: variables, duals, status and measured errors.

    A solver's ``run`` returns one with a status, variables and duals; :func:`propcvx.solvers.solve`
    adds the rest.

    Attributes
    ----------
    status : str
        In CVXPY's words: "optimal", or "optimal_inaccurate" and "user_limit" if it is usable but
        its tolerance was not reached.
    variables, duals : mappings from name to array
        The program's docstring gives the signs of duals.  A second-order or exponential cone has a
        list of arrays as its dual; a program with integers has none.
    value : float
        Objective value of ``variables``, recomputed by propcvx.
    solver : str
        The solver that answered.
    tol : float
        The tolerance that was given.
    gap : float or None
        Duality gap between feasible points, relative to the objective, which is compared with
        ``tol``; None for programs whose structure cannot make a solution feasible.
    residuals : Residuals or None
        Recomputed from the problem; None with ``residuals=False``, or if a part of the problem is
        not covered, which an ``UncheckedResidualsWarning`` names.
    build_seconds, solve_seconds : float
        Wall time to bring the program into the solver's form, and in the solver: if it does not
        report it, all of the call except ``build_seconds``.
    iterations : int or None
        Iterations, if the solver reports them.
    warm_start : object
        State of the solver, to pass to ``solve(..., warm_start=...)`` for the same program.  It is
        not pickled.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx.programs import svm_dual, svm_dual_parameters
    >>> from propcvx.solvers import solve
    >>> program = svm_dual(np.array([[-1.0], [2.0]]))
    >>> print(solve(program.set(**svm_dual_parameters(np.array([-1.0, 1.0]), C=1.0))))
    optimal, by piqp: value 0.2222...; relative duality gap ...
    absolute, recomputed: primal residual ..., dual residual ..., duality gap ...
    variables: v (2)
    duals: lower (2), upper (2), balance
    ... iterations; ... s to build, ... s to solve
    """

    status: str
    variables: Mapping[str, Any]
    duals: Mapping[str, Any]
    value: float = np.nan
    solver: str = ""
    tol: float = np.nan
    gap: float | None = None
    residuals: Residuals | None = None
    build_seconds: float = 0.0
    solve_seconds: float = np.nan
    iterations: int | None = None
    warm_start: Any = None

    def __str__(self) -> str:
        """Format the status, the residuals, and the names of arrays with their shapes."""
        gap = "" if self.gap is None else f"; relative duality gap {self.gap:.1e}"
        iterations = "" if self.iterations is None else f"{self.iterations} iterations; "
        return "\n".join(
            [
                f"{self.status}, by {self.solver}: value {self.value:.7g}{gap}",
                "residuals not checked"
                if self.residuals is None
                else f"absolute, recomputed: {self.residuals}",
                f"variables: {_shapes(self.variables)}",
                f"duals: {_shapes(self.duals) or 'none'}",
                f"{iterations}{self.build_seconds:.3f} s to build, "
                f"{self.solve_seconds:.3f} s to solve",
                *([] if self.status == OPTIMAL else [f"Advice: {ADVICE}."]),
            ]
        )

    def with_time(self, seconds: float) -> Solution:
        """Return the solution with the solver's time, computed from the time of the whole call."""
        has_time = not math.isnan(self.solve_seconds)
        return self if has_time else replace(self, solve_seconds=seconds - self.build_seconds)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "warm_start": None}


def _shapes(arrays: Mapping[str, Any]) -> str:
    """Format names, each with its shape unless it is a number; a cone's dual has several parts."""
    parts = {
        f"{name}[{place}]" if isinstance(value, list) else name: np.shape(part)
        for name, value in arrays.items()
        for place, part in enumerate(value if isinstance(value, list) else [value])
    }
    return ", ".join(
        f"{name} ({' x '.join(map(str, shape))})" if shape else name
        for name, shape in parts.items()
    )


OptionsOf = Callable[[float], dict[str, Any]]


@dataclass(frozen=True)
class Solver:
    """Solver of programs: an entry of ``SOLVERS``, or your own for ``solver=``.

    Attributes
    ----------
    name : str
        The name users give, in capital or small letters.
    run : callable
        ``run(program, options, warm) -> Solution`` solves the program for the values that its
        parameters have.  ``warm`` is ``Solution.warm_start`` of an earlier answer, or None.
        Without a usable solution it raises, or returns a Solution with another status of CVXPY.
    options_of : callable
        ``options_of(tol)`` gives the options for a tolerance, by name.
    classes : frozenset of ProblemClass
        Classes of problem that it can solve, for general solvers.
    accepts : callable, optional
        ``accepts(structure)`` is whether it supports the structure of a program, for specialized
        solvers; None for general ones.
    known_options : frozenset of str, optional
        Options that a caller may pass in addition to the options of ``options_of``; others raise an
        ``InputError``.  With None all are passed on, and the solver refuses those that it lacks.
    time_limit : str
        The option for a limit in seconds; empty if there is none, or none is known.
    module : str
        The module that must be importable.
    package : str
        The package to ``pip install`` for the module.
    license : str
        Its license, by SPDX name if it has one.

    Examples
    --------
    Projected gradient steps for the dual SVM without a bias:

    >>> import numpy as np
    >>> from propcvx.programs import SVMDual, svm_dual, svm_dual_parameters
    >>> from propcvx.solvers import Solution, Solver, solve
    >>> def run_projected_gradient(program, options, warm):
    ...     F = program.structure.features
    ...     y, lower, upper = (program.values[name] for name in ("y", "lower", "upper"))
    ...     step, v, status = 1.0 / np.linalg.norm(F, 2) ** 2, np.zeros_like(y), "user_limit"
    ...     for iteration in range(1, options["max_iter"] + 1):
    ...         slope = F @ (F.T @ v) - y
    ...         moved = np.clip(v - step * slope, lower, upper)
    ...         if np.abs(moved - v).max() <= options["tol"] * step:
    ...             status = "optimal"
    ...             break
    ...         v = moved
    ...     duals = {"lower": np.maximum(slope, 0.0), "upper": np.maximum(-slope, 0.0)}
    ...     return Solution(status, {"v": v}, duals, iterations=iteration)
    >>> projected_gradient = Solver(
    ...     name="projected_gradient",
    ...     run=run_projected_gradient,
    ...     options_of=lambda tol: {"tol": tol, "max_iter": 100_000},
    ...     accepts=lambda structure: isinstance(structure, SVMDual) and not structure.bias,
    ... )
    >>> program = svm_dual(np.array([[-1.0, 0.5], [2.0, 1.0], [1.0, -1.0]]), bias=False)
    >>> program = program.set(**svm_dual_parameters(np.array([-1.0, 1.0, 1.0]), C=1.0))
    >>> solution = solve(program, projected_gradient, tol=1e-6)
    >>> solution.status, abs(solution.value - solve(program, "clarabel").value) < 1e-5
    ('optimal', True)
    """

    name: str
    run: Callable[[Program, dict[str, Any], Any], Solution]
    options_of: OptionsOf
    classes: frozenset[ProblemClass] = frozenset()
    accepts: Callable[[Structure], bool] | None = None
    known_options: frozenset[str] | None = frozenset()
    time_limit: str = ""
    module: str = "propcvx"
    package: str = "propcvx"
    license: str = ""

    @property
    def installed(self) -> bool:
        """Whether the solver can be imported."""
        return find_spec(self.module) is not None

    @property
    def version(self) -> str:
        """Version of the solver's package; empty if it is not installed."""
        try:
            return version(self.package)
        except PackageNotFoundError:
            return ""

    def options(
        self, tol: float, overrides: Mapping[str, Any], seconds: float = math.inf
    ) -> dict[str, Any]:
        """Return the solver's options for a tolerance and a time limit, overridden by given ones.

        Raises
        ------
        InputError
            If the solver has no option of a name that is given, or for a time limit.
        """
        options = dict(self.options_of(tol))
        if seconds < math.inf:
            if not self.time_limit:
                raise InputError(
                    f"time_limit must be omitted for solver {self.name!r}, whose option for it is "
                    f"not known; got {seconds:.3g} seconds. Pass the solver's own option, as in "
                    f"solver=[({self.name!r}, {{...}})]."
                )
            options[self.time_limit] = seconds
        if self.known_options is not None:
            known = self.known_options | options.keys()
            if unknown := sorted(overrides.keys() - known):
                raise InputError(
                    f"solver {self.name!r} has no options {unknown}"
                    f"{did_you_mean(unknown[0], known)}; it has {sorted(known)}."
                )
        return {**options, **overrides}

    def can_solve(self, program: Program) -> bool:
        """Check whether the program is of a class, or has the structure, that it solves."""
        if program.structure and self.accepts and self.accepts(program.structure):
            return True
        return program.problem_class in self.classes


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the question whether the known name nearest to an unknown name was meant."""
    nearest = get_close_matches(name, known, 1)
    return f" (did you mean {nearest[0]!r}?)" if nearest else ""


def same_tolerance(*names: str) -> OptionsOf:
    """Return a function that sets all these options to the tolerance."""
    return partial(dict.fromkeys, names)
