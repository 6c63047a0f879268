"""What the relaxation's matrix preserves of the shares, on real sets; see convex.md."""

from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from study import HERE, REAL, complete, labelled

from propcvx import Bags, ConvPropSVM, CuttingPlanes, bag_target, proportions_of
from propcvx.datasets import random_bags

CUTS = (2, 5, 10)


def measure(data, bag_size, draw):
    """For each number of cuts: the factor of the leading eigenvector's shares, and its bound."""
    X, labels = labelled(data)
    bags = random_bags(labels, bag_size, draw)
    y = bag_target(bags, proportions_of(labels, bags))
    of = Bags.from_target(y)
    sums = of.sizes * (2.0 * of.proportions - 1.0)
    square = np.sum(sums**2 / of.sizes)
    for cuts in CUTS:
        planes = CuttingPlanes(oracle="coordinate", max_cuts=cuts)
        result = ConvPropSVM(C=1.0, relaxation=planes).fit(X, y).relaxation_
        matrix = result.vectors.T @ (result.weights[:, None] * result.vectors)
        values, vectors = np.linalg.eigh(matrix)
        of_bags = np.sqrt(values[-1]) * (of.membership @ vectors[:, -1])
        factor = of_bags @ (sums / of.sizes) / square
        assert np.allclose(of_bags, factor * sums)
        yield {
            "cuts": cuts,
            "largest_weight": result.weights.max(),
            "lost": 1.0 - factor**2,
            "bound": values[-2] / square,
        }


def picture(path):
    """What is lost beside its bound, a point for each relaxation."""
    rows = pd.read_csv(HERE / "preserved.csv")
    figure, axes = plt.subplots(
        1, 3, figsize=(10, 3), sharey=True, sharex=True, layout="constrained"
    )
    for ax, (data, group) in zip(axes, rows.groupby("data", sort=False), strict=True):
        for size, each in group.groupby("bag_size"):
            ax.plot(each["bound"], each["lost"], ".", alpha=0.6, label=f"bags of {size}")
        line = np.geomspace(0.1, 1.0)
        ax.plot(line, line, color="0.8", zorder=0)
        ax.set(title=data, xlabel="bound", xscale="log")
    axes[0].set(ylabel="1 - c squared", ylim=(0.0, 1.05))
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center")
    figure.savefig(path, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    every = [
        {"data": data, "bag_size": size, "draw": draw}
        for data, size, draw in product(REAL, (2, 4, 8, 32), range(5))
    ]
    complete(HERE / "preserved.csv", every, measure)
    picture(HERE / "preserved.png")
