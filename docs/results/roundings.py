"""Accuracy of conv-pSVM by the number of cuts and the rounding; see convex.md.

The file has rows of further roundings, and columns on M, which earlier versions measured.
"""

from dataclasses import dataclass, field
from itertools import product

import numpy as np
from shown import line_grid
from sklearn.model_selection import train_test_split
from study import HERE, REAL, complete, labeled, lines

from propcvx.datasets import BaggedData, random_bags
from propcvx.estimators import paper_conv_psvm
from propcvx.relaxation import CuttingPlanes, RelaxationResult
from propcvx.relaxation.rounding import ROUNDINGS

STOPS = (1, 2, 5, 10)


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
    """One row for each stop and rounding: all use one relaxation."""
    X, labels = labeled(data)
    shuffled = np.random.RandomState(split).permutation(len(X))
    X, labels = X[shuffled], labels[shuffled]
    parts = train_test_split(X, labels, test_size=0.2, stratify=labels, random_state=split)
    train, test = (
        BaggedData.from_labels(features, known, random_bags(known, bag_size, split))
        for features, known in zip(parts[:2], parts[2:], strict=True)
    )
    recorded = Recorded(CuttingPlanes(oracle="coordinate", max_cuts=max(STOPS)))
    paper_conv_psvm(C=1.0, relaxation=recorded).fit(train.X, train.y)
    for stop, name in product(STOPS, ROUNDINGS):
        reached = Reached(recorded.rounds[min(stop, len(recorded.rounds)) - 1])
        model = paper_conv_psvm(C=1.0, relaxation=reached, rounding=name)
        model.fit(train.X, train.y)
        yield {
            "cuts": stop,
            "rounding": name,
            "accuracy": np.mean(model.predict(test.X) == test.labels),
            "bag_error": -model.score(test.X, test.y),
            "right": np.mean(model.transduction_ == train.labels),
        }


if __name__ == "__main__":
    keys = ("split", "data", "bag_size")
    cells = [dict(zip(keys, c, strict=True)) for c in product(range(10), REAL, (8, 32, 64))]
    rows = complete(HERE / "roundings.csv", cells, measure)
    rows = rows[rows["rounding"].isin(ROUNDINGS)]
    print(rows.pivot_table("accuracy", ["data", "rounding"], "cuts").round(3).to_string())
    sizes = rows.groupby("bag_size")
    panels = {
        f"bags of {size}": lines(part, "rounding", "cuts", "accuracy") for size, part in sizes
    }
    line_grid({"accuracy": panels}, "cuts").savefig(HERE / "roundings.png", dpi=110)
