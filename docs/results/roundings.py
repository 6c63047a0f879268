"""What becomes of the relaxation with more and more cuts, in every rounding; see convex.md.

The rows of roundings that the package does not have are of earlier versions.
"""

from dataclasses import dataclass, field
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
from shown import line_grid
from sklearn.model_selection import train_test_split
from study import HERE, REAL, complete, labelled, line, lines

from propcvx.datasets import BaggedData, random_bags
from propcvx.estimators import printed_conv_psvm
from propcvx.relaxation import CuttingPlanes, RelaxationResult
from propcvx.relaxation.rounding import (
    ROUNDINGS,
    LabelingSVM,
)

C = 1.0
STOPS = (1, 2, 5, 10)
DRAWN = ("rank_one", "mean", "nearest_to_rank_one", "best_cut", "polished")
WEIGHTS = (0.0, 0.45, 0.495, 0.505, 0.55, 1.0)
MADE_OF = ["leading", "second", "axis_cosine", "newest_cosine", "first_weight", "relaxation"]
SPECTRUM = {
    "leading": "leading eigenvalue's share",
    "axis_cosine": "cosine of leading\neigenvector and truth",
    "unused": "share of instances\nwith alpha = 0",
}


@dataclass
class Recorded:
    """A relaxation that keeps what it had reached after each round."""

    relaxation: CuttingPlanes
    rounds: list[RelaxationResult] = field(default_factory=list)

    def relax(self, *args, on_round, **options):
        """Solve the relaxation."""
        return self.relaxation.relax(*args, on_round=self.rounds.append, **options)


@dataclass(frozen=True)
class Reached:
    """A relaxation that was solved before."""

    result: RelaxationResult

    def relax(self, *args, **options):
        """What it has reached."""
        return self.result


def measure(split, data, bag_size):
    """One row for each stop and rounding: all share one relaxation."""
    X, labels = labelled(data)
    shuffled = np.random.RandomState(split).permutation(len(X))
    X, labels = X[shuffled], labels[shuffled]
    parts = train_test_split(X, labels, test_size=0.2, stratify=labels, random_state=split)
    train, test = (
        BaggedData.of(features, known, random_bags(known, bag_size, split))
        for features, known in zip(parts[:2], parts[2:], strict=True)
    )
    recorded = Recorded(CuttingPlanes(oracle="coordinate", max_cuts=max(STOPS)))
    printed_conv_psvm(C=C, relaxation=recorded).fit(train.X, train.y)
    mean = train.X.mean(axis=0)
    svm = LabelingSVM(train.X - mean, C)
    scores = (test.X - mean) @ svm.weights(train.labels)
    true_accuracy = np.mean(np.sign(scores) == test.labels)

    @cache
    def value(labeling):
        y = np.array(labeling)
        return svm.value(y, svm.weights(y))

    for stop, (name, rounding) in product(STOPS, ROUNDINGS.items()):
        reached = Reached(recorded.rounds[min(stop, len(recorded.rounds)) - 1])
        model = printed_conv_psvm(C=C, relaxation=reached, rounding=rounding)
        model.fit(train.X, train.y)
        yield {
            "cuts": stop,
            "rounding": name,
            "accuracy": np.mean(model.predict(test.X) == test.labels),
            "bag_error": -model.score(test.X, test.y),
            "right": np.mean(model.labeling_ == train.labels),
            "objective": value(tuple(model.labeling_)),
            "true_objective": value(tuple(train.labels)),
            "true_accuracy": true_accuracy,
            **spectrum(model.relaxation_, train.labels),
        }


def spectrum(result, labels):
    """What M is made of, and how its parts stand to the true labels.

    The value; the first two eigenvalues' shares of the trace; the absolute cosines of the leading
    eigenvector, of the newest labeling and of the first one with the truth; the weight of the
    first labeling; the share of instances without weight.
    """
    root = np.sqrt(result.weights)[:, None] * result.vectors
    _, singular, right = np.linalg.svd(root, full_matrices=False)
    shares = np.append(singular**2, 0.0) / np.square(singular).sum()
    cosines = np.abs(result.vectors @ labels) / len(labels)
    return {
        "relaxation": result.value,
        "n_cuts": len(result.vectors),
        "leading": shares[0],
        "second": shares[1],
        "axis_cosine": abs(right[0] @ labels) / np.sqrt(len(labels)),
        "newest_cosine": cosines[-1],
        "first_cosine": cosines[0],
        "first_weight": result.weights[0],
        "unused": np.mean(result.alpha < 1e-6 * C),
    }


def told(rows):
    """The rows, and those of the real-valued labelings if their sign were known."""
    known = rows[rows.rounding.isin(["rank_one", "mean"])]
    better = np.maximum(known.accuracy, 1.0 - known.accuracy)
    return pd.concat(
        [rows, known.assign(rounding=known.rounding + ", better sign", accuracy=better)]
    )


def show(rows):
    """Print all tables: means over splits, against the number of cuts."""
    once = rows[rows["rounding"] == "rank_one"]
    by_cuts = {"columns": "cuts", "aggfunc": "mean"}
    tables = {
        "Accuracy on held-out instances": told(rows).pivot_table(
            "accuracy", ["data", "rounding"], **by_cuts
        ),
        "SVM value of the labeling nearest to the scores": rows.pivot_table(
            "objective", ["data", "rounding"], **by_cuts
        ),
        "What M is made of": once.pivot_table(MADE_OF, ["data", "bag_size"], **by_cuts).stack(0),
    }
    two = once[once.cuts == 2]
    names = ["first_weight", "first_cosine", "newest_cosine", "axis_cosine", "accuracy"]
    weight = pd.cut(two.first_weight, WEIGHTS, right=False).rename("weight of the first")
    tables["After two cuts"] = two.groupby(weight, observed=True)[names].mean()
    for title, table in tables.items():
        print(f"\n{title}\n\n{table.round(3).to_string()}")


def draw(rows):
    """Accuracy of roundings, then what M is made of, against the number of cuts."""
    drawn, once = rows[rows["rounding"].isin(DRAWN)], rows[rows["rounding"] == "rank_one"]
    panels = {
        f"accuracy, bags of {size}": {
            data: lines(cell, "rounding", "cuts", "accuracy")
            for data, cell in group.groupby("data", sort=False)
        }
        for size, group in drawn.groupby("bag_size")
    }
    for column, label in SPECTRUM.items():
        panels[label] = {
            data: {
                f"bags of {size}": line(cell, "cuts", column)
                for size, cell in group.groupby("bag_size")
            }
            for data, group in once.groupby("data", sort=False)
        }
    return line_grid(panels, "cuts")


if __name__ == "__main__":
    keys = ("split", "data", "bag_size")
    cells = [dict(zip(keys, c, strict=True)) for c in product(range(10), REAL, (8, 32, 64))]
    rows = complete(HERE / "roundings.csv", cells, measure)
    show(rows)
    draw(rows).savefig(HERE / "roundings.png", dpi=110)
