"""Fits on a cluster of two processes beside fits to chunks on this machine."""

import os
import signal
import time

import numpy as np
import pandas as pd
import pytest
from test_chunks import Data, assert_same

from propcvx import AlterPropSVM, InvCal, MeanMap, MethodStart, RandomStart, bag_target, fit_chunks
from propcvx.errors import InputError

distributed = pytest.importorskip("distributed")
dd = pytest.importorskip("dask.dataframe")
on_cluster = pytest.importorskip("propcvx.dask")


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        distributed.LocalCluster(processes=True, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def frame_of(data, n_partitions):
    """A Dask DataFrame with whole bags in its partitions."""
    frames = []
    for X, y, *weight in data.chunks(n_partitions):
        frame = pd.DataFrame(X, columns=list("abcd"))
        frame["bag"] = [y.dtype.metadata["ids"][code] for code in y["bag"]]
        frame["share"], frame["label"] = y["proportion"], y["label"]
        frames.append(frame.assign(**dict(zip(["weight"], weight, strict=False))))
    return dd.from_map(lambda frame: frame, frames)


COLUMNS = ["bag", "share", "label", "weight"]


@pytest.mark.parametrize(
    "model",
    [
        InvCal(C_p=3.0),
        MeanMap(lam=0.1),
        AlterPropSVM(random_state=1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_the_answer_is_that_of_one_machine(client, model):
    data = Data(n_bags=20, known=0.1, weights=True, unknown=(3,))
    if isinstance(model, AlterPropSVM):
        starts = [RandomStart(annealing=False), MethodStart("inv_cal", annealing=False)]
        model.set_params(init=starts, C_p=1.0, solver_tol=1e-4, max_iter=3)
    here = data.fit(model, 2)
    frame = frame_of(data, 4)
    there = getattr(on_cluster, type(model).__name__)(client=client, **model.get_params())
    there.fit(frame[list("abcd")], frame[COLUMNS])
    assert_same(there, here)
    assert list(there.to_local().predict(data.X)) == list(here.predict(data.X))
    predicted = there.predict(frame[list("abcd")]).compute()
    order = np.concatenate([y.dtype.metadata["ids"] for _, y, *_ in data.chunks(4)])
    assert len(predicted) == len(data.X)
    assert len(order) == 20
    d, n_parts = 4, 4
    sums = there.parts_.received / there.parts_.passes / n_parts
    assert sums < 8 * 3 * (d + 1) ** 2 + 4000  # matrices of the features, never rows


def parted(frame, *numbers):
    """The partitions of a frame with these numbers, None being an empty one."""
    parts = [frame.partitions[number].compute() for number in range(frame.npartitions)]
    return dd.from_map(
        lambda part: part, [parts[0][:0] if n is None else parts[n] for n in numbers]
    )


@pytest.mark.parametrize("name", ["InvCal", "MeanMap", "AlterPropSVM"])
def test_empty_partitions_change_nothing(client, name):
    frame = frame_of(Data(n_bags=8), 2)
    given = {"max_iter": 2, "random_state": 0, "n_init": 1} if name == "AlterPropSVM" else {}
    without, beside = (
        getattr(on_cluster, name)(client=client, **given).fit(some[list("abcd")], some[COLUMNS[:3]])
        for some in (frame, parted(frame, None, 0, None, 1))
    )
    assert_same(beside, without)
    empty = parted(frame, None, None)
    with pytest.raises(InputError, match="no rows in their 2 partitions"):
        beside.fit(empty[list("abcd")], empty[COLUMNS[:3]])


@pytest.mark.parametrize(("column", "message"), [("a", "NaN"), ("share", "got 7.0")])
def test_an_error_in_a_partition_names_it(client, column, message):
    frame = parted(frame_of(Data(n_bags=8), 2), None, 0, 1)
    parts = [part.copy() for part in client.gather(client.compute(list(frame.partitions)))]
    parts[2][column] = np.nan if column == "a" else 7.0
    spoilt = dd.from_map(lambda part: part, parts)
    with pytest.raises(InputError, match=f"partition 2: .*{message}"):
        on_cluster.InvCal(client=client).fit(spoilt[list("abcd")], spoilt[COLUMNS[:3]])


def test_several_starts_in_memory_are_spread_by_joblib(client):
    joblib = pytest.importorskip("joblib")
    data = Data(n_bags=6)
    model = AlterPropSVM(init="random", n_init=2, annealing=False, random_state=0, n_jobs=2)
    one = AlterPropSVM(**{**model.get_params(), "n_jobs": 1}).fit(data.X, data.y)
    with joblib.parallel_config(backend="dask"):
        model.fit(data.X, data.y)
    assert (model.coef_ == one.coef_).all()


def test_a_bag_that_is_split_is_named_with_what_mends_it(client):
    data = Data(n_bags=6)
    rows = pd.DataFrame(data.X, columns=list("abcd")).assign(bag=data.bags)
    rows["share"] = rows["bag"].map(data.shares)
    split = dd.from_pandas(rows.sample(frac=1.0, random_state=0), npartitions=2)
    own = on_cluster.InvCal(client=client)
    with pytest.raises(InputError, match=r"bags \[.* are cut.* shuffle\('bag'\)"):
        own.fit(split[list("abcd")], split[["bag", "share"]])
    mended = split.shuffle("bag", npartitions=2)
    own.fit(mended[list("abcd")], mended[["bag", "share"]])
    assert_same(own, InvCal().fit(data.X, data.y))


def test_what_a_cluster_cannot_be_asked(client, monkeypatch):
    data = Data(n_bags=6)
    frame = frame_of(data, 2)
    own = on_cluster.InvCal(client=client)
    with pytest.raises(InputError, match="the same partitions, got 2 and 1"):
        own.fit(frame[list("abcd")], frame[COLUMNS[:3]].repartition(npartitions=1))
    with pytest.raises(InputError, match="columns 'bag' and 'share'"):
        own.fit(frame[list("abcd")], frame[["bag"]])
    with pytest.raises(InputError, match="must be Dask collections, got ndarray"):
        own.fit(data.X, frame[COLUMNS[:3]])
    monkeypatch.setattr(on_cluster, "__version__", "0.0.0")
    with pytest.raises(InputError, match=r"workers must have .*'0\.0\.0'"):
        own.fit(frame[list("abcd")], frame[COLUMNS[:3]])


@pytest.mark.slow
def test_more_data_than_a_worker_may_hold_and_a_worker_that_is_killed():
    """Partitions of 830 MB, two workers of 700 MB each, one of them killed in the middle."""
    n_parts, rows, d = 40, 130_000, 20
    columns = [f"x{j}" for j in range(d)]

    def partition(number):
        random = np.random.default_rng(number)
        bags = np.repeat(np.arange(100 * number, 100 * number + 100), rows // 100)
        shares = random.beta(2, 3, 100).round(2)[bags % 100]
        labels = np.where(np.arange(rows) % (rows // 100) < (rows // 100) * shares, 1, -1)
        frame = pd.DataFrame(random.normal(size=(rows, d)) + 0.3 * labels[:, None], columns=columns)
        return frame.assign(bag=bags, share=shares)

    model = AlterPropSVM(init=MethodStart("inv_cal", annealing=False), max_iter=1, solver_tol=1e-3)

    chunks = []
    for number in range(n_parts):
        frame = partition(number)
        shares = dict(zip(frame["bag"], frame["share"], strict=True))
        chunks.append((frame[columns], bag_target(frame["bag"].to_numpy(), shares)))
    here = fit_chunks(AlterPropSVM(**model.get_params()), chunks)
    del chunks
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        distributed.LocalCluster(processes=True, memory_limit="700MB", **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        frame = dd.from_map(partition, range(n_parts))
        pids = client.run(os.getpid)
        passes = []
        gathered = on_cluster.Partitions._gathered

        def killing(parts, futures):
            passes.append(1)
            if len(passes) == 8:
                os.kill(next(iter(pids.values())), signal.SIGKILL)
            return gathered(parts, futures)

        on_cluster.Partitions._gathered = killing
        started = time.perf_counter()
        there = on_cluster.AlterPropSVM(client=client, **model.get_params())
        try:
            there.fit(frame[columns], frame[["bag", "share"]])
        finally:
            on_cluster.Partitions._gathered = gathered
        print(len(passes), time.perf_counter() - started, there.parts_.received / len(passes))
        assert set(client.run(os.getpid).values()) != set(pids.values())
    assert_same(there, here)
