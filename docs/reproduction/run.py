"""Running a plan: cells in parallel, each kept as it ends."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from reproduction.cells import Cell
from reproduction.data import require
from reproduction.methods import METHODS
from reproduction.results import Record, appending, unfinished
from reproduction.tasks import run_cell


class Summary(NamedTuple):
    """The number of cells that a run finished, and the failed ones with their errors."""

    done: int
    failed: tuple[str, ...]


def run_plan(
    cells: Sequence[Cell], file: Path, *, n_jobs: int | None = None, progress: bool = True
) -> Summary:
    """Run those cells of a plan that the results file does not have.

    Parameters
    ----------
    cells : sequence of Cell
    file : Path
        The results file; made if it does not exist.
    n_jobs : int, optional
        Number of processes; by default 1.
    progress : bool
        Show a progress bar.

    Raises
    ------
    InputError
        If the results file cannot be used, the file of a data set does not exist and cannot be
        fetched, or a method needs a package that is missing; nothing has been run then.
    BrokenProcessPool, KeyboardInterrupt
        If a process was killed, or the run was interrupted.  Finished cells are kept, and the same
        command continues.
    """
    for data in dict.fromkeys(cell.data for cell in cells):
        require(data)
    for method in dict.fromkeys(cell.method for cell in cells):
        if needed := METHODS[method].require:
            needed()
    failed: list[str] = []
    parallel = Parallel(
        n_jobs=n_jobs, batch_size=1, pre_dispatch="n_jobs", return_as="generator_unordered"
    )
    with appending(file) as add, parallel_config(backend="loky", inner_max_num_threads=1):
        left = unfinished(cells, file)
        done = parallel(delayed(_run)(cell) for cell in left)
        bar = tqdm(done, total=len(left), unit="cell", disable=not progress)
        for cell, record in bar:
            add(record)
            if record["error"]:
                failed.append(f"{cell.name}: {record['error']}")
                bar.set_postfix(failed=len(failed))
    return Summary(len(left) - len(failed), tuple(failed))


def _run(cell: Cell) -> tuple[Cell, Record]:
    """Run a cell on a single core: no method starts threads or processes."""
    with parallel_config(backend="sequential"), threadpool_limits(1):
        return cell, run_cell(cell)
