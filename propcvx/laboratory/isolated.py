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

Row = dict[str, Any]
Task = Callable[[], Iterable[Row]]

METHOD = "forkserver" if "forkserver" in get_all_start_methods() else "spawn"
"""How processes start: where possible, from a process that has imported the package already."""


def run_isolated(task: Task, time_limit: float, threads: int = 1) -> Row:
    """Run a task in a new process and return what it yields.

    Parameters
    ----------
    task : callable
        ``task()`` yields columns of a row, as soon as it has them.  It may be defined in a
        notebook.
    time_limit : float
        Seconds by the clock, counted from when the process has imported the package.  Then it is
        ended.
    threads : int
        Threads of BLAS, OpenMP and Rust.

    Returns
    -------
    dict
        All columns that the task has yielded; ``status`` is ``"out of time"`` or ``"crashed"``
        where it did not reach its end, with the ``reason``.
    """
    context: Any = get_context(METHOD)
    context.set_forkserver_preload(["propcvx.laboratory.solvers"])
    receiver, sender = context.Pipe(duplex=False)
    arguments = (wrap_non_picklable_objects(task), sender, threads)
    process = context.Process(target=_run, args=arguments, daemon=True)
    process.start()
    sender.close()
    row: Row = {}
    try:
        receiver.recv()
        end = monotonic() + time_limit
        while receiver.poll(max(0.0, end - monotonic())):
            row |= receiver.recv()
        return row | {"status": "out of time", "reason": None}
    except EOFError:
        process.join()
        if process.exitcode == 0:
            return row
        return row | {"status": "crashed", "reason": f"exit code {process.exitcode}"}
    finally:
        process.kill()
        process.join()
        receiver.close()


def _run(task: Task, sender: Connection, threads: int) -> None:
    """Run the task in this process, which ends with it; the first message is that it has begun."""
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    sender.send({})
    try:
        with threadpool_limits(threads):
            for columns in task():
                sender.send(columns)
    except Exception as error:
        sender.send({"status": "crashed", "reason": f"{type(error).__name__}: {error}"})
