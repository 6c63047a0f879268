"""The clock that solvers read; that on the wall, unless something else is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter

_CLOCK: ContextVar[Callable[[], float]] = ContextVar("clock", default=perf_counter)


def now() -> float:
    """Seconds from some beginning."""
    return _CLOCK.get()()


@contextmanager
def reading(clock: Callable[[], float]) -> Iterator[None]:
    """Have ``now`` read another clock meanwhile.

    Examples
    --------
    >>> with reading(lambda: 3.0):
    ...     now()
    3.0
    """
    before = _CLOCK.set(clock)
    try:
        yield
    finally:
        _CLOCK.reset(before)
