"""The tables and the figure of the study of roundings."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from propcvx.experiments.studies.cells import Line, Row, grouped, line, numbers
from propcvx.plotting import Figure, line_grid
from propcvx.text import text_table

DRAWN = ("rank_one", "mean", "nearest_to_rank_one", "best_cut", "polished")
WEIGHTS = (0.0, 0.45, 0.495, 0.505, 0.55, 1.0)
MADE_OF = ("leading", "second", "axis_cosine", "newest_cosine", "first_weight", "relaxation")
SPECTRUM = {
    "leading": "leading eigenvalue's share",
    "axis_cosine": "cosine of leading\neigenvector and truth",
    "unused": "share of instances\nwith alpha = 0",
}


def show(rows: Sequence[Row]) -> None:
    """Print all tables."""
    print(f"{len(grouped(rows, 'split'))} splits")
    accuracies = text_table(table(told(rows), "accuracy"))
    print(f"\nAccuracy on held-out instances\n\n{accuracies}")
    objectives = text_table(table(rows, "objective"))
    print(f"\nSVM value of the labeling nearest to the scores\n\n{objectives}")
    print(f"\nWhat M is made of\n\n{text_table(made_of(rows))}")
    print(f"\nAfter two cuts\n\n{text_table(tipping(rows))}\n")


def table(rows: Sequence[Row], column: str) -> list[dict[str, str]]:
    """Means of a column over splits and bag sizes: roundings against the number of cuts."""
    return [
        {"data": data, "rounding": rounding, **_means(group, column)}
        for (data, rounding), group in sorted(grouped(rows, "data", "rounding").items())
    ]


def told(rows: Sequence[Row]) -> list[Row]:
    """The rows, and those of the real-valued labelings if their sign were known."""
    known = [
        {
            **row,
            "rounding": f"{row['rounding']}, better sign",
            "accuracy": str(max(float(row["accuracy"]), 1.0 - float(row["accuracy"]))),
        }
        for row in rows
        if row["rounding"] in ("rank_one", "mean")
    ]
    return [*rows, *known]


def made_of(rows: Sequence[Row]) -> list[dict[str, str]]:
    """What M is made of, for each set and bag size: means over splits."""
    once = [row for row in rows if row["rounding"] == "rank_one"]
    groups = sorted(grouped(once, "data", "bag_size").items(), key=lambda of: int(of[0][1]))
    return [
        {"data": data, "bags of": size, "column": column, **_means(group, column)}
        for (data, size), group in sorted(groups, key=lambda of: of[0][0])
        for column in MADE_OF
    ]


def tipping(rows: Sequence[Row]) -> list[dict[str, str]]:
    """Relaxations of two labelings, by the weight of the first."""
    two = [row for row in rows if (row["rounding"], row["cuts"]) == ("rank_one", "2")]
    names = ("first_weight", "first_cosine", "newest_cosine", "axis_cosine", "accuracy")
    return [
        {
            "weight of the first": f"{low} to {high}",
            "relaxations": str(len(group)),
            **{name: f"{numbers(group, name).mean():.3f}" for name in names},
        }
        for low, high in pairwise(WEIGHTS)
        if (group := [row for row in two if low <= float(row["first_weight"]) < high])
    ]


def _means(rows: Sequence[Row], column: str) -> dict[str, str]:
    return {
        f"{cuts} cuts": f"{numbers(cell, column).mean():.3f}"
        for (cuts,), cell in grouped(rows, "cuts").items()
    }


def draw(rows: Sequence[Row]) -> Figure:
    """Accuracy of roundings, then what M is made of, against the number of cuts."""
    by_data = {data: group for (data,), group in grouped(rows, "data").items()}
    sizes = sorted({int(row["bag_size"]) for row in rows})
    panels: dict[str, dict[str, dict[str, Line]]] = {
        f"accuracy, bags of {size}": {
            data: {
                name: line(cell, "cuts", "accuracy")
                for (name,), cell in grouped(
                    [row for row in group if row["bag_size"] == str(size)], "rounding"
                ).items()
                if name in DRAWN
            }
            for data, group in by_data.items()
        }
        for size in sizes
    }
    for column, label in SPECTRUM.items():
        panels[label] = {
            data: {
                f"bags of {size}": line(cell, "cuts", column)
                for (size,), cell in grouped(
                    [row for row in group if row["rounding"] == "rank_one"], "bag_size"
                ).items()
            }
            for data, group in by_data.items()
        }
    return line_grid(panels, "cuts")
