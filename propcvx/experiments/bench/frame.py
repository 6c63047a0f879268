"""The frame of all benchmarks: two sides timed in turn, and no speed without a checked answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from time import process_time
from typing import Any

from threadpoolctl import threadpool_limits


@dataclass(frozen=True)
class Check:
    """Whether answers are optimal, and how that is known ("duality gap 2e-13")."""

    passed: bool
    text: str


@dataclass(frozen=True)
class Case:
    """Two sides to be timed.

    Attributes
    ----------
    work : str
        What is timed, over what.
    first, second : callable
        Numerator and denominator of the ratio, without arguments.
    check : callable
        ``check(answer of first, answer of second)``.
    reach : float
        The ratio to be reached.
    at_least : bool
        Whether the ratio should be at least ``reach``, a speed-up, or at most.
    repeats : int
        Calls of each side that are timed at most.
    note : str
        Anything else a reader should know, such as data that were generated.
    """

    work: str
    first: Callable[[], Any]
    second: Callable[[], Any]
    check: Callable[[Any, Any], Check]
    reach: float
    at_least: bool = False
    repeats: int = 15
    note: str = ""


@dataclass(frozen=True)
class Measurement:
    """One ratio of times.

    Attributes
    ----------
    name, work, reach, at_least, note
        As in :class:`Benchmark` and :class:`Case`.
    ratio : float or None
        Median time of the first side over that of the second; None where the answers did not pass
        their check.
    first_ms, second_ms : float
        The two medians, in milliseconds of processor time.
    checked : str
        How optimality was checked.
    """

    name: str
    work: str
    ratio: float | None
    reach: float
    at_least: bool
    first_ms: float
    second_ms: float
    checked: str
    note: str = ""

    @property
    def reached(self) -> bool:
        """Whether the ratio is where it should be."""
        if self.ratio is None:
            return False
        return self.ratio >= self.reach if self.at_least else self.ratio <= self.reach


@dataclass(frozen=True)
class Benchmark:
    """One row of the table: its name, what it times over what, and its cases.

    ``cases(quick)`` yields them; quick ones are of tiny sizes and only show that they run.
    """

    name: str
    about: str
    cases: Callable[[bool], Iterator[Case]]


BENCHMARKS: dict[str, Benchmark] = {}
"""Benchmarks by name; :func:`benchmark` adds a row."""

Cases = Callable[[bool], Iterator[Case]]


def benchmark(name: str) -> Callable[[Cases], Cases]:
    """Add a function that yields cases to the table; its docstring tells what it times."""

    def add(cases: Cases) -> Cases:
        BENCHMARKS[name] = Benchmark(name, (cases.__doc__ or "").splitlines()[0], cases)
        return cases

    return add


def measure(name: str, case: Case, repeats: int) -> Measurement:
    """Time the sides of a case in turn, after one call of each, on one BLAS thread.

    The time is that of the processor, over all threads of this process: on a machine that is busy
    with other things, the longer of two calls is interrupted more often, and elapsed time would
    count that.
    """
    times: tuple[list[float], list[float]] = ([], [])
    with threadpool_limits(limits=1):
        answers = case.first(), case.second()
        for _ in range(min(repeats, case.repeats)):
            start = process_time()
            one = case.first()
            middle = process_time()
            other = case.second()
            times[1].append(process_time() - middle)
            times[0].append(middle - start)
            answers = one, other
    outcome = case.check(*answers)
    first, second = (1e3 * median(side) for side in times)
    checked = outcome.text if outcome.passed else f"NOT CERTIFIED: {outcome.text}"
    ratio = first / second if outcome.passed else None
    return Measurement(
        name, case.work, ratio, case.reach, case.at_least, first, second, checked, case.note
    )


def at_most(what: str, value: float, limit: float) -> Check:
    """Check that a residual or gap is at most a limit; NaN is not.

    Examples
    --------
    >>> at_most("duality gap", 2e-13, 1e-9)
    Check(passed=True, text='duality gap 2e-13')
    >>> at_most("duality gap", 0.25, 1e-9)
    Check(passed=False, text='duality gap 0.25, above 1e-09')
    """
    passed = bool(value <= limit)
    return Check(passed, f"{what} {value:.2g}" + ("" if passed else f", above {limit:.2g}"))
