"""A results file as Markdown: every table beside the paper's, entry by entry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from propcvx.errors import InputError
from propcvx.experiments.reproduce.entries import Entry, entries_of
from propcvx.experiments.reproduce.experiments import EXPERIMENTS, plan
from propcvx.experiments.reproduce.protocol import Protocol
from propcvx.experiments.reproduce.splits import compared
from propcvx.experiments.reproduce.store import Store

LEGEND = """\
Accuracy in percent: mean and standard deviation over repetitions, in brackets what the paper
prints, bold where it has bold. An entry is shown when all folds of a repetition are done; (1) is
one repetition, without a deviation of its own."""


def report(file: Path, protocol: Protocol | None = None) -> str:
    """A results file as Markdown.

    Parameters
    ----------
    file : Path
        A results file.
    protocol : Protocol, optional
        Results of this protocol are shown; of others, how many there are.

    Raises
    ------
    InputError
        If there is no such file.
    """
    if not file.is_file():
        raise InputError(f"there is no results file {file}.")
    store = Store(file)
    rows, shown, parts = store.rows(), set(), []
    for name, experiment in EXPERIMENTS.items():
        cells = plan(name, protocol)
        entries = entries_of(name, cells, rows)
        shown |= {cell.key for cell in cells}
        if any(entry.n_done for entry in entries):
            parts.append(f"## {experiment.about}\n\n{_experiment(name, entries)}")
    other = sum(row["key"] not in shown for row in rows)
    failed = [row for row in rows if row["error"]]
    parts.append(_footer(store, len(rows), other, failed))
    fixed, same = compared(rows)
    if fixed:
        parts.append(f"Splits of the benchmark that are fixed by hash: {fixed}, the same: {same}.")
    return "\n\n".join(["# The paper's experiments", LEGEND, *parts]) + "\n"


def _experiment(name: str, entries: Sequence[Entry]) -> str:
    done = [entry for entry in entries if entry.accuracies]
    parts = [f"{sum(e.n_done for e in entries)} of {sum(e.n_cells for e in entries)} cells done."]
    parts += list(_tables(done))
    if name == "timing":
        parts.append(_times(done))
    if any(entry.paper for entry in done):
        parts += [_agreement(done), _beside(done)]
    return "\n\n".join(parts)


def _tables(entries: Sequence[Entry]) -> Iterator[str]:
    """For each data set and kernel, methods by bag sizes."""
    for data, kernel in dict.fromkeys((entry.data, entry.kernel) for entry in entries):
        group = [entry for entry in entries if (entry.data, entry.kernel) == (data, kernel)]
        sizes = list(dict.fromkeys(entry.bag_size for entry in group))
        methods = dict.fromkeys(entry.method for entry in group)
        cells = {(entry.method, entry.bag_size): _cell(entry) for entry in group}
        head = [f"{data}, {kernel}", *(str(size) if size else "own bags" for size in sizes)]
        yield _table(
            head,
            [[method, *(cells.get((method, size), "") for size in sizes)] for method in methods],
        )


def _cell(entry: Entry) -> str:
    own = _spread(entry.mean, entry.std) + (" (1)" if len(entry.accuracies) == 1 else "")
    if entry.paper is None:
        return own
    theirs = _spread(entry.paper.accuracy, entry.paper.std)
    return f"{own} [{f'**{theirs}**' if entry.paper.bold else theirs}]"


def _spread(mean: float, std: float) -> str:
    return f"{mean:.1f}" if np.isnan(std) else f"{mean:.1f} +- {std:.1f}"


def _agreement(entries: Sequence[Entry]) -> str:
    """How many entries agree with print."""
    beside = [entry for entry in entries if entry.paper]
    within_errors = sum(abs(e.difference) <= 2 * e.standard_error for e in beside)
    within_deviations = sum(abs(e.difference) <= 2 * e.deviation for e in beside)
    not_below = sum(e.difference >= -2.5 for e in beside)
    return (
        f"Of {len(beside)} entries beside print, {within_errors} lie within two combined standard "
        f"errors and {within_deviations} within two combined standard deviations; {not_below} lie "
        f"within 2.5 points of print or above it. Mean difference "
        f"{np.mean([e.difference for e in beside]):+.2f} points."
    )


def _beside(entries: Sequence[Entry]) -> str:
    """Every entry on a line of its own."""
    head = ["data", "kernel", "bag", "method", "repetitions", "ours", "paper", "difference"]
    head += ["standard error", "within two", "chosen by test"]
    rows = [
        [
            entry.data,
            entry.kernel,
            str(entry.bag_size or "own"),
            entry.method,
            str(len(entry.accuracies)),
            _spread(entry.mean, entry.std),
            _spread(entry.paper.accuracy, entry.paper.std),
            f"{entry.difference:+.1f}",
            f"{entry.standard_error:.2f}",
            "yes" if abs(entry.difference) <= 2 * entry.standard_error else "no",
            f"{np.mean(entry.by_test):.1f}",
        ]
        for entry in entries
        if entry.paper
    ]
    return _table(head, rows)


def _times(entries: Sequence[Entry]) -> str:
    rows = [[e.method, str(e.bag_size), f"{e.fit_seconds:.2f}"] for e in entries]
    return (
        "Seconds of five fits, one for each fold; the paper has 15.0 for alter-pSVM and 4.3 for "
        "conv-pSVM on four cores of 2.5 GHz.\n\n" + _table(["method", "bag", "seconds"], rows)
    )


def _footer(store: Store, n_rows: int, other: int, failed: Sequence[dict[str, str]]) -> str:
    lines = ["## The file", f"{n_rows} results, {other} of them of other options or versions."]
    lines += [
        f"Failed: {row['data']} {row['kernel']} {row['bag_size']} {row['method']}: {row['error']}"
        for row in failed
    ]
    for environment in store.environments():
        lines.append("; ".join(f"{name} {value}" for name, value in environment.items()))
    return "\n\n".join(lines)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
