"""Fits to Dask collections: their time beside the number of instances, and beside reading alone."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.bench_data import generated, in_bags
from propcvx import MethodStart

ONE_START = MethodStart("inv_cal", annealing=False)


@pytest.mark.benchmark(group="Dask, one start, bags of 1,000")
@pytest.mark.parametrize("thousands", [100, 1000])
@pytest.mark.parametrize("side", ["AlterPropSVM", "InvCal", "reading"])
def test_growth_with_the_number_of_instances(benchmark, quick, tmp_path, side, thousands):
    dd, on_dask = pytest.importorskip("dask.dataframe"), pytest.importorskip("propcvx.dask")
    X, labels = generated(10 * thousands if quick else 1000 * thousands, 20)
    y, names = in_bags(labels, 10 if quick else 1000), [f"x{j}" for j in range(20)]
    rows = pd.DataFrame(X, columns=names).assign(bag=y["bag"], share=y["proportion"])
    for number, bags in enumerate(np.array_split(np.unique(y["bag"]), 2 if quick else 10)):
        rows[rows["bag"].isin(bags)].to_parquet(tmp_path / f"{number}.parquet")
    frame = dd.read_parquet(tmp_path)
    if side == "reading":
        benchmark(lambda: frame[names].sum().sum().compute())
        return
    parameters = {} if side == "InvCal" else {"init": ONE_START, "max_iter": 3, "solver_tol": 1e-4}
    model = getattr(on_dask, side)(**parameters)
    benchmark.pedantic(model.fit, (frame[names], frame[["bag", "share"]]), rounds=1)
    benchmark.extra_info["passes"] = model.n_passes_
    assert np.mean(model.predict(rows[names]) == labels) > 0.7
