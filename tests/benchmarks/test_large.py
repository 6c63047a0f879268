"""Passes over chunks: their time beside the number of instances, and beside reading alone."""

import numpy as np
import pytest

from benchmarks.bench_data import generated, in_bags
from propcvx import AlterPropSVM, InvCal, MethodStart, fit_chunks

ONE_START = MethodStart("inv_cal", annealing=False)


def chunks_of(X, y, rows):
    """Chunks of whole bags, which follow each other."""
    order = np.argsort(y["bag"], kind="stable")
    X, y = X[order], y[order]
    ends = np.flatnonzero(np.diff(y["bag"], append=-1)) + 1
    cuts = ends[np.searchsorted(ends, np.arange(rows, len(y) + rows, rows).clip(max=len(y)))]
    return [(X[a:b], y[a:b]) for a, b in zip([0, *cuts[:-1]], cuts, strict=True) if a < b]


@pytest.mark.benchmark(group="chunks, one start, bags of 1,000")
@pytest.mark.parametrize("rows", [10_000, 100_000, None])
@pytest.mark.parametrize("thousands", [100, 1000])
@pytest.mark.parametrize("side", ["alter-pSVM", "InvCal", "reading"])
def test_growth_with_the_number_of_instances(benchmark, quick, side, thousands, rows):
    X, labels = generated(10 * thousands if quick else 1000 * thousands, 20)
    n, size = len(X), 10 if quick else 1000
    own = chunks_of(X, in_bags(labels, size), rows or n)
    if side == "reading":
        benchmark(lambda: [X.sum() for X, _ in own])
        return
    model = InvCal() if side == "InvCal" else AlterPropSVM(init=ONE_START, max_iter=3)
    passes = []

    def counted():
        passes.append(len(own))
        return iter(own)

    fitted = benchmark.pedantic(fit_chunks, (model, counted), rounds=1)
    benchmark.extra_info["passes"] = len(passes)
    predicted = np.sign(X @ fitted.coef_[0] + fitted.intercept_[0])
    assert np.mean(predicted == labels) > 0.7
