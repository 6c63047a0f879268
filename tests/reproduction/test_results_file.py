"""The results file: runs that are killed or interrupted, in several processes."""

import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress

import numpy as np
import pytest
from pyarrow import parquet
from reproduction import Cell, Protocol, read_results, run_plan, unfinished
from reproduction import run as running
from reproduction.__main__ import main
from reproduction.results import appending, commit, write_parquet

from propcvx.errors import InputError

UNTUNED = Protocol().with_options(tuning="none")
PLAN = [
    Cell("blobs", "linear", 6, method, repetition, fold, UNTUNED)
    for repetition in range(2)
    for method in ("MeanMap", "InvCal")
    for fold in range(5)
]
WRONG = Cell("blobs", "linear", 6, "MeanMap", 0, 0, UNTUNED.with_options(bags="own"))
OF_THE_RUN = ["seconds", "fit_seconds", "finished", "run"]

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and signals")
how_to_stop = pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=str)


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


def begin(file):
    """Run the plan in a process of its own."""

    def work():
        with suppress(KeyboardInterrupt):
            run_plan(PLAN, file, progress=False)

    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    return process


def stop(process, number):
    os.kill(process.pid, number)
    process.join()


def n_left(file):
    return len(unfinished(PLAN, file))


# Runs that end


@posix
@how_to_stop
@pytest.mark.parametrize("n_stops", [3, pytest.param(100, marks=pytest.mark.slow)])
def test_runs_that_are_stopped_at_random_moments_are_continued(
    number, n_stops, file, uninterrupted
):
    rows, seconds = uninterrupted
    pauses, left = random.Random(n_stops), len(PLAN)
    for _ in range(n_stops):
        process = begin(file)
        time.sleep(pauses.uniform(0.0, 2.0 * seconds / n_stops))
        stop(process, number)
        assert n_left(file) <= left
        left = n_left(file)
        if not left:
            assert content(file) == rows
            file.unlink()
            left = len(PLAN)
    assert run_plan(PLAN, file, progress=False) == (left, ())
    assert content(file) == rows


def test_a_last_line_that_is_not_whole_is_dropped(file, uninterrupted):
    run_plan(PLAN[:4], file, progress=False)
    lines = file.read_bytes().splitlines(keepends=True)
    for end in (1, 5, len(lines[-1]) // 2, len(lines[-1]) - 1):
        file.write_bytes(b"".join(lines[:-1]) + lines[-1][:end])
        assert len(content(file)) == 3
        assert run_plan(PLAN[:5], file, progress=False).done == 2
        assert len(file.read_bytes().splitlines()) == 5
    keys = {cell.key for cell in PLAN[:5]}
    assert content(file) == [row for row in uninterrupted[0] if row["key"] in keys]


def test_a_failure_is_kept_and_tried_again(file):
    for attempt in (1, 2):
        done, (failed,) = run_plan([WRONG, PLAN[0]], file, progress=False)
        assert done == 2 - attempt
        assert "bags='own' needs data" in failed
    failure = read_results(file).set_index("key").loc[WRONG.key]
    assert failure["error"].startswith("InputError: bags='own'")
    assert failure[["accuracy", "validation_error", "objective"]].isna().all()
    assert not failure["chosen"]
    assert len(file.read_bytes().splitlines()) == 3
    success = {**json.loads(file.read_bytes().splitlines()[0]), "error": ""}
    with appending(file) as add:
        add(success)
    assert unfinished([WRONG, PLAN[0]], file) == []


def test_a_frame_has_what_the_lines_have_and_goes_through_parquet(file):
    protocol = Protocol().with_options(epsilons=0.1, inner_folds=2)
    cell = Cell("blobs", "linear", 6, "InvCal", 0, 0, protocol)
    run_plan([cell], file, progress=False)
    frame, line = read_results(file), json.loads(file.read_text())
    assert len(frame) == len(line["points"]) == 3
    assert frame["chosen"].sum() == 1
    expected = [point["parameters"] for point in line["points"]]
    assert list(map(json.loads, frame["parameters"])) == expected
    assert json.loads(frame["settings"][0]) == cell.settings
    assert {"numpy", "python", "processor", "command", "commit"} <= json.loads(
        frame["run"][0]
    ).keys()
    assert frame["key"].unique() == [cell.key]
    frame.loc[2, "parameters"] = '{"C": 0.1, "relaxation__max_cuts": 1}'  # has no other ones
    write_parquet(frame, file.with_suffix(".parquet"))
    compact = read_results(file.with_suffix(".parquet")).astype(frame.dtypes)
    assert np.allclose(compact.pop("objective"), frame.pop("objective"), rtol=1e-6)
    assert compact.equals(frame)
    stored = parquet.read_schema(file.with_suffix(".parquet")).field("parameters").type
    assert {field.name: str(field.type) for field in stored} == {
        "C": "double",
        "C_p": "double",
        "epsilon": "double",
        "relaxation__max_cuts": "int64",
    }


def test_of_a_cell_in_several_files_the_last_one_has_the_result(file, tmp_path):
    run_plan(PLAN[:3], file, progress=False)
    first = read_results(file)
    later = first.loc[first["key"] == PLAN[1].key].assign(accuracy=0.5)
    write_parquet(later, tmp_path / "later.parquet")
    merged = read_results(file, tmp_path / "later.parquet")
    again = merged["key"] == PLAN[1].key
    assert (merged.loc[again, "accuracy"] == 0.5).all()
    assert again.sum() == len(later)
    assert merged.loc[~again, "accuracy"].equals(first.loc[~again, "accuracy"])
    assert merged["key"].equals(first["key"])


def test_what_another_file_knows_is_not_computed_again(tmp_path, capsys):
    figure = ["run", "figure1", "--results"]
    some, rest = tmp_path / "some.jsonl", tmp_path / "rest.jsonl"
    assert main([*figure, str(some), "--methods", "InvCal,MeanMap"]) == 0
    assert main(["report", str(some), "--output", str(tmp_path / "some.parquet")]) == 0
    with pytest.raises(SystemExit):
        main([*figure, str(rest), "--known", str(tmp_path / "none")])
    assert "--known: must be a file that is there" in capsys.readouterr().err
    for known in (some, tmp_path / "some.parquet"):
        words = [*figure, str(rest), "--known", str(known)]
        assert main([*words, "--dry-run"]) == 0
        assert "4 cells, 2 to do" in capsys.readouterr().out
    assert main(words) == 0
    assert "cells done: 2, failed: 0" in capsys.readouterr().out
    all_cells = read_results(some, rest)
    assert main(["report", str(some), str(rest), "--output", str(tmp_path / "all.parquet")]) == 0
    assert list(read_results(tmp_path / "all.parquet")["key"]) == list(all_cells["key"])
    assert main([*figure, str(rest), "--known", str(tmp_path / "all.parquet"), "--dry-run"]) == 0
    assert "4 cells, 0 to do" in capsys.readouterr().out


def test_a_run_says_which_commit_it_is_of(tmp_path, monkeypatch):
    def git(*words):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True, capture_output=True)

    package = tmp_path / "package/__init__.py"
    package.parent.mkdir()
    package.write_text("")
    monkeypatch.setattr("propcvx.__file__", str(package))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert commit() == ""
    git("init")
    assert commit() == ""
    git("add", ".")
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-m", "one")
    assert len(commit()) >= 7
    monkeypatch.setenv("PATH", "")
    assert commit() == ""


@pytest.mark.parametrize(
    "text", ["somebody's notes", "somebody's notes\n", '{"name": 1}\n', "[1]\n", "\x00\xff\n"]
)
def test_a_file_of_something_else_is_refused_and_left_as_it_is(text, file):
    file.write_bytes(text.encode("latin-1"))
    for use in (lambda: run_plan(PLAN, file, progress=False), lambda: read_results(file)):
        with pytest.raises(InputError, match=r"results.jsonl cannot be used as a results file"):
            use()
    assert file.read_bytes() == text.encode("latin-1")


def test_a_file_that_cannot_be_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none.results cannot be used as a results file"):
        run_plan(PLAN, tmp_path / "none" / "results", progress=False)
    with pytest.raises(InputError, match="there is no results file"):
        read_results(tmp_path / "results")


# Where cells are run


def test_results_do_not_depend_on_the_number_of_processes(file, uninterrupted):
    run_plan(PLAN, file, n_jobs=2, progress=False)
    assert content(file) == uninterrupted[0]


def _killed(cell):
    os._exit(9)


def test_a_process_that_is_killed_ends_the_run_with_an_error(file, monkeypatch):
    monkeypatch.setattr(running, "_run", _killed)
    with pytest.raises(BrokenProcessPool):
        run_plan(PLAN, file, n_jobs=2, progress=False)
