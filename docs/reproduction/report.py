"""Results files for readers: tables beside the paper's numbers.

Tables are Markdown, of entries as :func:`reproduction.entries.entries_of` gives
them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from pandas import DataFrame, Series, isna
from shown import markdown_table, spread_text

from reproduction import entries as frames
from reproduction.experiments import EXPERIMENTS, PAPER
from reproduction.protocol import Protocol
from reproduction.results import read_results

PAIRS = [*product(PAPER[2:], PAPER[:2]), PAPER[2:]]
"""The paper's two methods against the earlier ones, and against each other."""


def report_text(*files: Path, protocol: Protocol | None = None) -> str:
    """Results beside the paper, as Markdown.

    Parameters
    ----------
    *files : Path
        Results files, as :func:`reproduction.results.read_results` takes them.
    protocol : Protocol, optional
        Results of this protocol are shown; of others, how many there are.

    Raises
    ------
    InputError
        If there is no such file.
    """
    return "\n\n".join(_parts(files, protocol)) + "\n"


def file_hash(file: Path) -> str:
    """The hash of a file, as a report has it."""
    return f"sha256 `{hashlib.sha256(file.read_bytes()).hexdigest()}`"


def rows_table(rows: Iterable[Mapping[str, Any]] | DataFrame) -> str:
    """A table of rows or of a frame; nothing if there is no row."""
    frame = DataFrame(rows)
    return markdown_table([*map(str, frame)], frame.astype(str).to_numpy()) if len(frame) else ""


def accuracy_table(entries: DataFrame) -> str:
    """Methods by bag sizes, of one data set and kernel."""
    first = entries.iloc[0]
    return by_size_table(entries, f"{first['data']}, {first['kernel']}", _accuracy_text)


def by_size_table(entries: DataFrame, corner: str, text: Callable[[Series], str]) -> str:
    """Methods by bag sizes, in the order of the entries; ``text`` writes an entry."""
    wide = entries.assign(text=entries.apply(text, axis=1))
    wide = wide.pivot(index="method", columns="bag_size", values="text").fillna("")
    wide = wide.loc[entries["method"].unique(), entries["bag_size"].unique()]
    return rows_table(wide.rename(columns=size_text).rename_axis(corner).reset_index())


def size_text(bag_size: int) -> str:
    """A bag size, as a heading."""
    return str(bag_size) if bag_size else "own bags"


def by_bag_size(entries: DataFrame) -> Mapping[str, DataFrame]:
    """Entries by the size of their bags, smallest first."""
    groups = entries.groupby("bag_size")
    return {f"bags of {size}" if size else "own bags": group for size, group in groups}


def summary_table(groups: Mapping[str, DataFrame]) -> str:
    """Each group of entries that has printed numbers, compared with them.

    The last column is the mean difference if parameters had been chosen by test accuracy.
    """
    return rows_table(
        {
            "": name,
            "fits": f"{entries['done'].sum()} of {entries['cells'].sum()}",
            "entries": len(beside),
            "difference": f"{beside['difference'].mean():+.2f}",
            "within 2 SD": (beside["side"] == "within").sum(),
            "above": (beside["side"] == "above").sum(),
            "below": (beside["side"] == "below").sum(),
            "chosen by test": f"{(beside['by test'] - beside['print']).mean():+.2f}",
        }
        for name, entries in groups.items()
        if len(beside := entries[entries["side"] != ""])
    )


def entry_table(entries: DataFrame) -> str:
    """A line for each entry, with what the tables of accuracies do not contain."""
    return rows_table(
        {
            "data": entry["data"],
            "kernel": entry["kernel"],
            "bag": size_text(entry["bag_size"]),
            "method": entry["method"],
            "repetitions": entry["repetitions"],
            "difference to print": f"{entry['difference']:+.1f}" if entry["side"] else "",
            "two printed deviations": entry["side"],
            "chosen by test": f"{entry['by test'] - entry['accuracy']:+.1f}",
            "AUC": _percent_text(entry["auc"]),
            "log loss": "" if isna(entry["log_loss"]) else f"{entry['log_loss']:.2f}",
            "explained": _percent_text(entry["explained"]),
            "seconds of the fits": f"{entry['fit_seconds']:.2f}",
        }
        for _, entry in entries.iterrows()
    )


def paired_table(tests: DataFrame) -> str:
    """Methods against each other, a line for each column of the tables."""
    tests = tests[tests.set_index(["first", "second"]).index.isin(PAIRS)]
    return rows_table(
        {"data": data, "kernel": kernel, "bag": size_text(size)}
        | dict.fromkeys(map(" - ".join, PAIRS), "")
        | {f"{test['first']} - {test['second']}": _test_text(test) for _, test in group.iterrows()}
        for (_, data, kernel, size), group in tests.groupby(frames.COLUMN, sort=False)
    )


def _parts(files: Sequence[Path], protocol: Protocol | None) -> Iterator[str]:
    """The paragraphs and tables of a report."""
    results = read_results(*files)
    once, cells = results.drop_duplicates("key"), frames.planned(EXPERIMENTS, protocol)
    # An experiment all of whose cells are in others, too, is left out.
    first, done = cells.drop_duplicates("key"), once.loc[once["error"] == "", "key"]
    shown = first.loc[first["key"].isin(done), "experiment"].unique()
    points = frames.points_of(results, cells[cells["experiment"].isin(shown)])
    entries = frames.entries_of(points)
    by_experiment = {name: entries[entries["experiment"] == name] for name in shown}
    yield "# The paper's experiments"
    usual = vars(Protocol())
    other = [f"`{n}={v!r}`" for n, v in vars(protocol or Protocol()).items() if v != usual[n]]
    yield f"Options of the protocol that are not its defaults: {', '.join(other) or 'none'}."
    if table := summary_table({EXPERIMENTS[n].about: group for n, group in by_experiment.items()}):
        yield from ("## In short", table)
    yield Path(__file__).with_name("legend.md").read_text(encoding="utf-8").rstrip()
    tests = frames.paired_tests(points)
    for name, group in by_experiment.items():
        yield from _experiment(name, group, tests[tests["experiment"] == name])
    yield from _origin(files, once, sum(~once["key"].isin(cells["key"])))


def _experiment(name: str, entries: DataFrame, tests: DataFrame) -> Iterator[str]:
    yield f"## {EXPERIMENTS[name].about}"
    yield f"Cells done: {entries['done'].sum()} of {entries['cells'].sum()}."
    done = entries[entries["repetitions"] > 0]
    for _, shown in done.groupby(["data", "kernel"], sort=False):
        yield accuracy_table(shown)
    if summary := summary_table(by_bag_size(entries)):
        yield summary
    if table := entry_table(done):
        yield from ("### Entry by entry", table)
    if table := paired_table(tests):
        yield from ("### Methods against each other", table)


def _origin(files: Sequence[Path], once: DataFrame, n_other: int) -> Iterator[str]:
    """The files and their hashes, what failed, commands, versions and machines.

    ``once`` has a row for each cell of the files, of which ``n_other`` are not in the report.
    """
    yield "## Where the results come from"
    named = ", ".join(f"{file.name}, {file_hash(file)}" for file in files)
    yield f"{named}: {len(once)} results, {n_other} of them of other options or versions."
    failed = once[once["error"] != ""]
    if len(failed):
        yield "Failed:"
        yield _verbatim(
            f"{cell['data']} {cell['kernel']} {cell['bag_size']} {cell['method']}: {cell['error']}"
            for _, cell in failed.iterrows()
        )
    runs = DataFrame(map(json.loads, once.sort_values("finished")["run"].unique()))
    if len(runs):
        yield from ("Commands:", _verbatim(runs.pop("command").unique()))
        machines = runs.drop_duplicates(ignore_index=True).fillna("not kept").T
        machines = machines.rename(columns=lambda number: f"environment {number + 1}")
        yield rows_table(machines.rename_axis("").reset_index())


def _percent_text(fraction: float) -> str:
    return "" if isna(fraction) else f"{100.0 * fraction:.0f}"


def _accuracy_text(entry: Series) -> str:
    here = spread_text(entry["accuracy"], entry["std"])
    here = f"**{here}**" if entry["best"] else here
    here += " (1)" if entry["repetitions"] == 1 else ""
    if not entry["side"]:
        return here
    paper = spread_text(entry["print"], entry["print_std"])
    return f"{here} [{paper}{', bold' if entry['bold'] else ''}]"


def _test_text(test: Series) -> str:
    text = f"{test['difference']:+.1f} (p {test['p_value']:.3f}, n {test['n_splits']})"
    return f"**{text}**" if test["p_value"] < frames.LEVEL else text


def _verbatim(lines: Iterable[str]) -> str:
    return "\n".join(["~~~~", *lines, "~~~~"])
