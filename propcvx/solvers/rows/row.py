"""What the table of solvers says of each: a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pkgutil import resolve_name
from typing import Any

from propcvx.errors import InputError
from propcvx.programs import ProblemClass, Program, Structure
from propcvx.solvers.answer import Answer
from propcvx.solvers.through_cvxpy import BACKEND, run_cvxpy

OptionsOf = Callable[[float], dict[str, Any]]

OWN_TOL = 1e-8
"""Tolerance of a solver whose interface has no default of its own."""


@dataclass(frozen=True)
class KnownFailure:
    """Something that a solver was seen to do wrong.

    Attributes
    ----------
    version : str
        The version that did.
    what : str
        What it did, to which program.
    """

    version: str
    what: str

    def __str__(self) -> str:
        """What was seen, after the version."""
        return f"{self.version}: {self.what}"


def knows_none(structure: Structure) -> bool:
    """What a solver without a special structure accepts."""
    return False


def no_threads(threads: int) -> dict[str, Any]:
    """Options for a number of threads of a solver that has one, or takes BLAS's."""
    return {}


def no_options() -> frozenset[str]:
    """Names of options of a solver whose module tells none."""
    return frozenset()


@dataclass(frozen=True)
class Solver:
    """One row of the table, or a solver of your own to hand to ``solver=``.

    Attributes
    ----------
    name : str
        The name users give, in any case.
    run : callable
        ``run(program, options, warm) -> Answer`` solves the program for the values that its
        parameters have.  ``warm`` is ``Answer.warm`` of an earlier answer, or None.
    options_of : callable
        The options that ask for a tolerance.
    classes : frozenset of ProblemClass
        Classes of problem that it can solve, for general solvers.
    accepts : callable
        Whether it knows a structure, for specialised solvers.
    known_options : frozenset of str, optional
        Names of its options, others being refused; None where the solver refuses them itself.
    option_names : callable
        Names of options for suggestions, asked where the solver itself refuses one.
    module : str
        The module that has to be importable.
    package : str
        What to ``pip install`` for that.
    licence : str
        Its licence, by SPDX name where it has one.
    limits : str
        The largest problem that it takes without a licence, for commercial solvers.
    unpublished : str
        Why its times are in no published report, where they are not.
    threads_of : callable
        The options that hold it to a number of threads; none where it has but one.
    failures : tuple of KnownFailure
        What it was seen to do wrong.
    unsafe : bool
        Whether it was seen to end the process: it is asked by its name alone, and suggested to
        nobody.
    """

    name: str
    run: Callable[[Program, dict[str, Any], Any], Answer]
    options_of: OptionsOf
    classes: frozenset[ProblemClass] = frozenset()
    accepts: Callable[[Structure], bool] = knows_none
    known_options: frozenset[str] | None = frozenset()
    option_names: Callable[[], frozenset[str]] = no_options
    module: str = "propcvx"
    package: str = "propcvx"
    licence: str = ""
    limits: str = ""
    unpublished: str = ""
    threads_of: Callable[[int], dict[str, Any]] = no_threads
    failures: tuple[KnownFailure, ...] = ()
    unsafe: bool = False

    @property
    def installed(self) -> bool:
        """Whether the solver can be imported."""
        return find_spec(self.module) is not None

    @property
    def version(self) -> str:
        """Version of the package it comes with; empty where that is not installed."""
        try:
            return version(self.package)
        except PackageNotFoundError:
            return ""

    def options(self, tol: float, given: Mapping[str, Any]) -> dict[str, Any]:
        """The solver's own options for a tolerance, with the given ones over them.

        Raises
        ------
        InputError
            If the solver has no option of a name that is given.
        """
        asked = self.options_of(tol)
        if self.known_options is not None:
            known = self.known_options | asked.keys()
            unknown = sorted(given.keys() - known)
            if unknown:
                raise InputError(
                    f"solver {self.name!r} has no options {unknown}; it has {sorted(known)}"
                    f"{self.suggestions(unknown)}."
                )
        return merged(asked, given)

    def default_options(self) -> dict[str, Any]:
        """Options of its default accuracy: none, where the solver has one itself."""
        return {} if self.classes else self.options_of(OWN_TOL)

    def suggestions(self, given: Mapping[str, Any] | list[str]) -> str:
        """For names that are not of options: which of its options may have been meant."""
        names = self.option_names() | (self.known_options or frozenset())
        names |= self.options_of(OWN_TOL).keys()
        meant = {name: get_close_matches(name, names, 1) for name in given if name not in names}
        told = [f"{name!r}: did you mean {match[0]!r}?" for name, match in meant.items() if match]
        return "; " + " ".join(told) if told else ""

    def can_solve(self, program: Program) -> bool:
        """Whether the program is of a class, or has the structure, that it solves."""
        structure = program.structure
        if structure is not None and self.accepts(structure):
            return True
        return bool(self.classes) and program.problem_class in self.classes


def merged(options: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Options with others over them; records of options inside are united likewise."""
    both = {
        name: merged(options[name], value)
        for name, value in over.items()
        if isinstance(value, Mapping) and isinstance(options.get(name), Mapping)
    }
    return {**options, **over, **both}


@dataclass(frozen=True)
class AttributesOf:
    """Names of options that are the attributes of a class, given as ``"module:class"``."""

    place: str

    def __call__(self) -> frozenset[str]:
        """The names."""
        return frozenset(name for name in dir(resolve_name(self.place)) if name[0] != "_")


@dataclass(frozen=True)
class SameOption:
    """The option of that name."""

    name: str

    def __call__(self, value: Any) -> dict[str, Any]:
        """The option with the value."""
        return {self.name: value}


@dataclass(frozen=True)
class SameTolerance:
    """All these options at the tolerance."""

    names: tuple[str, ...]

    def __call__(self, tol: float) -> dict[str, Any]:
        """The options of a tolerance."""
        return dict.fromkeys(self.names, tol)


def same(*names: str) -> OptionsOf:
    """All these options at the tolerance."""
    return SameTolerance(names)


def through_cvxpy(
    name: str,
    *classes: ProblemClass,
    options_of: OptionsOf,
    run: Callable[..., Answer] = run_cvxpy,
    known_options: frozenset[str] | None = None,
    module: str | None = None,
    package: str | None = None,
    **fields: Any,
) -> Solver:
    """Row of a solver that CVXPY reaches, by CVXPY's name in small letters."""
    module = module or name
    known = None if known_options is None else known_options | {BACKEND}
    return Solver(
        name,
        partial(run, cvxpy_name=name.upper()),
        options_of,
        frozenset(classes),
        known_options=known,
        module=module,
        package=package or module,
        **fields,
    )
