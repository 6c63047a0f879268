"""Comparisons by the names of data: a table each, printed, kept as JSON, and drawn."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

import propcvx
from propcvx.errors import InputError
from propcvx.experiments.laboratory.compare import Row, check_kinds, compare_relaxations
from propcvx.experiments.laboratory.data import sample_in_bags
from propcvx.experiments.tables import cell_text
from propcvx.plotting import bounds_over_time, interval_comparison
from propcvx.text import text_table

INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Problem:
    """What is compared on: random instances of a data set in random bags."""

    data: str
    instances: int
    C: float
    bag_size: int = 8
    epsilon: float = 0.0
    kernel: str = "linear"
    gamma: float | str = "scale"
    seed: int = 0

    def __str__(self) -> str:
        kernel = "" if self.kernel == "linear" else f", {self.kernel} kernel, gamma={self.gamma}"
        return (
            f"{self.data}, N={self.instances}, bags of {self.bag_size}, C={self.C:g}, "
            f"epsilon={self.epsilon:g}{kernel}"
        )

    def compare(self, kinds: str | Sequence[str], **how: Any) -> list[Row]:
        """Rows of :func:`compare_relaxations`."""
        sample = sample_in_bags(self.data, self.instances, self.bag_size, self.seed)
        return compare_relaxations(
            sample.X,
            sample.y,
            self.C,
            labels=sample.labels,
            kinds=kinds,
            epsilon=self.epsilon,
            kernel=self.kernel,
            gamma=self.gamma,
            random_state=self.seed,
            **how,
        )


@dataclass(frozen=True)
class Comparison:
    """A problem and its rows."""

    problem: Problem
    rows: list[Row]


def run_comparison(
    problems: Sequence[Problem],
    kinds: str | Sequence[str] = "all",
    *,
    time_limit: float = 60.0,
    file: Path | None = None,
    figure: Path | None = None,
    curves: Path | None = None,
) -> list[Comparison]:
    """Compare on each problem; print a table as soon as it is done.

    Parameters
    ----------
    problems : sequence of Problem
    kinds : "all" or sequence of str
        Names in ``propcvx.experiments.laboratory.KINDS``.
    time_limit : float
        Seconds for each kind.
    file : Path, optional
        Where to keep all as JSON; written again after each problem.
    figure, curves : Path, optional
        Where to draw the intervals, and the bounds against time; likewise.

    Raises
    ------
    InputError
        If an argument cannot be used.
    KeyboardInterrupt
        After Ctrl-C, when what was done is printed, kept and drawn.
    """
    done: list[Comparison] = []
    names = check_kinds(kinds)
    with tqdm(total=len(problems) * len(names), desc="kinds", leave=False) as bar:

        def on_row(row: Row) -> None:
            bar.set_postfix_str(f"last: {row['kind']}")
            bar.update()

        for problem in problems:
            done.append(
                Comparison(problem, problem.compare(kinds, time_limit=time_limit, on_row=on_row))
            )
            bar.clear()
            print(f"{problem}\n\n{table(done[-1].rows)}\n", flush=True)
            _keep(done, time_limit, file)
            _draw(done, figure, curves)
            if done[-1].rows[-1]["status"] == INTERRUPTED:
                raise KeyboardInterrupt
    return done


def table(rows: Sequence[Row]) -> str:
    """Rows as text; the reasons of those that have nothing below."""
    best = next((row["best_upper"] for row in rows if row["best_upper"] is not None), None)
    notes = [f"  {row['kind']}: {row['reason']}" for row in rows if row["reason"]]
    lines = [text_table([_cells(row) for row in rows])]
    if best is not None:
        lines.append(f"\nbest upper bound {best:.6g}; 'to best' is the gap of a lower bound to it")
    return "\n".join([*lines, *notes])


def _cells(row: Row) -> dict[str, str]:
    square = row["loss"] not in (None, "hinge")
    status = f"{row['status']}, {row['loss']} loss" if square else row["status"]
    return {
        "kind": row["kind"],
        "lower": cell_text(row["lower"], ".5g"),
        "upper": cell_text(row["upper"], ".5g"),
        "gap": cell_text(row["gap"], ".2%"),
        "to best": cell_text(row["best_gap"], ".2%"),
        "seconds": cell_text(row["seconds"], ".1f"),
        **{name: cell_text(row[name], "d") for name in ("cuts", "rounds", "nodes")},
        "bag error": cell_text(row["bag_error"], ".3f"),
        "accuracy": cell_text(row["accuracy"], ".1%"),
        "status": status,
    }


def _keep(done: Sequence[Comparison], time_limit: float, file: Path | None) -> None:
    if file is None:
        return
    content = {
        "propcvx": propcvx.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "time_limit": time_limit,
        "comparisons": [{"problem": asdict(one.problem), "rows": one.rows} for one in done],
    }
    try:
        file.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n")
    except OSError as error:
        raise InputError(f"the file for the rows cannot be written: {error}.") from error


def _draw(done: Sequence[Comparison], figure: Path | None, curves: Path | None) -> None:
    panels = [(str(one.problem), one.rows) for one in done]
    for path, draw in ((figure, interval_comparison), (curves, bounds_over_time)):
        if path is None:
            continue
        try:
            draw(panels).savefig(path, dpi=150)
        except (OSError, ValueError) as error:
            raise InputError(f"the figure cannot be written to {path}: {error}.") from error
