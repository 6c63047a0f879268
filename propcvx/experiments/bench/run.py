"""Running benchmarks by name: printed as they are measured, kept in a file, compared with one."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import propcvx
from propcvx.errors import InputError
from propcvx.experiments.bench.frame import BENCHMARKS, Measurement, measure

PACKAGES = ("numpy", "scipy", "cvxpy", "clarabel", "piqp", "scikit-learn")
"""Packages whose versions are kept beside the measurements."""

Ratios = Mapping[tuple[str, str], float]


def run_benchmarks(
    names: Sequence[str],
    *,
    quick: bool = False,
    repeats: int = 15,
    file: Path | None = None,
    earlier: Ratios | None = None,
) -> list[Measurement]:
    """Run benchmarks and print each measurement as soon as it is taken.

    Parameters
    ----------
    names : sequence of str
        Names in ``BENCHMARKS``.
    quick : bool
        Tiny sizes, which only show that it runs.
    repeats : int
        Calls of each side that are timed, at most.
    file : Path, optional
        Where to keep the measurements, as JSON; written again after each of them, so that an
        interrupted run keeps what it had.
    earlier : mapping of (name, work) to ratio, optional
        Ratios of an earlier run, printed beside those of this one; see :func:`compare_with`.

    Raises
    ------
    InputError
        If a name is not in the table, or the file cannot be written; before anything is measured.
    """
    if not names or not set(names) <= BENCHMARKS.keys():
        raise InputError(
            f"names must be those of benchmarks, {', '.join(BENCHMARKS)}; got {list(names)}."
        )
    measured: list[Measurement] = []
    _write(file, measured)
    for name in names:
        for case in BENCHMARKS[name].cases(quick):
            measured.append(measure(name, case, repeats))
            _write(file, measured)
            print(text_of(measured[-1], earlier), flush=True)
    return measured


def text_of(one: Measurement, earlier: Ratios | None = None) -> str:
    """A measurement in three lines: what was timed, the ratio, and how the answers were checked."""
    bound = f"{'at least' if one.at_least else 'at most'} {one.reach:g}"
    before = (earlier or {}).get((one.name, one.work))
    compared = "" if before is None else f", earlier {before:.3g}"
    ratio = "no ratio" if one.ratio is None else f"{one.ratio:.3g}"
    verdict = "reached" if one.reached else "not reached"
    times = f"{one.first_ms:.3g} ms / {one.second_ms:.3g} ms"
    note = f" ({one.note})" if one.note else ""
    return (
        f"{one.name}: {one.work}\n    {ratio}{compared}; {bound}: {verdict}; {times}\n"
        f"    {one.checked}{note}"
    )


def _write(file: Path | None, measured: Sequence[Measurement]) -> None:
    if file is None:
        return
    content = {
        "propcvx": propcvx.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "packages": {name: version(name) for name in PACKAGES},
        "measurements": [asdict(measurement) for measurement in measured],
    }
    try:
        file.write_text(json.dumps(content, indent=1) + "\n")
    except OSError as error:
        raise InputError(f"the file for the measurements cannot be written: {error}.") from error


def compare_with(file: Path) -> Ratios:
    """Ratios that an earlier run wrote, by name and work.

    Raises
    ------
    InputError
        If the file cannot be read, or holds something else.
    """
    try:
        measurements: list[dict[str, Any]] = json.loads(file.read_text())["measurements"]
        return {(m["name"], m["work"]): m["ratio"] for m in measurements if m["ratio"] is not None}
    except OSError as error:
        raise InputError(f"the file to compare with cannot be read: {error}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{file} is not a file that 'propcvx bench --json' wrote: {error!r}."
        ) from error
