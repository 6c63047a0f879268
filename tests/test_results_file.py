"""The results file: runs that are killed, run beside each other, or in several processes."""

import json
import multiprocessing
import random
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import numpy as np
import psutil
import pytest

from propcvx.cli import main
from propcvx.errors import InputError
from propcvx.experiments.reproduce import Cell, Protocol, Store, run_plan
from propcvx.experiments.reproduce.engines import ClusterError, dask_cluster, processes
from propcvx.experiments.reproduce.evaluate import Point, Result
from propcvx.experiments.reproduce.store import SCORES_KEPT

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


def test_a_run_that_has_ended_and_was_not_waited_for_holds_nothing(tmp_path):
    """Its process is still listed."""
    store = Store(tmp_path / "results")
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    claim_as(store, process.pid, socket.gethostname())
    assert not store.claim(PLAN[0], store.begin_run())
    process.stdin.close()
    until(lambda: psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE)
    assert store.claim(PLAN[0], store.begin_run())
    process.wait()


def test_cells_of_a_machine_that_is_gone_are_taken_over(tmp_path):
    store = Store(tmp_path / "results")
    claim_as(store, 1, "gone")
    summary = run_plan(PLAN[:1], store.file, progress=False)
    assert (summary.done, summary.elsewhere) == (0, 1)
    assert summary.holders == ("process 1 on gone",)
    assert run_plan(PLAN[:1], store.file, progress=False, take_over=True).done == 1


def claim_as(store, pid, host):
    """The first cell of the plan in the hands of a run of that process."""
    run = store.begin_run()
    with store._connected() as connection:
        connection.execute(
            "UPDATE runs SET pid = ?, host = ?, process_started = ? WHERE run = ?",
            (pid, host, psutil.Process(pid).create_time(), run),
        )
    assert store.claim(PLAN[0], run)


def test_results_do_not_depend_on_the_number_of_processes(tmp_path, uninterrupted):
    with processes():
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


@contextmanager
def cluster(folder, n_workers=2, *worker_options):
    """A scheduler on loopback and its workers, each a process; the address, and the workers."""
    pytest.importorskip("distributed")
    file, common = folder / "scheduler", ("--scheduler-file", str(folder / "scheduler"))

    def start(*words):
        return subprocess.Popen([sys.executable, "-m", "dask", *words], stderr=subprocess.DEVNULL)

    started = [start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", *common)]
    try:
        options = worker_options or ("--no-nanny", "--nthreads", "1")
        started += [start("worker", *common, "--no-dashboard", *options) for _ in range(n_workers)]
        yield until(lambda: address_in(file)), started[1:]
    finally:
        for process in reversed(started):  # workers first: without a scheduler they wait for it
            process.terminate()
        for process in started:
            stop(process)


def stop(process):
    """A process that was told to end is killed where it does not."""
    try:
        process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def address_in(file):
    with suppress(OSError, ValueError):
        return json.loads(file.read_text())["address"]


def until(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not (met := condition()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return met


@contextmanager
def meanwhile(act):
    """Act in another thread; what goes wrong there goes wrong here."""
    with ThreadPoolExecutor(1) as pool:
        acting = pool.submit(act)
        yield
        acting.result()


def test_a_cluster_that_loses_a_worker_has_the_results_of_processes(tmp_path, uninterrupted):
    store, cells = Store(tmp_path / "results"), PLAN[:16]

    def kill_one(worker):
        until(lambda: len(store.left(cells)) <= len(cells) - 4)
        worker.kill()
        assert store.left(cells)

    with (
        cluster(tmp_path) as (address, workers),
        dask_cluster(address),
        meanwhile(lambda: kill_one(workers[0])),
    ):
        summary = run_plan(cells, store.file, progress=False)
        workers[0].wait(timeout=30)
        assert [worker.poll() for worker in workers] == [-signal.SIGKILL, None]
    assert (summary.done, summary.failed) == (len(cells), ())
    keys = {cell.key for cell in cells}
    assert content(store.file) == [row for row in uninterrupted[0] if row["key"] in keys]
    assert claims(store) == 0


@pytest.mark.slow
def test_a_cluster_whose_workers_die_again_and_again_finishes(tmp_path, uninterrupted):
    """Their nannies start them again."""
    store, random_moments = Store(tmp_path / "results"), random.Random(0)

    def kill_ten(nannies):
        for k in range(1, 11):
            until(lambda k=k: len(store.left(PLAN)) <= len(PLAN) - 3 * k)
            time.sleep(random_moments.uniform(0.0, 0.2))
            nanny = psutil.Process(nannies[k % 2].pid)
            max(until(nanny.children), key=lambda child: child.memory_info().rss).kill()

    with (
        cluster(tmp_path, 2, "--nthreads", "1") as (address, nannies),
        dask_cluster(address),
        meanwhile(lambda: kill_ten(nannies)),
    ):
        run_plan(PLAN, store.file, progress=False)
    assert content(store.file) == uninterrupted[0]
    assert claims(store) == 0


@pytest.mark.slow
def test_a_scheduler_that_is_lost_ends_the_run_and_not_its_results(tmp_path, uninterrupted):
    store = Store(tmp_path / "results")

    def kill_scheduler():
        until(lambda: len(store.left(PLAN)) <= len(PLAN) - 5)
        children = psutil.Process().children()
        next(child for child in children if "scheduler" in child.cmdline()).kill()

    with (
        cluster(tmp_path) as (address, _),
        pytest.raises(ClusterError, match="the others are kept"),
        dask_cluster(address),
        meanwhile(kill_scheduler),
    ):
        run_plan(PLAN, store.file, progress=False)
    left = len(store.left(PLAN))
    assert 0 < left <= len(PLAN) - 5
    assert claims(store) == 0
    assert run_plan(PLAN, store.file, progress=False).done == left
    assert content(store.file) == uninterrupted[0]


def test_workers_of_several_threads_are_refused(tmp_path):
    with cluster(tmp_path, 1, "--no-nanny", "--nthreads", "2") as (address, _):
        words = ["reproduce", "figure1", "--results", str(tmp_path / "results")]
        with pytest.raises(SystemExit):
            main([*words, "--engine", "dask", "--scheduler", address])
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--engine", "dask"], "--engine dask needs --scheduler"),
        (
            ["--engine", "dask", "--scheduler", "tcp://127.0.0.1:1", "--jobs", "2"],
            "has --jobs from",
        ),
        (["--scheduler", "tcp://127.0.0.1:1"], "--scheduler is of --engine dask only"),
        (["--engine", "threads"], "invalid choice: 'threads'"),
    ],
)
def test_engines_are_told_what_they_need(tmp_path, capsys, words, message):
    with pytest.raises(SystemExit):
        main(["reproduce", "figure1", "--results", str(tmp_path / "results"), *words])
    assert message in capsys.readouterr().err


def test_without_dask_it_is_said_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    told = r"pip install propcvx\[dask\]; engine 'processes' needs"
    with pytest.raises(InputError, match=told), dask_cluster("tcp://127.0.0.1:1"):
        pass


def test_an_address_where_nothing_answers_is_named(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("propcvx.experiments.reproduce.engines.PATIENCE", 0.3)
    for address, told in (
        ("tcp://127.0.0.1:1", "nothing answers at 'tcp://127.0.0.1:1'"),
        ("127.0.0.1", "scheduler must be like 'tcp://127.0.0.1:8786', got '127.0.0.1'"),
        ("nowhere at all", "scheduler must be like .* got 'nowhere at all'"),
    ):
        with pytest.raises(InputError, match=told), dask_cluster(address):
            pass


def test_decision_values_are_kept_up_to_a_size(tmp_path):
    store = Store(tmp_path / "results")
    run, point = store.begin_run(), Point({}, 0.0, 0.5, 0.1, None, 0.2)
    for cell, n in zip(PLAN, (SCORES_KEPT, SCORES_KEPT + 1), strict=False):
        store.record(cell, Result((point,), 0, np.zeros(n), "split", 2.0), run)
    sizes = {row["n_test"]: len(row["scores"]) // 4 for row in store.rows()}
    assert sizes == {SCORES_KEPT: SCORES_KEPT, SCORES_KEPT + 1: 0}
