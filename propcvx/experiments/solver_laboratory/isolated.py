"""One task in a process of its own, with limits on time, memory and threads."""

from __future__ import annotations

import atexit
import json
import os
import pickle
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

import psutil
from joblib import wrap_non_picklable_objects

from propcvx.experiments.solver_laboratory.nursery import MEGABYTE, Found, Nursery, Task

THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "RAYON_NUM_THREADS",
)
"""Variables of the environment that BLAS, OpenMP and Rust's solvers take their threads from."""

HANGING = 10.0
"""A process is ended, too, after this many times its limit in wall time: it waits for something."""

EVERY = 0.02
"""Seconds between two looks at the memory of a process."""


@dataclass(frozen=True)
class Limits:
    """What a process may use.

    Attributes
    ----------
    seconds : float
        Processor time for each thread: the same on a busy machine as on a quiet one.
    megabytes : float
        Resident memory, all of the process.
    threads : int
        Threads of BLAS, OpenMP and Rust.
    """

    seconds: float = 60.0
    megabytes: float = 8192.0
    threads: int = 1


@dataclass(frozen=True)
class Outcome:
    """How a process ended.

    Attributes
    ----------
    failure : str
        ``"out of time"``, ``"out of memory"``, ``"crashed"``, or empty where it came to its end.
    reason : str
        More about a failure.
    found : dict
        What the task told, up to its end.
    """

    failure: str
    reason: str
    found: Found


_IDLE: dict[tuple[frozenset[str], int], Nursery] = {}
"""The nursery of the last task, kept for the next one."""


def run_isolated(task: Task, limits: Limits, without: Collection[str] = ()) -> Outcome:
    """Run ``task(tell)`` in a new process and return what it told.

    Parameters
    ----------
    task : callable
        Functions of the main module and of notebooks will do, too.
    limits : Limits
    without : collection of str
        Modules that cannot be imported there.  CVXPY imports every solver it finds, and several of
        them in one process are known to end it.
    """
    with _nursery(without, limits.threads) as nursery, TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "task").write_bytes(pickle.dumps(wrap_non_picklable_objects(task)))
        number = nursery.begin(folder)
        if number is None:
            return Outcome("crashed", _last_line(nursery.last_words()), {})
        failure, peak = _watch(number, limits)
        found, code = {"peak_memory_mb": peak, **_found(folder)}, nursery.exit_code()
        if not failure and code != 0:
            output = (folder / "output").read_text(errors="replace")
            return Outcome("crashed", ": ".join([f"exit code {code}", _last_line(output)]), found)
        return Outcome(failure, "", found)


@contextmanager
def _nursery(without: Collection[str], threads: int) -> Iterator[Nursery]:
    """The last one, where it can be used again; it is kept unless something goes wrong."""
    key = frozenset(without), threads
    nursery = _IDLE.pop(key, None) or Nursery(sorted(without), _environment(threads))
    try:
        yield nursery
    except BaseException:
        nursery.close()
        raise
    end_idle()
    _IDLE[key] = nursery


@atexit.register
def end_idle() -> None:
    """End the process that waits for another task."""
    while _IDLE:
        _IDLE.popitem()[1].close()


def _environment(threads: int) -> Mapping[str, str]:
    path = os.pathsep.join(part for part in sys.path if part)
    return {**os.environ, "PYTHONPATH": path, **dict.fromkeys(THREADS, str(threads))}


def _watch(number: int, limits: Limits) -> tuple[str, float]:
    """Wait for the end of a process or a limit; which limit, and the largest memory seen."""
    peak, deadline = 0.0, monotonic() + HANGING * limits.seconds
    with suppress(psutil.NoSuchProcess), _ended(number) as process:
        while True:
            with suppress(psutil.TimeoutExpired):
                process.wait(EVERY)
                break
            with process.oneshot():
                times, resident = process.cpu_times(), process.memory_info().rss / MEGABYTE
            peak = max(peak, resident)
            if peak > limits.megabytes:
                return "out of memory", peak
            if (
                times.user + times.system > limits.seconds * limits.threads
                or monotonic() > deadline
            ):
                return "out of time", peak
    return "", peak


@contextmanager
def _ended(number: int) -> Iterator[psutil.Process]:
    """A process by its number, which is ended in the end, whatever happens."""
    process = psutil.Process(number)
    try:
        yield process
    finally:
        process.kill()


def _found(folder: Path) -> Found:
    file = folder / "found"
    return dict(json.loads(file.read_text())) if file.exists() else {}


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it said nothing"])[-1]
