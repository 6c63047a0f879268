"""Running benchmarks by name: printed as they are measured, kept in a file, compared with one."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import propcvx
from propcvx.errors import InputError
from propcvx.experiments.bench.measure import Measurement, Setting
from propcvx.experiments.bench.table import BENCHMARKS

PACKAGES = ("numpy", "scipy", "cvxpy", "clarabel", "osqp", "scikit-learn")
"""Packages whose versions are kept beside the measurements."""

Ratios = Mapping[tuple[str, str], float]


def run_benchmarks(
    names: Sequence[str],
    setting: Setting,
    *,
    file: Path | None = None,
    earlier: Ratios | None = None,
) -> list[Measurement]:
    """Run benchmarks and print each measurement as soon as it is taken.

    Parameters
    ----------
    names : sequence of str
        Names in ``BENCHMARKS``.
    setting : Setting
        How much to measure.
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
    check_names(names)
    measured: list[Measurement] = []
    _write(file, measured)
    print(_HEADING if earlier is None else f"{_HEADING}  {'earlier':>9}")
    for name in names:
        for measurement in BENCHMARKS[name].run(setting):
            measured.append(measurement)
            _write(file, measured)
            print(line_of(measurement, earlier), flush=True)
    return measured


def check_names(names: Sequence[str]) -> None:
    """Raise unless there are names, all of them in the table, and they have what they need."""
    known = ", ".join(BENCHMARKS)
    if not names:
        raise InputError(f"name at least one benchmark; there are: {known}.")
    for name in names:
        if name not in BENCHMARKS:
            raise InputError(f"there is no benchmark {name!r}; there are: {known}.")
        needs = BENCHMARKS[name].needs
        if needs and find_spec(needs) is None:
            raise InputError(f"{name} needs {needs}: pip install 'propcvx[solvers]'.")


_HEADING = f"{'ratio':>9}  {'to reach':>11}  {'numerator':>12}  {'denominator':>12}"


def line_of(measurement: Measurement, earlier: Ratios | None = None) -> str:
    """What was measured on one line, and the numbers on the next."""
    bound = f"{'at least' if measurement.at_least else 'at most'} {measurement.reach:g}"
    cells = [
        f"{_number(measurement.ratio)}x" if measurement.ratio is not None else "-",
        bound,
        _milliseconds(measurement.numerator_ms),
        _milliseconds(measurement.denominator_ms),
    ]
    line = "  ".join(c.rjust(w) for c, w in zip(cells, (9, 11, 12, 12), strict=True))
    if earlier is not None:
        before = earlier.get((measurement.name, measurement.work))
        line += f"  {'-' if before is None else _number(before) + 'x':>9}"
    verdict = "reached" if measurement.reached else "not reached"
    told = [verdict] if measurement.ratio is not None else []
    told += [measurement.checked] + ([measurement.note] if measurement.note else [])
    return f"{measurement.name}: {measurement.work}\n{line}  {'; '.join(told)}"


def _number(value: float) -> str:
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def _milliseconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f} ms"


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
