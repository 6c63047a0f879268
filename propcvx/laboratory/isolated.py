"""A task in a process of its own, with a limit on its time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.connection import Connection
from time import monotonic
from typing import Any

from joblib import wrap_non_picklable_objects
from threadpoolctl import threadpool_limits

Found = dict[str, Any]
Task = Callable[[], Iterable[Found]]

METHOD = "forkserver" if "forkserver" in get_all_start_methods() else "spawn"
"""How processes begin: from one that has imported this package already, where there is such."""


def run_isolated(task: Task, time_limit: float, threads: int = 1) -> Found:
    """Run a task in a new process and return all that it found.

    Parameters
    ----------
    task : callable
        ``task()`` yields what it finds, as soon as it has it.  A function of a notebook will do,
        too.
    time_limit : float
        Seconds by the clock, from when the process has imported what it needs; then it is ended.
    threads : int
        Threads of BLAS, OpenMP and Rust.

    Returns
    -------
    dict
        What the task found up to its end, the later over the earlier; ``status`` is
        ``"out of time"`` or ``"crashed"`` where it did not reach its end, with the ``reason``.
    """
    context: Any = get_context(METHOD)
    context.set_forkserver_preload(["propcvx.laboratory.solvers_command"])
    receiver, sender = context.Pipe(duplex=False)
    given = (wrap_non_picklable_objects(task), sender, threads)
    process = context.Process(target=_run, args=given, daemon=True)
    process.start()
    sender.close()
    found: Found = {}
    try:
        receiver.recv()
        end = monotonic() + time_limit
        while receiver.poll(max(0.0, end - monotonic())):
            found |= receiver.recv()
        return found | {"status": "out of time", "reason": None}
    except EOFError:
        process.join()
        if process.exitcode == 0:
            return found
        return found | {"status": "crashed", "reason": f"exit code {process.exitcode}"}
    finally:
        process.kill()
        process.join()
        receiver.close()


def _run(task: Task, sender: Connection, threads: int) -> None:
    """Run the task in this process, which ends with it."""
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    sender.send({})
    try:
        with threadpool_limits(threads):
            for found in task():
                sender.send(found)
    except Exception as error:
        sender.send({"status": "crashed", "reason": f"{type(error).__name__}: {error}"})
