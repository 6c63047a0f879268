"""The results file: runs that are killed, run beside each other, or in several processes."""

import multiprocessing
import random
import sys
import time

import pytest
from joblib import parallel_config

from propcvx.experiments.reproduce import Cell, Protocol, Store, run_plan

PLAN = [
    Cell("blobs", "linear", 6, method, repetition, fold, Protocol().with_options(tuning="none"))
    for repetition in range(4)
    for method in ("MeanMap", "InvCal")
    for fold in range(5)
]
OF_THE_RUN = ("seconds", "fit_seconds", "finished", "run")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills processes by SIGKILL")


def content(file):
    """What does not depend on when and by whom it was computed."""
    return [
        {name: value for name, value in row.items() if name not in OF_THE_RUN}
        for row in Store(file).rows()
    ]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    file = tmp_path_factory.mktemp("whole") / "results"
    started = time.perf_counter()
    assert run_plan(PLAN, file, progress=False).done == len(PLAN)
    return content(file), time.perf_counter() - started


def begin(file, answers=None):
    """Run the plan in a process of its own."""

    def work():
        summary = run_plan(PLAN, file, progress=False)
        if answers is not None:
            answers.put(summary)

    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    return process


def kill_and_continue(file, n_kills, uninterrupted, seed):
    """Kill runs at random moments until so many were hit while at work; then let one finish."""
    rows, seconds = uninterrupted
    pauses, kept, kills = random.Random(seed), 0, 0
    while kills < n_kills:
        process = begin(file)
        time.sleep(pauses.uniform(0.0, 2.0 * seconds / n_kills))
        process.kill()
        process.join()
        store = Store(file)
        left = len(store.left(PLAN))
        assert len(PLAN) - left >= kept
        assert claims(store) <= 1
        kept, kills = len(PLAN) - left, kills + 1
        assert all(row in rows for row in content(file))
        if not left:
            file.unlink()
            kept = 0
    run_plan(PLAN, file, progress=False)
    assert content(file) == rows
    assert claims(Store(file)) == 0


def claims(store):
    with store._connected() as connection:
        return connection.execute("SELECT count(*) FROM claims").fetchone()[0]


def test_killed_runs_are_continued(tmp_path, uninterrupted):
    kill_and_continue(tmp_path / "results", 5, uninterrupted, seed=0)


@pytest.mark.slow
def test_runs_killed_at_a_hundred_moments_are_continued(tmp_path, uninterrupted):
    kill_and_continue(tmp_path / "results", 100, uninterrupted, seed=1)


def test_two_runs_on_one_file_share_the_work(tmp_path, uninterrupted):
    file, answers = tmp_path / "results", multiprocessing.get_context("fork").Queue()
    Store(file)
    both = [begin(file, answers) for _ in range(2)]
    summaries = [answers.get(timeout=120) for _ in both]
    for process in both:
        process.join()
    assert sum(summary.done for summary in summaries) == len(PLAN)
    assert content(file) == uninterrupted[0]


def test_a_cell_in_the_hands_of_a_run_that_lives_is_left_to_it(tmp_path, uninterrupted):
    store = Store(tmp_path / "results")
    mine = store.begin_run()
    assert store.claim(PLAN[0], mine)
    assert not store.claim(PLAN[0], store.begin_run())
    summary = run_plan(PLAN[:2], store.file, progress=False)
    assert (summary.done, summary.elsewhere) == (1, 1)
    store.release(mine)
    assert run_plan(PLAN[:2], store.file, progress=False).done == 1


def test_results_do_not_depend_on_the_number_of_processes(tmp_path, uninterrupted):
    with parallel_config(backend="loky", inner_max_num_threads=1):
        run_plan(PLAN, tmp_path / "results", n_jobs=2, progress=False)
    assert content(tmp_path / "results") == uninterrupted[0]


def test_what_was_done_is_kept_when_interrupted(tmp_path, monkeypatch, uninterrupted):
    from propcvx.experiments.reproduce import run

    begun = []

    def interrupted(cell):
        begun.append(cell)
        if len(begun) == 4:
            raise KeyboardInterrupt
        return run_cell(cell)

    run_cell = run.run_cell
    monkeypatch.setattr(run, "run_cell", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_plan(PLAN, tmp_path / "results", progress=False)
    store = Store(tmp_path / "results")
    assert len(store.left(PLAN)) == len(PLAN) - 3
    assert claims(store) == 0
