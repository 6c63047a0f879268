"""One SQLite file of results: a row for each cell, committed as it ends.

Several runs, each a process of this machine, may work on one file.  A run claims a cell before it
is worked on; the claim of a run that is no longer alive, however it ended, does not count.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import socket
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
from threadpoolctl import threadpool_info

import propcvx
from propcvx.errors import InputError
from propcvx.experiments.reproduce.cells import Cell
from propcvx.experiments.reproduce.evaluate import Point, Result

PACKAGES = ("numpy", "scipy", "scikit-learn", "cvxpy", "clarabel", "piqp", "osqp", "joblib")
"""Packages whose versions are kept with each run."""

SCORES_KEPT = 10_000
"""Test instances up to which their decision values are kept; those of cod-rna.t would be nearly all
of a file."""

WAIT = 60.0
"""Seconds to wait for another run's commit, which takes milliseconds."""

_TABLES = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS runs (
    run INTEGER PRIMARY KEY, host TEXT, pid INTEGER, process_started REAL, started TEXT,
    environment TEXT
);
CREATE TABLE IF NOT EXISTS claims (key TEXT PRIMARY KEY, run INTEGER);
CREATE TABLE IF NOT EXISTS results (
    key TEXT PRIMARY KEY,
    data TEXT, kernel TEXT, bag_size INTEGER, method TEXT, repetition INTEGER, fold INTEGER,
    accuracy REAL, bag_error REAL, n_test INTEGER, parameters TEXT,
    accuracy_chosen_by_test REAL,
    error TEXT, warnings TEXT, split TEXT, settings TEXT, points TEXT, scores BLOB,
    seconds REAL, fit_seconds REAL, finished TEXT, run INTEGER
);
COMMIT;
"""


class Store:
    """A results file, made where it is not there.

    Parameters
    ----------
    file : Path
        The file; its folder must exist.
    read_only : bool
        Leave the file, which must be there, as it is.

    Raises
    ------
    InputError
        If it cannot be used as a results file, here or later, or is not there to be read.
    """

    def __init__(self, file: Path, *, read_only: bool = False) -> None:
        if read_only and not file.is_file():
            raise InputError(f"there is no results file {file}.")
        self.file, self.read_only = file, read_only
        with self._connected() as connection:
            if not read_only and not connection.execute("SELECT * FROM sqlite_master").fetchone():
                connection.execute("PRAGMA journal_mode = WAL")
                connection.executescript(_TABLES)
            connection.execute("SELECT key, settings, host FROM results JOIN runs USING (run)")

    def begin_run(self) -> int:
        """Note this process and its environment; the number of the run."""
        process = psutil.Process()
        row = (
            socket.gethostname(),
            process.pid,
            process.create_time(),
            _now(),
            json.dumps(environment()),
        )
        with self._connected() as connection:
            made = connection.execute(
                "INSERT INTO runs (host, pid, process_started, started, environment) "
                "VALUES (?, ?, ?, ?, ?)",
                row,
            )
            return int(made.lastrowid or 0)

    def claim(self, cell: Cell, run: int) -> bool:
        """Take a cell for a run, unless it is done or in the hands of a run that is alive."""
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            if _done(connection, cell.key) or self._held(connection, cell.key):
                return False
            connection.execute("INSERT OR REPLACE INTO claims VALUES (?, ?)", (cell.key, run))
            return True

    def release(self, run: int) -> None:
        """Give back what a run has claimed and not done."""
        with self._connected() as connection:
            connection.execute("DELETE FROM claims WHERE run = ?", (run,))

    def take_over(self) -> None:
        """Give back what runs on other machines have claimed."""
        with self._connected() as connection:
            connection.execute(
                "DELETE FROM claims WHERE run IN (SELECT run FROM runs WHERE host != ?)",
                (socket.gethostname(),),
            )

    def holders(self) -> tuple[str, ...]:
        """The runs that have cells in hand, for people."""
        with self._connected() as connection:
            found = connection.execute(
                "SELECT DISTINCT pid, host FROM claims JOIN runs USING (run) ORDER BY run"
            ).fetchall()
        return tuple(f"process {pid} on {host}" for pid, host in found)

    def record(self, cell: Cell, result: Result, run: int) -> None:
        """Keep a result, in place of an earlier failure of the same cell."""
        row = _row(cell, result) | {"finished": _now(), "run": run}
        names, marks = ", ".join(row), ", ".join("?" * len(row))
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(
                f"INSERT OR REPLACE INTO results ({names}) VALUES ({marks})", tuple(row.values())
            )
            connection.execute("DELETE FROM claims WHERE key = ?", (cell.key,))

    def left(self, cells: Sequence[Cell]) -> list[Cell]:
        """Those of some cells that are not done; a cell that failed is not."""
        with self._connected() as connection:
            done = connection.execute("SELECT key FROM results WHERE error = ''").fetchall()
        known = {key for (key,) in done}
        return [cell for cell in cells if cell.key not in known]

    def rows(self) -> list[dict[str, Any]]:
        """All results, in the order of their keys."""
        with self._connected() as connection:
            connection.row_factory = sqlite3.Row
            found = connection.execute("SELECT * FROM results ORDER BY key").fetchall()
        return [dict(row) for row in found]

    def environments(self) -> list[dict[str, Any]]:
        """What each run was made with, equal ones once."""
        with self._connected() as connection:
            found = connection.execute(
                "SELECT DISTINCT environment FROM runs WHERE run IN (SELECT run FROM results)"
            ).fetchall()
        return [json.loads(text) for (text,) in found]

    def _held(self, connection: sqlite3.Connection, key: str) -> bool:
        holder = connection.execute(
            "SELECT host, pid, process_started FROM claims JOIN runs USING (run) WHERE key = ?",
            (key,),
        ).fetchone()
        return holder is not None and _alive(*holder)

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """A connection for one transaction: those who come here are several threads."""
        try:
            with closing(self._connection()) as connection:
                connection.execute("PRAGMA synchronous = FULL")
                try:
                    yield connection
                    if connection.in_transaction:
                        connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
        except sqlite3.Error as failure:
            raise InputError(
                f"{self.file} cannot be used as a results file: {failure}; it must be one of "
                "propcvx reproduce, or a new one in a folder that is there."
            ) from failure

    def _connection(self) -> sqlite3.Connection:
        if not self.read_only:
            return sqlite3.connect(self.file, timeout=WAIT, isolation_level=None)
        address = self.file.absolute().as_uri()
        journal = self.file.with_name(f"{self.file.name}-wal")
        how = "mode=ro" if journal.exists() else "immutable=1"
        return sqlite3.connect(f"{address}?{how}", timeout=WAIT, isolation_level=None, uri=True)


def versions() -> dict[str, str]:
    """The versions that results come from."""
    return {
        "propcvx": propcvx.__version__,
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
    }


def environment() -> dict[str, str]:
    """The versions and the machine that a run is started on.

    Threads are those of this process; where it gives cells to others, each of them has one.
    """
    return {
        **versions(),
        "platform": platform.platform(),
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "BLAS threads": str(max((pool["num_threads"] for pool in threadpool_info()), default=1)),
        "command": shlex.join(["propcvx", *sys.argv[1:]]),
    }


def _processor() -> str:
    """The model, where the system tells it."""
    known = Path("/proc/cpuinfo")
    lines = known.read_text().splitlines() if known.is_file() else []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or platform.machine())


def _alive(host: str, pid: int, started: float) -> bool:
    """Whether a run's process is there; of another machine nothing is known, so it may be."""
    if host != socket.gethostname():
        return True
    try:
        process = psutil.Process(pid)
        ended = process.status() == psutil.STATUS_ZOMBIE
        return not ended and abs(process.create_time() - started) < 2.0
    except psutil.NoSuchProcess:
        return False


def _done(connection: sqlite3.Connection, key: str) -> bool:
    found = connection.execute("SELECT 1 FROM results WHERE key = ? AND error = ''", (key,))
    return found.fetchone() is not None


def _row(cell: Cell, result: Result) -> dict[str, Any]:
    """A result as its columns."""
    scores = result.scores if len(result.scores) <= SCORES_KEPT else result.scores[:0]
    chosen: Point | None = result.points[result.chosen] if result.points else None
    best = max((point.accuracy for point in result.points), default=None)
    points = [asdict(point) for point in result.points]
    for point in points:
        del point["seconds"]
    return {
        "key": cell.key,
        "data": cell.data,
        "kernel": cell.kernel,
        "bag_size": cell.bag_size,
        "method": cell.method,
        "repetition": cell.repetition,
        "fold": cell.fold,
        "accuracy": chosen and chosen.accuracy,
        "bag_error": chosen and chosen.bag_error,
        "n_test": len(result.scores),
        "parameters": json.dumps(chosen.parameters if chosen else {}, sort_keys=True),
        "accuracy_chosen_by_test": best,
        "error": result.error,
        "warnings": json.dumps(result.warnings),
        "split": result.split,
        "settings": json.dumps(cell.settings, sort_keys=True),
        "points": json.dumps(points, sort_keys=True),
        "scores": scores.astype("<f4").tobytes(),
        "seconds": result.seconds,
        "fit_seconds": chosen and chosen.seconds,
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
