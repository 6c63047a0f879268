"""The results file: runs that are killed or interrupted, in several processes."""

import multiprocessing
import os
import random
import signal
import sys
import time
from contextlib import suppress

import numpy as np
import pytest
from reproduction import Cell, Protocol, read_results, run_plan, unfinished, write_parquet

from propcvx.errors import InputError

UNTUNED = Protocol().with_options(tuning="none")
PLAN = [
    Cell("blobs", "linear", 6, method, repetition, fold, UNTUNED)
    for repetition in range(2)
    for method in ("MeanMap", "InvCal")
    for fold in range(5)
]
OF_THE_RUN = ["seconds", "fit_seconds", "finished", "run"]


def content(file):
    """What does not depend on when and by whom it was computed."""
    rows = read_results(file).drop(columns=OF_THE_RUN).astype(object)
    return rows.where(rows.notna(), None).to_dict("records")


@pytest.fixture
def file(tmp_path):
    return tmp_path / "results.jsonl"


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """What a run finds, and the seconds it takes."""
    file, start = tmp_path_factory.mktemp("whole") / "results.jsonl", time.perf_counter()
    assert run_plan(PLAN, file, progress=False) == (len(PLAN), ())
    return content(file), time.perf_counter() - start


def run_until_stopped(file):
    with suppress(KeyboardInterrupt):
        run_plan(PLAN, file, progress=False)


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and signals")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=str)
def test_run_stopped_at_random_moments_continues(number, file, uninterrupted):
    rows, seconds = uninterrupted
    pauses, left = random.Random(3), len(PLAN)
    for _ in range(3):
        context = multiprocessing.get_context("fork")
        process = context.Process(target=run_until_stopped, args=[file])
        process.start()
        time.sleep(pauses.uniform(0.0, 0.7 * seconds))
        os.kill(process.pid, number)
        process.join()
        assert len(unfinished(PLAN, file)) <= left
        left = len(unfinished(PLAN, file))
    assert run_plan(PLAN, file, n_jobs=2, progress=False) == (left, ())
    assert content(file) == rows


def test_incomplete_last_line_is_computed_again(file, uninterrupted):
    run_plan(PLAN[:4], file, progress=False)
    lines = file.read_bytes().splitlines(keepends=True)
    for end in (1, len(lines[-1]) // 2, len(lines[-1]) - 1):
        file.write_bytes(b"".join(lines[:-1]) + lines[-1][:end])
        assert len(content(file)) == 3
        assert run_plan(PLAN[:5], file, progress=False).done == 2
    keys = {cell.key for cell in PLAN[:5]}
    assert content(file) == [row for row in uninterrupted[0] if row["key"] in keys]


def test_parquet_round_trip_keeps_results(file):
    run_plan(PLAN[:3], file, progress=False)
    first, compact = read_results(file), file.with_suffix(".parquet")
    write_parquet(first, compact)
    again = read_results(compact).astype(first.dtypes)
    assert np.allclose(again.pop("objective"), first.pop("objective"), rtol=1e-6)
    assert again.equals(first)


@pytest.mark.parametrize("text", ["somebody's notes", '{"name": 1}\n', "\x00\xff\n"])
def test_foreign_results_file_raises(text, file):
    file.write_bytes(text.encode("latin-1"))
    for use in (lambda: run_plan(PLAN, file, progress=False), lambda: read_results(file)):
        with pytest.raises(InputError, match=r"results.jsonl cannot be used as a results file"):
            use()
    assert file.read_bytes() == text.encode("latin-1")
