"""The paper's results, each a short function that computes it and says what it has to be.

A function returns two things that have to agree: what propcvx computes, and what the paper prints
or what is known by other means, such as trying all labelings.  Its docstring has the parts of
``PARTS`` in this order.  ``tests/project/test_paper.py`` compares the two and runs the example;
``pages.py`` makes a page of each function.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

PARTS = ("Problem", "Method", "Guaranteed", "Reference", "Example")
"""Headings of a docstring."""

MODULES = ("means", "labels", "relaxed", "preserved", "tables", "own_relaxation")
"""The files with the functions, in the order of the paper."""


@dataclass(frozen=True)
class Result:
    """A result of the paper.

    Attributes
    ----------
    printed : str
        What the paper calls it: ``"Proposition 1"``.
    function : callable
        Returns what is computed and what it has to be, and takes arguments with defaults.
    tol : float
        How far the two may be apart, relative to the largest number that is expected.
    is_bound : bool
        Whether what is computed only has to be no larger.
    agrees : bool
        False if the paper's numbers are not reached, as the docstring says.
    """

    printed: str
    function: Callable[..., tuple[Any, Any]]
    tol: float
    is_bound: bool
    agrees: bool

    def holds(self, computed: Any, expected: Any) -> bool:
        """Whether what was computed is what it has to be."""
        computed, expected = np.asarray(computed, float), np.asarray(expected, float)
        room = self.tol * np.abs(expected).max(initial=0.0)
        excess = computed - expected
        return bool(np.all((excess if self.is_bound else np.abs(excess)) <= room))


RESULTS: dict[str, Result] = {}
"""All of them, by the names of their functions."""


def result(
    printed: str, *, tol: float = 0.0, is_bound: bool = False, agrees: bool = True
) -> Callable[[Any], Any]:
    """Put a function into ``RESULTS``."""

    def register(function: Callable[..., tuple[Any, Any]]) -> Callable[..., tuple[Any, Any]]:
        RESULTS[function.__name__] = Result(printed, function, tol, is_bound, agrees)
        return function

    return register


def all_results() -> Iterator[tuple[str, Result]]:
    """The name and record of each."""
    for name in MODULES:
        import_module(f"paper.{name}")
    yield from RESULTS.items()
