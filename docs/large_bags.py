"""Tables and a picture about large bags: causes apart, other readings, methods untuned.

They are of docs/results/tables.parquet, drawings.csv, draws.csv, starts.csv and roundings.csv.
"""

import json
from pathlib import Path
from typing import Any

import drawings
import numpy as np
import pandas as pd
import report_tables
from report_tables import CHOSEN, LARGE, combinations_of, entries_of, from_to, points_of
from reproduction import Protocol, Selection, entries
from reproduction.entries import PLACE, PRINTED_REPETITIONS, accuracies_of
from reproduction.experiments import SMALL, TABLE_DATA, UNPRINTED
from reproduction.methods import PAPER, UNTUNED
from reproduction.report import rows_table
from shown import spread_text, svg_text

from propcvx.plotting import Figure

STUDIES = Path(__file__).with_name("results")
SETS = ("heart", "vote")
SIZES = (32, 64)
FIXED: dict[str, dict[str, Any]] = {
    "MeanMap": {"lam": 1.0, "likelihood": "mean"},
    "InvCal": {"C_p": 1.0, "epsilon": 0.01},
    "alter-pSVM": {"C": 1.0, "C_p": 10.0},
    "conv-pSVM": {
        "C": 1.0,
        "epsilon": 0.01,
        "intercept": "center",
        "relaxation__max_cuts": 1,
    },
}
"""Parameters of the study of draws, as combinations of the tables' grids have them."""
CAUSES = ("drawing", "selection", "optimisation", "objective", "rest")
READINGS = {
    "inside": "bags inside the training part",
    "once": "one partition for all repetitions",
}
"""Values of the option ``bags``."""
ORDER = (*TABLE_DATA, *UNPRINTED, "cod-rna.t")
RECIPE = "conv-pSVM + InvCal"
QUICK = [method for method in UNTUNED if "alter" not in method]
"""What every drawing of the table of untuned methods must have."""


def pages() -> dict[str, str]:
    """What the pages show, by the names that they use."""
    return {
        "results_causes": causes_table(),
        "results_readings": readings_table(),
        "results_untuned_large": untuned_table(),
        "results_twenty": twenty_table(),
    }


def causes() -> pd.DataFrame:
    """For each method and set what separates our accuracy from the paper's, in points.

    Means over bags of 32 and 64, linear kernel.  ``drawing`` and ``selection`` compare the tables
    with fixed parameters on the same five drawings, and these with twelve other drawings.
    ``optimisation`` and ``objective`` are :func:`searched` for alter-pSVM and :func:`relaxed` for
    conv-pSVM, with the fixed parameters.  MeanMap and InvCal are convex, and their objectives do
    not contain labels.  The rest is what is left of the difference to print, so that all five add
    up.
    """
    study = pd.read_csv(STUDIES / "draws.csv").query("deal == 0")
    optimised = {"alter-pSVM": searched, "conv-pSVM": relaxed}
    grid = combinations_of(points_of("table-linear"))
    rows = []
    for method, parameters in FIXED.items():
        is_fixed = grid["parameters"] == json.dumps(parameters, sort_keys=True)
        frames = entries_of("table-linear"), grid[is_fixed], study
        for data in SETS:
            tables, same, others = (
                one[(one["method"] == method) & (one["data"] == data) & one["bag_size"].isin(SIZES)]
                for one in frames
            )
            theirs, ours = tables["print"].mean(), tables[CHOSEN].mean()
            fixed, fresh = same["accuracy"].mean(), others["accuracy"].mean()
            row = {"method": method, "data": data, "print": theirs, "tables": ours}
            row |= {"drawing": fixed - fresh, "selection": ours - fixed}
            row |= optimised[method](data) if method in optimised else {}
            known = sum(row.get(cause, 0.0) for cause in CAUSES)
            rows.append({**row, "rest": ours - theirs - known})
    return pd.DataFrame(rows)


def searched(data: str) -> dict[str, float]:
    """What alter-pSVM loses by its search, and by what its objective prefers.

    Algorithm 1 is compared with a search label by label that finds smaller objectives, and this
    search with the SVM of the true labels.
    """
    rows = at_large_bags("starts").query("data == @data")
    means = rows.groupby("start")["accuracy"].mean()
    return differences(*means[["random, annealed", "several, hops", "true labels"]])


def relaxed(data: str) -> dict[str, float]:
    """What conv-pSVM gains by stopping after one cut, and loses by what its relaxation prefers.

    One cut is compared with ten, and ten cuts with the SVM of the true labels.
    """
    rows = at_large_bags("roundings").query("data == @data and rounding == 'rank_one'")
    by_cuts = 100.0 * rows.groupby("cuts")["accuracy"].mean()
    return differences(by_cuts[1], by_cuts[10], 100.0 * rows["true_accuracy"].mean())


def differences(plain: float, best: float, true: float) -> dict[str, float]:
    """Causes, from accuracies: of a method, of what optimises further, and of the true labels."""
    return {"optimisation": plain - best, "objective": best - true}


def at_large_bags(study: str) -> pd.DataFrame:
    """Rows of a study, those of bags of 32 and 64."""
    return pd.read_csv(STUDIES / f"{study}.csv").query("bag_size in @SIZES")


def causes_table() -> str:
    """The causes as a table."""
    frame = causes()
    signed = {cause: frame[cause].map("{:+.1f}".format).replace("+nan", "-") for cause in CAUSES}
    plain = {name: frame[name].map("{:.1f}".format) for name in ("print", "tables")}
    return rows_table(frame.assign(**signed, **plain)[["method", "data", *plain, *signed]])


def draw_causes(folder: Path) -> None:
    """The causes as a picture."""
    folder.mkdir(exist_ok=True)
    (folder / "causes.svg").write_text(svg_text(causes_figure()), encoding="utf-8")


def causes_figure() -> Figure:
    """Bars of points below and above the paper, a bar for each cause."""
    frame = causes()
    figure = Figure(figsize=(8.5, 3.4), layout="constrained")
    axes = figure.subplots(1, len(PAPER), sharex=True, sharey=True)
    for ax, (method, own) in zip(axes, frame.groupby("method", sort=False), strict=True):
        for shift, (_, row) in zip((-0.2, 0.2), own.iterrows(), strict=True):
            places = np.arange(len(CAUSES)) + shift
            ax.barh(places, row[list(CAUSES)].astype(float), 0.38, label=row["data"])
        ax.axvline(0.0, color="0.4", linewidth=0.8)
        ax.set(title=method, xlabel="points")
    axes[0].set_yticks(range(len(CAUSES)), CAUSES)
    axes[0].invert_yaxis()
    axes[0].legend(frameon=False, fontsize="small")
    return figure


def readings_table() -> str:
    """Other readings of the protocol, beside the tables on the same repetitions."""
    rows = []
    tables = accuracies("table-linear")["accuracy"]
    for bags, reading in READINGS.items():
        protocol = Protocol().with_options(bags=bags)
        cells = entries.planned(["table-linear"], protocol, Selection(data=SETS, bag_sizes=SIZES))
        own = accuracies_of(entries.points_of(report_tables.results(), cells))
        both = (
            own.droplevel("experiment").join(tables.rename("tables"), how="inner").join(printed())
        )
        for method, own in both.groupby("method", sort=False):
            places = own.groupby(PLACE[1:], sort=False)
            spread = places[["tables", "accuracy"]].std().median()
            means = places[["tables", "accuracy", "print", "print_std"]].mean().mean()
            rows.append(
                {
                    "reading": reading,
                    "method": method,
                    "entries": len(places),
                    "repetitions": report_tables.from_to(places.size()),
                    "as in the tables": spread_text(means["tables"], spread["tables"]),
                    "so read": spread_text(means["accuracy"], spread["accuracy"]),
                    "print": spread_text(means["print"], means["print_std"]),
                }
            )
    return rows_table(rows) if rows else "None of these cells has been run."


def untuned_table() -> str:
    """Methods tuned, and with the defaults of their classes, on the same drawings of bags.

    The repetitions of the tables, those of them on which all tuned methods are done, and further
    ones have rows of their own.  A dash is for a method that is not done on all of them.
    """
    tuned = "table-linear", "table-rbf", "table-large", "better"
    every = accuracies(*tuned, "drawings", "untuned")["accuracy"]
    wide = every[~every.index.duplicated()].unstack("method")
    wide = wide.reindex(columns=[*PAPER, *UNTUNED]).dropna(subset=QUICK).reset_index()
    parts = [wide["data"].isin(sets) for sets in (SETS, SMALL, TABLE_DATA, UNPRINTED)]
    wide["part"] = np.select(parts, range(4), 4)
    wide["fresh"] = wide["repetition"] >= PRINTED_REPETITIONS
    wide["incomplete"] = ~wide["fresh"] & wide[[*PAPER]].isna().any(axis=1)
    by = ["kernel", "part", "bag_size", "fresh", "incomplete"]
    rows = []
    for (kernel, _, size, *_), group in wide.groupby(by):
        means = group[[*PAPER, *UNTUNED]].mean(skipna=False)
        sets = ", ".join(name for name in ORDER if name in set(group["data"]))
        row = {"kernel": kernel, "sets": sets, "bags of": size}
        row |= {"repetitions": from_to(group["repetition"] + 1), "drawings": len(group)}
        for method in PAPER:
            row[method] = _known(means[method])
            row[f"{method} untuned"] = _known(means[f"untuned {method}"])
        rows.append({**row, RECIPE: f"{means[UNTUNED[-1]]:.1f}"})
    small, large = (
        rows_table(row for row in rows if (row["bags of"] >= LARGE) == is_large)
        for is_large in (False, True)
    )
    return f"{small}\n\nBags of {LARGE} and more:\n\n{large}"


def twenty_table() -> str:
    """Means over all drawings that are done, with their standard errors, beside print.

    Drawings are those of the experiment and those of docs/results/drawings.csv.
    """
    every = accuracies("table-linear", "table-rbf", "drawings")["accuracy"]
    further = pd.read_csv(drawings.FILE).assign(kernel="linear")
    further = further.set_index([*PLACE[1:], "repetition"])["accuracy"]
    every = pd.concat([every[~every.index.duplicated()], further])
    own = every.groupby(PLACE[1:], sort=False).agg(["mean", "std", "size"]).join(printed())
    own = own[(own["size"] > PRINTED_REPETITIONS) & own["print"].notna()]
    error = own["std"] / np.sqrt(own["size"])
    texts = own["mean"].map("{:.1f}".format) + error.map(" ({:.1f})".format)
    texts += own["size"].map(", {:.0f}".format) + own["print"].map(" [{:.1f}]".format)
    wide = texts.unstack("method").reindex(columns=PAPER).fillna("-").reset_index()
    return rows_table(wide) if len(wide) else "None of these cells has been run."


def accuracies(*experiments: str) -> pd.DataFrame:
    """Accuracy in percent of each complete repetition, by data, kernel, bag size and method."""
    return accuracies_of(points_of(*experiments)).droplevel("experiment")


def printed() -> pd.DataFrame:
    """What the paper prints, by data, kernel, bag size and method."""
    both = entries.printed().query("experiment in ['table-linear', 'table-rbf']")
    return both[["print", "print_std"]].droplevel("experiment")


def _known(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.1f}"
