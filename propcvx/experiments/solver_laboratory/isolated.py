"""One task in a process of its own, with limits on time, memory and threads."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

import psutil
from joblib import wrap_non_picklable_objects

Found = dict[str, Any]
Tell = Callable[[Found], None]
Task = Callable[[Tell], None]

THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "RAYON_NUM_THREADS",
)
"""Variables of the environment that BLAS, OpenMP and Rust's solvers take their threads from."""

MEGABYTE = 2**20

STARTING = 300.0
"""Seconds of wall time in which a process must have imported what it needs."""

HANGING = 10.0
"""A process is ended, too, after this many times its limit in wall time: it waits for something."""

EVERY = 0.02
"""Seconds between two looks at the memory of a process."""

_CHILD = (
    "import sys; sys.modules.update(dict.fromkeys(sys.argv[2:])); "
    "from propcvx.experiments.solver_laboratory.isolated import run_here; run_here(sys.argv[1])"
)


@dataclass(frozen=True)
class Limits:
    """What a process may use.

    Attributes
    ----------
    seconds : float
        Processor time for each thread, from when it has imported what it needs: the same on a busy
        machine as on a quiet one.
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
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "task").write_bytes(pickle.dumps(wrap_non_picklable_objects(task)))
        with (folder / "output").open("wb") as output:
            process = psutil.Popen(
                [sys.executable, "-c", _CHILD, name, *without],
                env=_environment(limits.threads),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            try:
                failure, peak = _watch(process, folder / "begun", limits)
            finally:
                if process.poll() is None:
                    process.kill()
                process.wait()
        found = {"peak_memory_mb": peak, **_found(folder)}
        if not failure and process.returncode != 0:
            return Outcome("crashed", _last_words(process.returncode, folder), found)
        return Outcome(failure, "", found)


def run_here(name: str) -> None:
    """What the new process does."""
    folder = Path(name)
    task: Task = pickle.loads((folder / "task").read_bytes())
    found: Found = {"base_memory_mb": psutil.Process().memory_info().rss / MEGABYTE}

    def tell(more: Found) -> None:
        found.update(more, peak_memory_mb=peak_memory())
        (folder / "new").write_text(json.dumps(found))
        (folder / "new").replace(folder / "found")

    (folder / "begun").touch()
    task(tell)
    tell({})


def peak_memory() -> float:
    """Largest resident memory of this process so far, in megabytes."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:  # elsewhere than on Linux: as it is now, at the least
        return float(psutil.Process().memory_info().rss / MEGABYTE)
    peak = next(line for line in lines if line.startswith("VmHWM:"))
    return float(peak.split()[1]) / 1024.0


def _environment(threads: int) -> Mapping[str, str]:
    path = os.pathsep.join(part for part in sys.path if part)
    return {**os.environ, "PYTHONPATH": path, **dict.fromkeys(THREADS, str(threads))}


def _watch(process: psutil.Popen, begun: Path, limits: Limits) -> tuple[str, float]:
    """Wait for the end or a limit; which limit, and the largest memory seen."""
    peak, spent, deadline, before = 0.0, 0.0, monotonic() + STARTING, None
    while True:
        try:
            process.wait(EVERY)
            return "", peak
        except psutil.TimeoutExpired:
            resident, spent = _use(process)
            peak = max(peak, resident)
        if before is None and begun.exists():
            before, deadline = spent, monotonic() + HANGING * limits.seconds
        if peak > limits.megabytes:
            return "out of memory", peak
        over = before is not None and spent - before > limits.seconds * limits.threads
        if over or monotonic() > deadline:
            return "out of time", peak


def _use(process: psutil.Popen) -> tuple[float, float]:
    """Resident megabytes, and seconds of processor time."""
    try:
        with process.oneshot():
            times = process.cpu_times()
            return process.memory_info().rss / MEGABYTE, times.user + times.system
    except psutil.NoSuchProcess:
        return 0.0, 0.0


def _found(folder: Path) -> Found:
    file = folder / "found"
    return dict(json.loads(file.read_text())) if file.exists() else {}


def _last_words(code: int, folder: Path) -> str:
    lines = (folder / "output").read_text(errors="replace").strip().splitlines()
    return f"exit code {code}{': ' if lines else ''}{lines[-1] if lines else ''}"
