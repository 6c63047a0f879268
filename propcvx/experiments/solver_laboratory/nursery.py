"""A process that has imported what tasks need, and from which a process for each of them begins.

Importing CVXPY with its solvers takes seconds, a fork of a process that has it takes milliseconds.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TextIO

import psutil

Found = dict[str, Any]
Tell = Callable[[Found], None]
Task = Callable[[Tell], None]

MEGABYTE = 2**20

_IMPORT = (
    "import os, sys; answers = os.dup(1); os.dup2(2, 1); "
    "sys.modules.update(dict.fromkeys(sys.argv[1:])); "
    "from propcvx.experiments.solver_laboratory import fits, nursery, programs; "
    "nursery.serve(answers)"
)


class Nursery:
    """The process, seen from the one that asks.

    Parameters
    ----------
    without : collection of str
        Modules that cannot be imported there.
    environment : mapping
    """

    def __init__(self, without: Collection[str], environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _IMPORT, *without],
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def begin(self, folder: Path) -> int | None:
        """Number of a new process that runs the task in a folder; None where this one has ended."""
        try:
            print(folder, file=self._process.stdin, flush=True)
            return int(self._answer())
        except (OSError, ValueError):
            return None

    def exit_code(self) -> int:
        """How the process that began last has ended."""
        answer = self._answer()
        return int(answer) if answer else self._process.wait()

    def last_words(self) -> str:
        """What the nursery wrote before it ended."""
        errors: Any = self._process.stderr
        return str(errors.read())

    def close(self) -> None:
        """End it."""
        with self._process:
            self._process.kill()

    def _answer(self) -> str:
        answers: Any = self._process.stdout
        return str(answers.readline())


def serve(answers: int) -> None:
    """What the new process does: run tasks from folders named on its standard input.

    It answers with the number of each task's process and with its exit code.  Where a process
    cannot be forked, the first task is run here and is the last one.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with os.fdopen(answers, "w") as told:
        for line in iter(sys.stdin.readline, ""):
            forked = os.fork() if hasattr(os, "fork") else 0
            if forked == 0:
                _run(Path(line.rstrip("\n")), told)
            print(os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1]), file=told, flush=True)


def _run(folder: Path, told: TextIO) -> None:
    """Run the task of a folder, and end this process."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    output = os.open(folder / "output", os.O_WRONLY | os.O_CREAT)
    for stream in (1, 2):
        os.dup2(output, stream)
    print(os.getpid(), file=told, flush=True)
    code = 1
    try:
        run_here(folder)
        code = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def run_here(folder: Path) -> None:
    """Run the task of a folder, and write beside it what it tells."""
    task: Task = pickle.loads((folder / "task").read_bytes())
    found: Found = {"base_memory_mb": psutil.Process().memory_info().rss / MEGABYTE}

    def tell(more: Found) -> None:
        found.update(more, peak_memory_mb=peak_memory())
        (folder / "new").write_text(json.dumps(found))
        (folder / "new").replace(folder / "found")

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
