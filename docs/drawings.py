"""Fresh drawings of bags, by the protocol of the tables with other seeds.

``python docs/drawings.py FILE`` writes ``docs/results/drawings.csv`` anew, of the results of

    python -m reproduction run table-linear --set seed=1 --data heart,vote,australian
        --bag-sizes 32,64 --methods MeanMap,InvCal,conv-pSVM --results FILE

with seeds from 1 on: each draws bags, folds and random labelings five times.
"""

import sys
from pathlib import Path

import pandas as pd
from report_tables import (
    CHOSEN,
    FOR_ALL_BY_TEST,
    choices_of,
    entries_of,
)
from reproduction import Protocol, Selection, entries
from reproduction.report import rows_table
from reproduction.results import read_results
from shown import spread_text

FILE = Path(__file__).with_name("results") / "drawings.csv"
DATA = ["heart", "vote", "australian"]
SIZES = [32, 64]
METHODS = ["MeanMap", "InvCal", "conv-pSVM"]
SEEDS = range(1, 5)
PLACE = ["bag_size", "method", "data"]


def write(file: Path) -> None:
    """The drawings of which all sets, sizes and methods are done, a row for each of them."""
    results, selection = read_results(file), Selection(data=DATA, bag_sizes=SIZES, methods=METHODS)
    drawn = []
    for seed in SEEDS:
        cells = entries.planned(["table-linear"], Protocol().with_options(seed=seed), selection)
        found = choices_of(entries.points_of(results, cells))
        drawn.append(cells.join(found, on=entries.REPETITION, how="inner").assign(seed=seed))
    frame = pd.concat(drawn).query("fold == 0")
    counts = frame.groupby(["seed", "repetition"])["method"].transform("size")
    whole = frame[counts == len(DATA) * len(SIZES) * len(METHODS)]
    names = {CHOSEN: "accuracy", FOR_ALL_BY_TEST: "chosen_by_test"}
    columns = ["seed", "repetition", *PLACE, *names.values()]
    whole.rename(columns=names)[columns].to_csv(
        FILE, index=False, float_format="%.4f", lineterminator="\n"
    )


def pages() -> dict[str, str]:
    """What the pages show, by the names that they use."""
    fresh = pd.read_csv(FILE)
    return {
        "results_drawings": causes_table(fresh),
        "drawings": str(len(fresh[["seed", "repetition"]].drop_duplicates())),
    }


def causes_table(fresh: pd.DataFrame) -> str:
    """What of the difference to print is the drawing, what the selection, and what is left.

    Means over the data sets; the deviation is that of the sets' mean over the drawings.
    """
    stored = entries_of("table-linear")
    stored = stored[stored["data"].isin(DATA)].groupby(PLACE[:2])[["print", CHOSEN]].mean()
    rows = []
    for (size, method), group in fresh.groupby(PLACE[:2], sort=False):
        theirs, ours = stored.loc[(size, method)]
        each = group.groupby(["seed", "repetition"])["accuracy"].mean()
        mean, best = each.mean(), group["chosen_by_test"].mean()
        rows.append(
            {
                "bags of": size,
                "method": method,
                "print": f"{theirs:.1f}",
                "tables": f"{ours:.1f}",
                "fresh": spread_text(mean, each.std()),
                "fresh, chosen by test": f"{best:.1f}",
                "drawing": f"{ours - mean:+.1f}",
                "selection": f"{mean - best:+.1f}",
                "rest": f"{best - theirs:+.1f}",
            }
        )
    return rows_table(rows)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
