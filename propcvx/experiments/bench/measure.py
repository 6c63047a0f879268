"""Timing two sides of a comparison in turn; no speed is given of answers that were not checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from time import process_time
from typing import Generic, TypeVar

from threadpoolctl import threadpool_limits

First = TypeVar("First")
Second = TypeVar("Second")


@dataclass(frozen=True)
class Check:
    """Whether answers are optimal, and how that is known ("duality gap 2e-13")."""

    passed: bool
    text: str


@dataclass(frozen=True)
class Measurement:
    """One ratio of times.

    Attributes
    ----------
    name : str
        The benchmark.
    work : str
        What was timed, over what.
    ratio : float or None
        Median time of the numerator over that of the denominator; None where the answers did not
        pass their check.
    reach : float
        The ratio to be reached.
    at_least : bool
        Whether the ratio should be at least ``reach``, a speed-up, or at most.
    numerator_ms, denominator_ms : float or None
        The two medians, in milliseconds of processor time; None with the ratio.
    checked : str
        How optimality was checked.
    note : str
        Anything else a reader should know, such as data that were generated.
    """

    name: str
    work: str
    ratio: float | None
    reach: float
    at_least: bool
    numerator_ms: float | None
    denominator_ms: float | None
    checked: str
    note: str = ""

    @property
    def reached(self) -> bool:
        """Whether the ratio is where it should be."""
        if self.ratio is None:
            return False
        return self.ratio >= self.reach if self.at_least else self.ratio <= self.reach


@dataclass(frozen=True)
class Setting:
    """How much to measure: ``quick`` asks for tiny sizes, which only show that it runs."""

    quick: bool = False
    repeats: int = 15


@dataclass(frozen=True)
class Benchmark:
    """One row of the table.

    Attributes
    ----------
    name, about : str
        Its name, and what it times over what.
    run : callable
        Yields each measurement as soon as it is taken.
    needs : str
        A module that has to be there and is not required by the package; "" if none.
    """

    name: str
    about: str
    run: Callable[[Setting], Iterator[Measurement]]
    needs: str = ""


@dataclass(frozen=True)
class Timing(Generic[First, Second]):
    """Median processor times in milliseconds, and the last answers of both sides."""

    first_ms: float
    second_ms: float
    first: First
    second: Second


def interleaved(
    first: Callable[[], First], second: Callable[[], Second], repeats: int
) -> Timing[First, Second]:
    """Median times of two calls made in turn, after one of each to warm up, on one BLAS thread.

    The time is that of the processor, over all threads of this process: on a machine that is busy
    with other things, the longer of two calls is interrupted more often, and elapsed time would
    count that.
    """
    times: tuple[list[float], list[float]] = ([], [])
    with threadpool_limits(limits=1):
        answers = first(), second()
        for _ in range(repeats):
            start = process_time()
            one = first()
            middle = process_time()
            other = second()
            times[1].append(process_time() - middle)
            times[0].append(middle - start)
            answers = one, other
    return Timing(1e3 * median(times[0]), 1e3 * median(times[1]), *answers)


def measure(
    name: str,
    work: str,
    first: Callable[[], First],
    second: Callable[[], Second],
    check: Callable[[First, Second], Check],
    *,
    reach: float,
    at_least: bool = False,
    repeats: int = 15,
    note: str = "",
) -> Measurement:
    """Time ``first`` over ``second``, and check the answers that were timed.

    Parameters
    ----------
    name, work, reach, at_least, note
        As in :class:`Measurement`.
    first, second : callable
        Numerator and denominator, without arguments.
    check : callable
        ``check(answer of first, answer of second)``; it may ignore a side that is not an answer,
        such as a sort that only sets the scale.
    repeats : int
        Calls of each side, after one to warm up.

    Returns
    -------
    Measurement
        Without any time where the check did not pass.
    """
    timing = interleaved(first, second, repeats)
    outcome = check(timing.first, timing.second)
    return certified(name, work, timing, outcome, reach=reach, at_least=at_least, note=note)


def certified(
    name: str,
    work: str,
    timing: Timing[First, Second],
    outcome: Check,
    *,
    reach: float,
    at_least: bool = False,
    note: str = "",
) -> Measurement:
    """The ratio of a timing, and no time of it where the check did not pass."""
    if not outcome.passed:
        checked = f"NOT CERTIFIED: {outcome.text}"
        return Measurement(name, work, None, reach, at_least, None, None, checked, note)
    times = timing.first_ms, timing.second_ms
    return Measurement(name, work, times[0] / times[1], reach, at_least, *times, outcome.text, note)


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
