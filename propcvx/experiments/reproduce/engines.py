"""Where the cells of a plan are run: processes of this machine, or workers of a Dask cluster.

An engine is a context in which :func:`joblib.parallel_config` says so; a run itself knows of none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from joblib import parallel_config

from propcvx.errors import InputError, PropCVXError
from propcvx.experiments.reproduce.store import versions

PATIENCE = 30.0
"""Seconds to wait for a scheduler to answer, and for its first worker."""

ADDRESS = re.compile(r"(tcp|tls)://.+:\d+")
"""Of a scheduler."""


class ClusterError(PropCVXError, RuntimeError):
    """Workers did not finish what they were given."""


@contextmanager
def processes() -> Iterator[None]:
    """Processes of this machine.

    Raises
    ------
    ClusterError
        If one of them was ended from outside.
    """
    try:
        with parallel_config(backend="loky", inner_max_num_threads=1):
            yield
    except BrokenProcessPool as failure:
        raise ClusterError(
            "a process at work was ended from outside, as a system does that is out of memory; the "
            "cells that had ended are kept, and the same command goes on from there, with fewer "
            "--jobs if memory is short."
        ) from failure


@contextmanager
def dask_cluster(scheduler: str) -> Iterator[None]:
    """The workers of a Dask cluster: as many cells at once as it has workers.

    A cell whose worker is lost is run again by another one.

    Parameters
    ----------
    scheduler : str
        Address of the scheduler, as ``tcp://127.0.0.1:8786``.

    Raises
    ------
    InputError
        If dask.distributed is not installed, that is no such address, nothing answers there, no
        worker comes, or a worker has several threads or other versions of packages than this
        process.
    ClusterError
        If the scheduler is lost, or a cell whose worker died again and again.
    """
    try:
        from distributed import CancelledError, Client, KilledWorker

        from propcvx.experiments.reproduce.dask_backend import TellingBackend
    except ImportError as failure:
        raise InputError(
            "engine 'dask' needs dask.distributed: pip install propcvx[dask]; engine 'processes' "
            "needs nothing more."
        ) from failure
    if not ADDRESS.fullmatch(scheduler):
        raise InputError(f"scheduler must be like 'tcp://127.0.0.1:8786', got {scheduler!r}.")
    try:
        client = Client(scheduler, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as failure:
        raise InputError(f"scheduler: nothing answers at {scheduler!r}: {failure}.") from failure
    with client:
        _check_workers(client, scheduler)
        try:
            with parallel_config(backend=TellingBackend(client=client)):
                yield
        except (KilledWorker, CancelledError) as failure:
            raise ClusterError(f"{scheduler} gave a cell up, the others are kept: {failure}") from (
                failure
            )


def _check_workers(client: Any, scheduler: str) -> None:
    """One thread each, and the versions of this process, which the results file notes of a run."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError as failure:
        raise InputError(
            f"scheduler {scheduler} has no worker: dask worker {scheduler} --nthreads 1"
        ) from failure
    if max(client.nthreads().values()) > 1:
        raise InputError(
            f"workers of scheduler {scheduler} must have one thread each, got "
            f"{client.nthreads()}: dask worker {scheduler} --nworkers N --nthreads 1"
        )
    own = versions()
    for worker, found in client.run(versions).items():
        other = [
            f"{name} {found[name]}, here {own[name]}" for name in own if found[name] != own[name]
        ]
        if other:
            raise InputError(f"scheduler: worker {worker} has other versions: {'; '.join(other)}.")
