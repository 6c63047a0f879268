"""Whether the paper's methods outperform others: paired comparisons on the splits of its tables."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import report_tables
from reproduction.entries import COLUMN, LEVEL, accuracies_of, paired_tests, printed
from reproduction.experiments import TABLE_DATA
from reproduction.methods import BY_DEFAULT, PAPER, UNTUNED
from reproduction.report import rows_table
from shown import accuracy_by_bag_size, svg_text

from propcvx.plotting import Figure

EARLIER, ALTER = PAPER[:2], PAPER[2]
SHOWN = (*PAPER[:3], *BY_DEFAULT)
"""What the picture shows."""


def pages() -> dict[str, str]:
    """What the pages show, by the names that they use."""
    kernels = ("table-linear", "table-rbf")
    claim = [differences(name, ALTER, EARLIER) for name in kernels]
    theirs = [printed_differences(name) for name in kernels]
    both = [pd.concat(parts) for parts in zip(claim, theirs, strict=True)]
    today = differences("table-linear", BY_DEFAULT[0], EARLIER)
    alter = differences("table-linear", BY_DEFAULT[1], (ALTER,))
    return {
        "results_claim": rows_table(beside(*both)),
        "results_today": rows_table(beside(today, alter)),
        "results_untuned": untuned_table(),
    }


@cache
def points(table: str) -> pd.DataFrame:
    """The results of Table 2 or 4, and of the methods that are not tuned, with the same kernel."""
    tuned, others = report_tables.points_of(table), report_tables.points_of("untuned")
    kernel = tuned["kernel"].iloc[0]
    others = others[(others["kernel"] == kernel) & others["data"].isin(TABLE_DATA)]
    return pd.concat([tuned, others.assign(experiment=table)], ignore_index=True)


def differences(table: str, method: str, rivals: tuple[str, ...]) -> pd.DataFrame:
    """Points by which a method is ahead of the best rival, sets by bag sizes, as texts.

    They are means over the splits that both have; a star marks p < 0.05 by the corrected test.
    """
    tests = paired_tests(points(table)).query("first == @method and second in @rivals")
    tests = tests.loc[tests.groupby(COLUMN)["difference"].idxmin()]
    stars = np.where(tests["p_value"] < LEVEL, "*", "")
    texts = tests.assign(text=tests["difference"].map("{:+.1f}".format) + stars)
    of_sets = texts.pivot(index="data", columns="bag_size", values="text").loc[[*TABLE_DATA]]
    mean = tests.groupby("bag_size")["difference"].mean().map("{:+.1f}".format)
    return pd.concat([of_sets, mean.to_frame("mean").T])


def printed_differences(table: str) -> pd.DataFrame:
    """The mean over the sets of what the paper prints for alter-pSVM less the better of two."""
    wide = printed().sort_index().loc[table, "print"].unstack("method")
    ahead = wide[ALTER] - wide[[*EARLIER]].max(axis=1)
    mean = ahead.groupby("bag_size").mean().map("{:+.1f}".format)
    return mean.to_frame("mean in the paper").T


def beside(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Texts of two tables in the same cells."""
    return (first + " / " + second).rename_axis("bags of").reset_index()


def untuned_table() -> str:
    """Mean accuracy of each method over the sets."""
    of_sets = means([*PAPER, *UNTUNED, *BY_DEFAULT]).groupby("bag_size").mean()
    return rows_table(of_sets.T.map("{:.1f}".format).rename_axis("bags of").reset_index())


def means(methods: Sequence[str]) -> pd.DataFrame:
    """Accuracy by set and size of bags, linear kernel, over the drawings that all methods have."""
    wide = accuracies_of(points("table-linear"))["accuracy"].unstack("method")
    return wide[[*methods]].dropna().groupby(["data", "bag_size"]).mean()


def draw(folder: Path) -> None:
    """The accuracy of the methods on each set, as a picture."""
    folder.mkdir(exist_ok=True)
    (folder / "claims.svg").write_text(svg_text(figure()), encoding="utf-8")


def figure() -> Figure:
    """Accuracy against bag size, linear kernel, a panel for each set."""
    shown, panels = means(SHOWN), {}
    for data in TABLE_DATA:
        panels[data] = {
            name: (line.index.to_numpy(float), line.to_numpy(), np.full(len(line), np.nan))
            for name, line in shown.loc[data].items()
        }
    return accuracy_by_bag_size(panels, columns=4, width=2.2)
