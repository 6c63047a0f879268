"""Runs of the solver laboratory: a process each, its limits, and the clock."""

import os
import subprocess
import sys
import time
from functools import partial
from time import perf_counter

import numpy as np
import pytest

from propcvx.clock import now, reading
from propcvx.experiments.solver_laboratory import working_time
from propcvx.experiments.solver_laboratory.isolated import Limits, run_isolated
from propcvx.experiments.solver_laboratory.working_time import working_seconds

# The clock


def test_sleep_counts_in_full():
    start = working_seconds()
    time.sleep(0.05)
    assert working_seconds() - start >= 0.049


def test_the_work_of_another_process_counts_in_full():
    work = "import time\nwhile time.process_time() < 0.2: pass"
    start = working_seconds()
    subprocess.run([sys.executable, "-c", work], check=True)
    assert working_seconds() - start >= 0.19


def test_waiting_for_a_processor_does_not_count(tmp_path, monkeypatch):
    told = tmp_path / "schedstat"
    told.write_text("7000000000 2000000000 3\n")
    monkeypatch.setattr(working_time, "SCHEDULED", told)
    assert working_seconds() == pytest.approx(perf_counter() - 2.0, abs=0.5)
    monkeypatch.setattr(working_time, "SCHEDULED", tmp_path / "nothing")
    assert working_seconds() == pytest.approx(perf_counter(), abs=0.5)


def test_solvers_read_another_clock_while_asked_to():
    with reading(lambda: 3.0):
        assert now() == 3.0
    assert now() != 3.0


# A process and its limits


def test_a_process_tells_what_it_found():
    outcome = run_isolated(partial(_tell_threads), Limits(threads=3))
    assert (outcome.failure, outcome.reason) == ("", "")
    assert outcome.found["threads"] == "3"


def _tell_threads(tell):
    tell({"threads": os.environ["OMP_NUM_THREADS"]})


@pytest.mark.parametrize("how", ["works", "waits"])
def test_a_process_that_runs_over_is_ended_and_keeps_what_it_told(how):
    def task(tell):
        tell({"known": 1})
        while how == "works":
            pass
        time.sleep(600)

    outcome = run_isolated(task, Limits(seconds=0.5))
    assert outcome.failure == "out of time"
    assert outcome.found["known"] == 1


def test_a_process_that_takes_too_much_memory_is_ended():
    def task(tell):
        hold = np.ones((1500, 2**17))  # 1.5 GB
        time.sleep(60)
        tell({"size": hold.size})

    outcome = run_isolated(task, Limits(seconds=50, megabytes=1000))
    assert outcome.failure == "out of memory"
    assert outcome.found["peak_memory_mb"] > 1000


@pytest.mark.parametrize("how", ["raises", "aborts"])
def test_a_process_that_crashes_says_its_last_words(how):
    def task(tell):
        tell({"known": 1})
        if how == "raises":
            raise ZeroDivisionError("on purpose")
        os.abort()

    outcome = run_isolated(task, Limits())
    assert outcome.failure == "crashed"
    assert ("on purpose" if how == "raises" else "exit code -6") in outcome.reason
    assert outcome.found["known"] == 1


def test_other_solvers_cannot_be_imported_there():
    def task(tell):
        try:
            import scs
        except ImportError:
            tell({"scs": "blocked"})
        else:
            tell({"scs": scs.__version__})

    assert run_isolated(task, Limits(), ["scs"]).found["scs"] == "blocked"
    assert run_isolated(task, Limits()).found["scs"] != "blocked"


def test_a_process_that_cannot_begin_is_a_crash():
    outcome = run_isolated(partial(_tell_threads), Limits(), ["psutil"])
    assert outcome.failure == "crashed"
    assert "psutil" in outcome.reason
    assert run_isolated(partial(_tell_threads), Limits()).found["threads"] == "1"


def test_what_a_solver_prints_does_not_disturb():
    def task(tell):
        os.write(1, b"123\n")
        tell({"known": 1})

    for _ in range(2):
        assert run_isolated(task, Limits()).found["known"] == 1
