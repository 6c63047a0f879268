"""Explicit feature maps before linear alter-pSVM, beside the exact kernel; see methods.md."""

from time import process_time

import numpy as np
from reproduction.evaluation import Sample
from shown import line_grid
from sklearn.kernel_approximation import AdditiveChi2Sampler, Nystroem, RBFSampler
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from study import HERE, complete, labelled, lines, mixed_psvm

from propcvx import InvCal, MethodStart
from propcvx.datasets import random_bags

SIZES = (1_000, 4_000, 16_000, 64_000)
MOST_EXACT = 4_000
"""Training instances up to which the Gram matrix is computed."""
BAG_SIZE = 64
N_TEST = 20_000
N_COMPONENTS = 100
GAMMA = 1.0
"""Of the Gaussian kernel, for attributes scaled to [-1, 1]."""
START = MethodStart(InvCal(C_p=1e3), annealing=False)
"""What reaches the accuracy of an SVM with all labels on this set, see alternating.md."""

MAPS = {
    "none": lambda seed: MinMaxScaler((-1, 1)),
    "random Fourier": lambda seed: make_pipeline(
        MinMaxScaler((-1, 1)), RBFSampler(gamma=GAMMA, n_components=N_COMPONENTS, random_state=seed)
    ),
    "Nystroem": lambda seed: make_pipeline(
        MinMaxScaler((-1, 1)), Nystroem(gamma=GAMMA, n_components=N_COMPONENTS, random_state=seed)
    ),
    "additive chi-squared": lambda seed: make_pipeline(
        MinMaxScaler((0, 1), clip=True), AdditiveChi2Sampler()
    ),
    "exact Gaussian": lambda seed: MinMaxScaler((-1, 1)),
}
"""What comes before alter-pSVM."""


def measure(split, features, n_instances):
    """Test accuracy in percent, and processor time of the map and the fit."""
    X, labels = labelled("cod-rna.t")
    X, X_test, labels, test = train_test_split(
        X, labels, train_size=n_instances, test_size=N_TEST, random_state=split
    )
    sample = Sample.in_bags(X, labels, random_bags(labels, BAG_SIZE, split))
    kernel = {"kernel": "rbf", "gamma": GAMMA} if features == "exact Gaussian" else {}
    model = make_pipeline(MAPS[features](split), mixed_psvm(init=START, **kernel))
    start = process_time()
    model.fit(sample.X, sample.y)
    seconds = process_time() - start
    accuracy = 100.0 * np.mean(model.predict(X_test) == test)
    yield {"accuracy": accuracy, "seconds": seconds}


if __name__ == "__main__":
    cells = [
        {"split": split, "features": features, "n_instances": size}
        for size in SIZES
        for split in range(3)
        for features in MAPS
        if features != "exact Gaussian" or size <= MOST_EXACT
    ]
    rows = complete(HERE / "feature_maps.csv", cells, measure)
    table = rows.groupby(["features", "n_instances"], sort=False)[["accuracy", "seconds"]]
    print(table.agg(["mean", "std"]).round(2).to_string())
    panels = {
        label: {"cod-rna.t": lines(rows, "features", "n_instances", column)}
        for label, column in (("accuracy in percent", "accuracy"), ("seconds of a fit", "seconds"))
    }
    figure = line_grid(panels, "training instances", log=True)
    figure.savefig(HERE / "feature_maps.png", dpi=110)
