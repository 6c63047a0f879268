"""Running a plan: cells in parallel, each kept as it ends."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from propcvx.errors import InputError, PropCVXError, needing
from propcvx.experiments.methods import METHODS
from propcvx.experiments.reproduce.cells import Cell
from propcvx.experiments.reproduce.data import require
from propcvx.experiments.reproduce.evaluate import run_cell
from propcvx.experiments.reproduce.results import Record, appending, unfinished, versions

PATIENCE = 30.0
"""Seconds to wait for a scheduler to answer, and for its first worker."""

Workers = Callable[[Sequence[Cell]], Iterator[tuple[Cell, Record]]]


class ClusterError(PropCVXError, RuntimeError):
    """Processes or workers did not finish what they were given."""


class Summary(NamedTuple):
    """What a run did: how many cells it finished, and those that failed, with what went wrong."""

    done: int
    failed: tuple[str, ...]


def run_plan(
    cells: Sequence[Cell],
    file: Path,
    *,
    n_jobs: int | None = None,
    scheduler: str | None = None,
    progress: bool = True,
) -> Summary:
    """Run those cells of a plan that the results file does not have.

    Parameters
    ----------
    cells : sequence of Cell
    file : Path
        The results file, made where it is not there.  One run at a time has it.
    n_jobs : int, optional
        Processes of this machine, each at work on one cell; 1 where nothing is said.
    scheduler : str, optional
        Address of the scheduler of a Dask cluster, as ``tcp://127.0.0.1:8786``, whose workers run
        the cells instead.  A cell whose worker is lost is run again by another one.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Summary

    Raises
    ------
    InputError
        If the results file or the cluster cannot be used, or the file of a data set is not there
        and cannot be fetched, or what a method needs is missing; nothing has been run then.
    ClusterError
        If a process at work was ended from outside, or the cluster gave a cell up.  What had ended
        is kept.
    KeyboardInterrupt
        What had ended is kept.
    """
    for data in dict.fromkeys(cell.data for cell in cells):
        require(data)
    for method in dict.fromkeys(cell.method for cell in cells):
        if needed := METHODS[method].require:
            needed()
    if scheduler is not None and n_jobs is not None:
        raise InputError(f"--jobs is the number of workers with a scheduler, got {n_jobs} too.")
    failed = []
    workers = _processes(n_jobs) if scheduler is None else _cluster(scheduler)
    with workers as work, appending(file) as add:
        left = unfinished(cells, file)
        with tqdm(total=len(left), unit="cell", disable=not progress) as bar:
            for cell, record in work(left):
                add(record)
                if record["error"]:
                    failed.append(f"{cell.name}: {record['error']}")
                bar.set_postfix_str(f"last: {cell.name}", refresh=False)
                bar.update()
    return Summary(len(left) - len(failed), tuple(failed))


@contextmanager
def _processes(n_jobs: int | None) -> Iterator[Workers]:
    """Processes of this machine."""
    parallel = Parallel(
        n_jobs=n_jobs, batch_size=1, pre_dispatch="n_jobs", return_as="generator_unordered"
    )
    try:
        with parallel_config(backend="loky", inner_max_num_threads=1):
            yield lambda cells: parallel(delayed(_run)(cell) for cell in cells)
    except BrokenProcessPool as failure:
        raise ClusterError(
            "a process at work was ended from outside, as a system does that is out of memory; the "
            "cells that had ended are kept, and the same command goes on from there, with fewer "
            "--jobs if memory is short."
        ) from failure


@contextmanager
def _cluster(scheduler: str) -> Iterator[Workers]:
    """The workers of a Dask cluster, with as many cells at once as it has workers.

    joblib's backend for Dask waits for ever for a cell that Dask gives up, so they are asked
    directly.
    """
    with needing("dask", "scheduler"):
        from distributed import Client, KilledWorker, as_completed
        from distributed.comm import CommClosedError
    client, failure = None, ""
    try:
        client = Client(scheduler, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        failure = str(error)
    if client is None:
        gc.collect()  # else the failed client closes itself while a later one starts: both may hang
        raise InputError(
            "scheduler must be the address of one that answers, as 'tcp://127.0.0.1:8786', got "
            f"{scheduler!r}: {failure}."
        )

    def work(cells: Sequence[Cell]) -> Iterator[tuple[Cell, Record]]:
        futures = [
            client.submit(_run, cell, pure=False, priority=-place)
            for place, cell in enumerate(cells)
        ]
        for future in as_completed(futures, loop=client.loop):
            yield future.result()

    with client:
        _check_workers(client, scheduler)
        try:
            yield work
        except (KilledWorker, CancelledError, CommClosedError) as failure:
            raise ClusterError(
                f"{scheduler} gave a cell up, the others are kept: {failure}"
            ) from failure


def _check_workers(client: Any, scheduler: str) -> None:
    """One thread each, and the versions of this process, which the results file notes of a run."""
    with suppress(TimeoutError):
        client.wait_for_workers(1, timeout=PATIENCE)
    if set(client.nthreads().values()) != {1}:
        raise InputError(
            f"scheduler {scheduler} must have workers of one thread each, got {client.nthreads()}: "
            f"dask worker {scheduler} --nworkers N --nthreads 1"
        )
    other = {name: found for name, found in client.run(versions).items() if found != versions()}
    if other:
        raise InputError(f"workers of scheduler must have {versions()}, as here, got {other}.")


def _run(cell: Cell) -> tuple[Cell, Record]:
    """A cell on one core, whatever runs it: methods start no work of their own beside it."""
    with parallel_config(backend="sequential"), threadpool_limits(1):
        return cell, run_cell(cell)
