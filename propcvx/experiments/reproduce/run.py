"""Running a plan: cells in parallel, each kept as it ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from propcvx.experiments.reproduce.cells import Cell
from propcvx.experiments.reproduce.costs import Costs
from propcvx.experiments.reproduce.data import require
from propcvx.experiments.reproduce.evaluate import Result, run_cell
from propcvx.experiments.reproduce.methods import METHODS
from propcvx.experiments.reproduce.store import Store


@dataclass(frozen=True)
class Summary:
    """What a run did.

    Attributes
    ----------
    done : int
        Cells that it finished.
    failed : tuple of str
        Those that failed, with what went wrong.
    elsewhere : int
        Cells that another run on the same file had in hand.
    holders : tuple of str
        The runs that have cells in hand at the end.
    """

    done: int
    failed: tuple[str, ...]
    elsewhere: int
    holders: tuple[str, ...] = ()


def run_plan(
    cells: Sequence[Cell],
    file: Path,
    *,
    n_jobs: int | None = None,
    progress: bool = True,
    take_over: bool = False,
) -> Summary:
    """Run those cells of a plan that the results file does not have.

    Where and how many at once is :func:`joblib.parallel_config`'s to say.

    Parameters
    ----------
    cells : sequence of Cell
    file : Path
        The results file, made where it is not there.
    n_jobs : int, optional
        Cells at work at once.
    progress : bool
        Show a progress bar, in estimated seconds of work.
    take_over : bool
        Run cells, too, that runs on other machines have in hand, which are then taken for ended.

    Returns
    -------
    Summary

    Raises
    ------
    InputError
        If the results file cannot be used, or the file of a data set is not there and cannot be
        fetched, or what a method needs is missing; nothing has been run then, and no results file
        made.
    KeyboardInterrupt
        What had ended is kept.
    """
    for data in dict.fromkeys(cell.data for cell in cells):
        require(data)
    for method in dict.fromkeys(cell.method for cell in cells):
        METHODS[method].require()
    store = Store(file)
    if take_over:
        store.take_over()
    left, costs = store.left(cells), Costs(store.rows())
    run = store.begin_run()
    claimed, failed = 0, []
    bar = _bar(sum(costs.seconds(cell) for cell in left), progress)

    def work() -> Iterator[Any]:
        nonlocal claimed
        for cell in left:
            if store.claim(cell, run):
                claimed += 1
                yield delayed(_run)(cell)

    try:
        parallel = Parallel(
            n_jobs=n_jobs, batch_size=1, pre_dispatch="n_jobs", return_as="generator_unordered"
        )
        with bar:
            for k, (cell, result) in enumerate(parallel(work()), start=1):
                store.record(cell, result, run)
                if result.error:
                    failed.append(f"{cell.name}: {result.error}")
                bar.set_postfix_str(f"{k} of {len(left)} cells, last: {cell.name}", refresh=False)
                bar.update(costs.seconds(cell))
    finally:
        store.release(run)
    return Summary(claimed - len(failed), tuple(failed), len(left) - claimed, store.holders())


def _run(cell: Cell) -> tuple[Cell, Result]:
    """A cell on one core, whatever runs it: methods start no work of their own beside it."""
    with parallel_config(backend="sequential"), threadpool_limits(1):
        return cell, run_cell(cell)


def _bar(total: float, shown: bool) -> tqdm:
    pattern = "{percentage:3.0f}% |{bar}| {elapsed}, {remaining} left; {postfix}"
    return tqdm(total=total, bar_format=pattern, disable=not shown, mininterval=1.0)
