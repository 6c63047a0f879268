"""The entries of the table of solvers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from time import perf_counter
from typing import Any

from propcvx.errors import InputError
from propcvx.programs import ProblemClass, Program, Structure
from propcvx.solvers.solution import Solution

OptionsOf = Callable[[float], dict[str, Any]]

OWN_TOL = 1e-8
"""Tolerance of a solver whose interface has no default of its own."""


@dataclass(frozen=True)
class Solver:
    """One entry of the table, or a solver of your own for ``solver=``.

    Attributes
    ----------
    name : str
        The name users give, in capital or small letters.
    run : callable
        ``run(program, options, warm) -> Solution`` solves the program for the values that its
        parameters have.  ``warm`` is ``Solution.warm_start`` of an earlier answer, or None.
    options_of : callable
        ``options_of(tol)`` gives the options for a tolerance, by name.
    classes : frozenset of ProblemClass
        Classes of problem that it can solve, for general solvers.
    accepts : callable, optional
        Whether it supports a structure, for specialized solvers.
    known_options : frozenset of str, optional
        Names of its options, others being refused; None if the solver refuses them itself.
    time_limit : str
        The option for a limit in seconds; empty if there is none, or none is known.
    module : str
        The module that must be importable.
    package : str
        The package to ``pip install`` for the module.
    license : str
        Its license, by SPDX name if it has one.
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

    def answer(self, program: Program, options: dict[str, Any], warm: Any) -> Solution:
        """Call ``run``, and add the time of the call if it reports none."""
        start = perf_counter()
        answer = self.run(program, options, warm)
        seconds = perf_counter() - start
        if not isinstance(answer, Solution) or not math.isnan(answer.solve_seconds):
            return answer
        return replace(answer, solve_seconds=seconds - answer.build_seconds)

    def options(
        self, tol: float, given: Mapping[str, Any], seconds: float = math.inf
    ) -> dict[str, Any]:
        """Return the solver's options for a tolerance and a time limit, overridden by given ones.

        Raises
        ------
        InputError
            If the solver has no option of a name that is given, or for a time limit.
        """
        chosen = dict(self.options_of(tol))
        if seconds < math.inf:
            if not self.time_limit:
                raise InputError(
                    f"no option of solver {self.name!r} for a limit of {seconds:.3g} seconds is "
                    f"known: leave time_limit out, and hand it to the solver as an option of "
                    f"its own, as in solver=[({self.name!r}, {{...}})]."
                )
            chosen[self.time_limit] = seconds
        if self.known_options is not None:
            known = self.known_options | chosen.keys()
            if unknown := sorted(given.keys() - known):
                raise InputError(
                    f"solver {self.name!r} has no options {unknown}"
                    f"{did_you_mean(unknown[0], known)}; it has {sorted(known)}."
                )
        return {**chosen, **given}

    def default_options(self) -> dict[str, Any]:
        """Return the options of the default accuracy; none if the solver has its own default."""
        return {} if self.classes else self.options_of(OWN_TOL)

    def can_solve(self, program: Program) -> bool:
        """Check whether the program is of a class, or has the structure, that it solves."""
        if program.structure and self.accepts and self.accepts(program.structure):
            return True
        return program.problem_class in self.classes


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the question whether the known name nearest to an unknown name was meant."""
    nearest = get_close_matches(name, known, 1)
    return f" (did you mean {nearest[0]!r}?)" if nearest else ""


def same(*names: str) -> OptionsOf:
    """Return a function that sets all these options to the tolerance."""
    return partial(dict.fromkeys, names)
