"""A results file for readers: tables and pictures beside the paper's numbers, or data.

Tables are Markdown, of entries as :func:`propcvx.experiments.reproduce.entries.entries_of` gives
them.
"""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np

from propcvx.errors import InputError
from propcvx.experiments.methods import SUPERVISED
from propcvx.experiments.reproduce import entries as frames
from propcvx.experiments.reproduce.entries import BY_TEST, CHOICES, CHOSEN, COLUMN, LEVEL
from propcvx.experiments.reproduce.evaluate import compared
from propcvx.experiments.reproduce.experiments import EXPERIMENTS
from propcvx.experiments.reproduce.protocol import Protocol
from propcvx.experiments.reproduce.results import read_results
from propcvx.plotting import Figure, accuracy_by_bag_size, svg_text
from propcvx.text import markdown_table, spread_text

if TYPE_CHECKING:
    from pandas import DataFrame, Series

    Groups = Mapping[str, DataFrame]
    Figures = dict[str, Callable[[], Figure]]
    Tests = Mapping[Any, Mapping[tuple[str, str], frames.Comparison]]

OUTPUTS = (".md", ".html", ".csv", ".parquet")
"""Endings of what :func:`write_report` writes."""

LARGE = 32
"""Size from which bags count as large."""
REPEATED = 3
"""Repetitions from which an entry's standard deviation counts."""
FIXED_ON = ("heart", "vote")
"""The sets on which the methods beyond the paper were put together; all others only confirm."""
RIVALS = [(ours, other) for ours in ("alter-pSVM", "conv-pSVM") for other in ("MeanMap", "InvCal")]
"""The comparisons that the paper counts: its methods with those before."""
PAIRS = [*RIVALS, ("alter-pSVM", "conv-pSVM")]
TESTS = (
    "Mean difference in points over the n splits that both have done, with the corrected p-value; "
    f"bold below {LEVEL}."
)


def report_text(file: Path, protocol: Protocol | None = None) -> str:
    """A results file beside the paper, as Markdown without pictures.

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
    return _joined(part for part in _parts(file, protocol, {}) if not part.startswith("!["))


def write_report(file: Path, output: Path, protocol: Protocol | None = None) -> None:
    """A report, or what is in a results file.

    Parameters
    ----------
    file : Path
        A results file.
    output : Path
        Ends in ``.md`` (with its pictures in a folder beside it, ``_files``), ``.html`` (one page
        with everything in it), ``.csv`` or ``.parquet`` (what
        :func:`propcvx.experiments.reproduce.results.read_results` gives, of all protocols).
    protocol : Protocol, optional
        What the report shows.

    Raises
    ------
    InputError
        If the ending is another one, a package that it takes is not installed, the output cannot
        be written, or there is no results file.
    """
    ending = output.suffix.lower()
    if ending not in OUTPUTS:
        raise InputError(f"the output must end in one of {', '.join(OUTPUTS)}, got {output.name}.")
    try:
        if ending == ".csv":
            read_results(file).to_csv(output, index=False)
        elif ending == ".parquet":
            long = dict.fromkeys(("settings", "run", "warnings"), "category")
            read_results(file).astype(long).to_parquet(output, compression="zstd", index=False)
        else:
            figures: Figures = {}
            text = _joined(_parts(file, protocol, figures))
            write = _write_page if ending == ".html" else _write_markdown
            write(text, figures, output)
    except OSError as failure:
        raise InputError(f"the output {output} cannot be written: {failure}.") from failure
    except ImportError as failure:
        raise InputError(
            f"an output ending in {ending} takes {failure.name}, not installed: "
            "pip install 'propcvx[experiments]'."
        ) from failure


def file_hash(file: Path) -> str:
    """The hash of a file, as a report has it."""
    with file.open("rb") as content:
        return f"sha256 `{hashlib.file_digest(content, 'sha256').hexdigest()}`"


def rows_table(rows: Iterable[Mapping[str, Any]] | DataFrame) -> str:
    """A table of rows or of a frame; nothing where there is no row."""
    from pandas import DataFrame

    frame = DataFrame(rows)
    return markdown_table([*map(str, frame)], frame.astype(str).to_numpy()) if len(frame) else ""


def accuracy_table(entries: DataFrame) -> str:
    """Methods by bag sizes, of one data set and kernel."""
    first = entries.iloc[0]
    return by_size_table(entries, f"{first['data']}, {first['kernel']}", _accuracy_text)


def by_size_table(entries: DataFrame, corner: str, text: Callable[[Series], str]) -> str:
    """Methods by bag sizes, in the order of the entries, each of which has a text."""
    wide = entries.assign(text=entries.apply(text, axis=1))
    wide = wide.pivot(index="method", columns="bag_size", values="text").fillna("")
    wide = wide.loc[entries["method"].unique(), entries["bag_size"].unique()]
    return rows_table(wide.rename(columns=size_text).rename_axis(corner).reset_index())


def summary_table(groups: Groups) -> str:
    """For each group of entries that has printed numbers, how they lie to them.

    The last column is the mean difference, had parameters been chosen by test accuracy.
    """
    return rows_table(
        {
            "": name,
            "cells done": f"{entries['done'].sum()} of {entries['cells'].sum()}",
            "entries beside print": len(beside),
            "mean difference": f"{beside['difference'].mean():+.2f}",
            "within two printed deviations": (beside["side"] == "within").sum(),
            "above": (beside["side"] == "above").sum(),
            "below": (beside["side"] == "below").sum(),
            "chosen by test": f"{(beside[BY_TEST] - beside['print']).mean():+.2f}",
        }
        for name, entries in groups.items()
        if len(beside := entries[entries["side"] != ""])
    )


def by_bag_size(entries: DataFrame) -> Groups:
    """Entries by the size of their bags, smallest first."""
    groups = entries.groupby("bag_size")
    return {f"bags of {size}" if size else "own bags": group for size, group in groups}


def by_repetitions(entries: DataFrame) -> Groups:
    """Entries by how many repetitions are done, most first."""
    groups = reversed(list(entries.groupby("repetitions")))
    return {f"repetitions: {count}": group for count, group in groups}


def small_and_large(entries: DataFrame) -> Groups:
    """Entries with small bags, and those with bags of ``LARGE`` and more."""
    large = entries["bag_size"] >= LARGE
    return {
        f"bags of {', '.join(map(str, sorted(part['bag_size'].unique())))}": part
        for part in (entries[~large], entries[large])
    }


def by_method(entries: DataFrame) -> Groups:
    """Entries by method, those with large bags apart."""
    return {
        f"{method}, {sizes}": group
        for sizes, part in small_and_large(entries).items()
        for method, group in part.groupby("method", sort=False)
    }


def differences_table(groups: Groups) -> str:
    """Mean differences to print, had parameters been chosen in other ways."""
    return rows_table(
        {"": name, "entries": len(beside)}
        | {choice: difference_text(beside, choice) for choice in CHOICES}
        for name, entries in groups.items()
        if len(beside := entries[entries["side"] != ""])
    )


def difference_text(entries: DataFrame, choice: str = CHOSEN) -> str:
    """Mean difference to print, in brackets how many lie within two printed deviations of it."""
    differences = entries[choice] - entries["print"]
    within = (differences.abs() <= 2.0 * entries["print_std"]).sum()
    return f"{differences.mean():+.1f} ({within})"


def deviations_table(groups: Groups) -> str:
    """Median of the standard deviations over repetitions, and of those in print."""
    columns = {choice: f"std, {choice}" for choice in CHOICES} | {"print": "print_std"}
    return rows_table(
        {"": name, "entries": len(known)}
        | {title: f"{known[column].median():.1f}" for title, column in columns.items()}
        for name, entries in groups.items()
        if len(known := entries[(entries["side"] != "") & (entries["repetitions"] >= REPEATED)])
    )


def selection_text(entries: DataFrame) -> str:
    """What choosing by validation loses, method by method."""
    lost = (entries[BY_TEST] - entries[CHOSEN]).groupby(entries["method"], sort=False).mean()
    listed = ", ".join(f"{method} {points:+.1f}" for method, points in lost.items())
    return f"Chosen by test accuracy, the mean over all entries would have changed by: {listed}."


def entry_table(entries: DataFrame) -> str:
    """Every entry on a line of its own."""
    return rows_table(
        {
            "data": entry["data"],
            "kernel": entry["kernel"],
            "bag": size_text(entry["bag_size"]),
            "method": entry["method"],
            "repetitions": entry["repetitions"],
            "ours": spread_text(entry[CHOSEN], entry[f"std, {CHOSEN}"]),
            "paper": spread_text(entry["print"], entry["print_std"]) if entry["side"] else "",
            "difference": _known(entry["difference"], "+.1f"),
            "two printed deviations": entry["side"],
            "chosen by test": f"{entry[BY_TEST]:.1f} ({entry[BY_TEST] - entry[CHOSEN]:+.1f})",
            "seconds of the fits": f"{entry['fit_seconds']:.2f}",
        }
        for _, entry in entries.iterrows()
    )


def beside_best(entries: DataFrame) -> DataFrame:
    """Entries of columns that Tables 2, 3 and 4 have, beside the best method in print.

    Columns added are ``best method``, ``best print``, the difference to that as ``beyond``, and the
    accuracy of the SVM that is told the labels, by its name.
    """
    column = COLUMN[1:]
    tables = frames.printed().reset_index()
    tables = tables[tables["experiment"].str.startswith("table-")]
    best = tables.loc[tables.groupby(column)["print"].idxmax(), [*column, "method", "print"]]
    best.columns = [*column, "best method", "best print"]
    ceilings = entries.loc[entries["method"] == SUPERVISED, [*column, CHOSEN]]
    ceilings.columns = [*column, SUPERVISED]
    beside = entries.merge(best, on=column).merge(ceilings, on=column, how="left")
    return beside.assign(beyond=beside[CHOSEN] - beside["best print"])


def beyond_table(entries: DataFrame) -> str:
    """Methods that the paper does not have, beside the best one that it prints for each column."""
    beside = beside_best(entries)
    return rows_table(
        {
            "data": entry["data"],
            "bag": size_text(entry["bag_size"]),
            "method": entry["method"],
            "repetitions": entry["repetitions"],
            "ours": f"{entry[CHOSEN]:.1f}",
            "best in print": f"{entry['best print']:.1f} {entry['best method']}",
            "difference": f"{entry['beyond']:+.1f}",
            SUPERVISED: _known(entry[SUPERVISED], ".1f"),
        }
        for _, entry in beside[beside["method"] != SUPERVISED].iterrows()
    )


def beyond_means(entries: DataFrame) -> str:
    """Mean differences to the best in print, where the recipe was made and where it was not."""
    beside = beside_best(entries)
    sets = np.where(beside["data"].isin(FIXED_ON), "sets it was made on", "other sets")
    beside = beside.assign(sets=sets)[beside["method"] != SUPERVISED]
    head = ["method", "", "columns", "mean difference to the best in print"]
    return _mean_beyond(beside, ["method", "sets"], head)


def room_table(entries: DataFrame) -> str:
    """How far the SVM that is told the labels lies above the best in print, by size of bags."""
    from pandas import concat

    beside = beside_best(entries)
    beside = beside[beside["method"] == SUPERVISED].sort_values("bag_size")
    each = beside.assign(bag=beside["bag_size"].map(size_text))
    head = ["bag", "columns", f"{SUPERVISED} above the best in print"]
    return _mean_beyond(concat([each, each.assign(bag="all")]), ["bag"], head)


def paired_table(tested: Tests) -> str:
    """Methods against each other, column by column; ``tested`` as :func:`comparisons` gives it."""
    return rows_table(
        {"data": data, "kernel": kernel, "bag": size_text(size)}
        | {" - ".join(pair): _comparison_text(found.get(pair)) for pair in PAIRS}
        for (_, data, kernel, size), found in tested.items()
    )


def comparisons(points: DataFrame) -> Tests:
    """Of each column the pairs of methods that can be tested; nothing of others."""
    columns = frames.splits_of(points).groupby(level=COLUMN, sort=False)
    found = {
        place: {
            pair: one
            for pair in PAIRS
            if set(pair) <= set(splits)
            and not np.isnan((one := frames.compare(splits, *pair)).p_value)
        }
        for place, splits in columns
    }
    return {place: pairs for place, pairs in found.items() if pairs}


def paired_text(tested: Tests, entries: DataFrame) -> str:
    """How many comparisons with earlier methods are significant, ours and as printed."""
    ours = [found[pair] for found in tested.values() for pair in RIVALS if pair in found]
    beside = entries[entries["side"] != ""].set_index(frames.PLACE)
    theirs = [
        frames.printed_comparison(beside.loc[(*place, first)], beside.loc[(*place, other)])
        for place in tested
        for first, other in RIVALS
        if {(*place, first), (*place, other)} <= set(beside.index)
    ]
    text = (
        f"Of {len(ours)} comparisons of alter-pSVM and conv-pSVM with MeanMap and InvCal, "
        f"{_verdicts((one.difference, one.p_value) for one in ours)} at p < {LEVEL} by the "
        f"corrected test; {_verdicts((one.difference, one.plain_p_value) for one in ours)} by the "
        "plain paired t-test, which takes folds for independent."
    )
    if not theirs:
        return text
    return (
        f"{text} The paper has p-values below {LEVEL} for more than 70% of its comparisons. Of the "
        f"{len(theirs)} among these that it prints, {_verdicts(theirs)} by an unpaired t-test on "
        "the printed means and deviations."
    )


def choices_figure(entries: DataFrame) -> Figure:
    """Mean accuracy over data sets and kernels against bag size, by how parameters are chosen."""
    lines = {
        "chosen by bag error": CHOSEN,
        "paper": "print",
        "chosen by test accuracy": frames.FOR_ALL_BY_TEST,
    }
    means = entries.groupby(["method", "bag_size"], sort=False)[list(lines.values())].mean()
    means = means.reset_index().assign(none=np.nan)
    return _figure(means, {name: (column, "none") for name, column in lines.items()})


def size_text(bag_size: int) -> str:
    """A bag size, as a heading."""
    return str(bag_size) if bag_size else "own bags"


def _parts(file: Path, protocol: Protocol | None, figures: Figures) -> Iterator[str]:
    """What a report says, in Markdown; its pictures are put into ``figures``, by name."""
    results = read_results(file)
    once, cells = results.drop_duplicates("key"), frames.planned(EXPERIMENTS, protocol)
    # An experiment all of whose cells are in others, too, is left out.
    first, done = cells.drop_duplicates("key"), once.loc[once["error"] == "", "key"]
    shown = first.loc[first["key"].isin(done), "experiment"].unique()
    points = frames.points_of(results, cells[cells["experiment"].isin(shown)])
    entries = frames.entries_of(points)
    by_experiment = {name: entries[entries["experiment"] == name] for name in shown}
    yield "# The paper's experiments"
    yield _options_text(protocol or Protocol())
    if table := summary_table({EXPERIMENTS[n].about: one for n, one in by_experiment.items()}):
        yield from ("## In short", table)
    yield files(__package__).joinpath("legend.md").read_text(encoding="utf-8").rstrip()
    for name, one in by_experiment.items():
        yield from _experiment(name, one, points[points["experiment"] == name], figures)
    fixed, same = compared(once[["settings", "split"]].to_dict("records"))
    if fixed:
        yield (
            f"Of these splits, {fixed} are among those of the experiment `quick`, whose hashes the "
            f"package has: {same} are the same."
        )
    yield from _origin(file, once, sum(~once["key"].isin(cells["key"])))


def _options_text(protocol: Protocol) -> str:
    """Which options the results are of."""
    values, usual = ({**vars(p.design), **vars(p.methods)} for p in (protocol, Protocol()))
    other = [f"`{name}={value!r}`" for name, value in values.items() if value != usual[name]]
    if not other:
        return "Results with the default options of the protocol."
    return (
        f"Results with these options of the protocol, the others being default: {', '.join(other)}."
    )


def _experiment(
    name: str, entries: DataFrame, points: DataFrame, figures: Figures
) -> Iterator[str]:
    yield f"## {EXPERIMENTS[name].about}"
    yield f"Cells done: {entries['done'].sum()} of {entries['cells'].sum()}."
    done = entries[entries["repetitions"] > 0]
    if done.empty:
        return
    for (data, kernel), shown in done.groupby(["data", "kernel"], sort=False):
        yield accuracy_table(shown)
        group = entries[(entries["data"] == data) & (entries["kernel"] == kernel)]
        if group["bag_size"].nunique() > 1:
            lines = {"here": (CHOSEN, f"std, {CHOSEN}"), "paper": ("print", "print_std")}
            title = f"{data}, {kernel} kernel"
            figures[f"{name}-{data}-{kernel}"] = partial(_figure, group, lines, title)
            where = ", here and in the paper" if group["print"].notna().any() else ""
            caption = f"Accuracy against bag size{where}: {title}."
            yield f"![{caption}]({name}-{data}-{kernel}.svg)"
    if name == "better":
        sections = {
            "### Beside the best in print": [beyond_means(done), beyond_table(done)],
            "### What is left to win": [room_table(done)],
        }
        for heading, tables in sections.items():
            if all(tables):
                yield from (heading, *tables)
    if summary := summary_table({**by_bag_size(entries), **by_repetitions(entries)}):
        yield summary
    tuned = done[(done["side"] != "") & (done["combinations"] > 1)]
    if len(tuned):
        yield "### Had parameters been chosen otherwise"
        figures[f"{name}-choices"] = partial(choices_figure, tuned)
        yield (
            "![Mean accuracy against bag size: with parameters chosen by bag error for each fold, "
            "in the paper, and with one combination for all folds, chosen by accuracy on test "
            f"instances.]({name}-choices.svg)"
        )
        groups = by_method(tuned)
        yield from filter(None, (differences_table(groups), deviations_table(groups)))
    yield from ("### Entry by entry", selection_text(done), entry_table(done))
    if tested := comparisons(points):
        yield "### Methods against each other"
        yield from (paired_text(tested, done), TESTS, paired_table(tested))


def _origin(file: Path, once: DataFrame, n_other: int) -> Iterator[str]:
    """The file and its hash, what failed, commands, versions and machines.

    ``once`` has a row for each cell of the file, of which ``n_other`` are not in the report.
    """
    from pandas import DataFrame

    told = ", which `propcvx report` shows with the options of their commands." if n_other else "."
    yield "## The file"
    yield (
        f"{file.name}, {file_hash(file)}: {len(once)} results, {n_other} of them of other options "
        f"or versions{told}"
    )
    failed = once[once["error"] != ""]
    if len(failed):
        columns = ("data", "kernel", "bag_size", "method", "error")
        lines = zip(*(failed[column] for column in columns), strict=True)
        yield "Failed:"
        yield _verbatim(
            f"{data} {kernel} {n} {method}: {error}" for data, kernel, n, method, error in lines
        )
    runs = DataFrame(map(json.loads, once.sort_values("finished")["run"].unique()))
    if len(runs):
        yield from ("Commands:", _verbatim(runs.pop("command").unique()))
        machines = runs.drop_duplicates(ignore_index=True).fillna("not kept").T
        machines = machines.rename(columns=lambda number: f"environment {number + 1}")
        yield rows_table(machines.rename_axis("").reset_index())


def _write_markdown(text: str, figures: Figures, output: Path) -> None:
    folder = output.with_name(f"{output.stem}_files")
    for name, draw in figures.items():
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.svg").write_text(svg_text(draw()), encoding="utf-8")
        text = text.replace(f"]({name}.svg)", f"]({folder.name}/{name}.svg)")
    output.write_text(text, encoding="utf-8")


def _write_page(text: str, figures: Figures, output: Path) -> None:
    """One HTML page that holds its pictures and needs no network."""
    from markdown_it import MarkdownIt

    def drawn(image: re.Match[str]) -> str:
        name, caption = image.groups()
        data = b64encode(svg_text(figures[name]()).encode()).decode()
        return (
            f'<figure><img src="data:image/svg+xml;base64,{data}" alt="{name}">'
            f"<figcaption>{caption}</figcaption></figure>"
        )

    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    body = re.sub(r'<p><img src="([^"]*)\.svg" alt="([^"]*)" /></p>', drawn, body)
    page = Template(files(__package__).joinpath("page.html").read_text(encoding="utf-8"))
    output.write_text(page.substitute(body=body), encoding="utf-8")


def _figure(entries: DataFrame, lines: Mapping[str, tuple[str, str]], title: str = "") -> Figure:
    """Means and deviations, by the names of their columns, against bag size."""
    panels = {
        method: {
            name: tuple(known[column].to_numpy(float) for column in ("bag_size", mean, deviation))
            for name, (mean, deviation) in lines.items()
            if len(known := group.dropna(subset=[mean]).sort_values("bag_size"))
        }
        for method, group in entries.groupby("method", sort=False)
    }
    return accuracy_by_bag_size(panels, title)


def _accuracy_text(entry: Series) -> str:
    own = spread_text(entry[CHOSEN], entry[f"std, {CHOSEN}"])
    own = (f"**{own}**" if entry["best"] else own) + (" (1)" if entry["repetitions"] == 1 else "")
    if not entry["side"]:
        return own
    theirs = spread_text(entry["print"], entry["print_std"])
    return f"{own} [{theirs}{', bold' if entry['bold'] else ''}]"


def _mean_beyond(beside: DataFrame, groups: list[str], head: list[str]) -> str:
    """How many entries there are in each group, and their mean difference to the best in print."""
    means = beside.groupby(groups, sort=False)["beyond"].agg(["size", "mean"]).reset_index()
    means["mean"] = means["mean"].map("{:+.2f}".format)
    return rows_table(means.set_axis(head, axis="columns"))


def _comparison_text(found: frames.Comparison | None) -> str:
    if found is None:
        return ""
    text = f"{found.difference:+.1f} (p {found.p_value:.3f}, n {found.n_splits})"
    return f"**{text}**" if found.p_value < LEVEL else text


def _verdicts(found: Iterable[tuple[float, float]]) -> str:
    signs = [np.sign(difference) for difference, p_value in found if p_value < LEVEL]
    return f"{signs.count(1.0)} are better and {signs.count(-1.0)} worse"


def _known(value: float, pattern: str) -> str:
    return "" if np.isnan(value) else format(value, pattern)


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(parts) + "\n"


def _verbatim(lines: Iterable[str]) -> str:
    return "\n".join(["~~~~", *lines, "~~~~"])
