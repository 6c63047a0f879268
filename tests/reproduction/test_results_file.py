"""The results file: runs that are killed or interrupted, in several processes."""

import json
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
from reproduction.__main__ import main

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
def test_runs_that_are_stopped_at_random_moments_are_continued(number, file, uninterrupted):
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


def test_a_last_line_that_is_not_whole_is_dropped(file, uninterrupted):
    run_plan(PLAN[:4], file, progress=False)
    lines = file.read_bytes().splitlines(keepends=True)
    for end in (1, len(lines[-1]) // 2, len(lines[-1]) - 1):
        file.write_bytes(b"".join(lines[:-1]) + lines[-1][:end])
        assert len(content(file)) == 3
        assert run_plan(PLAN[:5], file, progress=False).done == 2
    keys = {cell.key for cell in PLAN[:5]}
    assert content(file) == [row for row in uninterrupted[0] if row["key"] in keys]


def test_parquet_round_trip_keeps_last_result(file):
    run_plan(PLAN[:3], file, progress=False)
    first, compact = read_results(file), file.with_suffix(".parquet")
    line = json.loads(file.read_text().splitlines()[0])
    assert {"numpy", "python", "processor", "command", "commit"} <= line["run"].keys()
    assert json.loads(first.set_index("key").loc[line["key"], "settings"]) == PLAN[0].settings
    write_parquet(first, compact)
    again = read_results(compact).astype(first.dtypes)
    assert np.allclose(again.pop("objective"), first.pop("objective"), rtol=1e-6)
    assert again.equals(first)
    later = read_results(file).query("key == @PLAN[1].key").assign(accuracy=0.5)
    write_parquet(later, compact)
    merged = read_results(file, compact).set_index("key")["accuracy"]
    assert merged[PLAN[1].key] == 0.5
    assert merged.drop(PLAN[1].key).equals(first.set_index("key")["accuracy"].drop(PLAN[1].key))


def test_cells_of_another_file_are_not_computed_again(tmp_path, capsys):
    some, rest, known = (tmp_path / name for name in ("some.jsonl", "rest.jsonl", "some.parquet"))
    assert main(["run", "figure1", "--results", str(some), "--methods", "InvCal,MeanMap"]) == 0
    assert main(["report", str(some), "--output", str(known)]) == 0
    words = ["run", "figure1", "--results", str(rest), "--known", str(known)]
    assert main([*words, "--dry-run"]) == 0
    assert "4 cells, 2 to do" in capsys.readouterr().out
    assert main(words) == 0
    assert "cells done: 2, failed: 0" in capsys.readouterr().out
    assert len(read_results(known, rest)) == 4


@pytest.mark.parametrize("text", ["somebody's notes", '{"name": 1}\n', "[1]\n", "\x00\xff\n"])
def test_foreign_results_file_is_refused(text, file):
    file.write_bytes(text.encode("latin-1"))
    for use in (lambda: run_plan(PLAN, file, progress=False), lambda: read_results(file)):
        with pytest.raises(InputError, match=r"results.jsonl cannot be used as a results file"):
            use()
    assert file.read_bytes() == text.encode("latin-1")
