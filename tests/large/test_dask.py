"""Fits to Dask collections beside fits in memory, and beside each other."""

import os
import pickle
import signal
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from joblib import parallel_config

from propcvx import (
    AlterPropSVM,
    Bags,
    InvCal,
    LaplacianMeanMap,
    MeanMap,
    MethodStart,
    RandomStart,
    bag_target,
    estimators,
    proportions_of,
)
from propcvx.errors import InaccurateSolutionWarning, InputError, PoorFitWarning
from propcvx.labelings.losses import INSTANCE_LOSSES

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
on_dask = pytest.importorskip("propcvx.dask")
partitions = pytest.importorskip("propcvx.large.partitions")
methods = pytest.importorskip("propcvx.large.methods")

pytestmark = pytest.mark.process

FEATURES = list("abcd")
FROM_INV_CAL = MethodStart("inv_cal", annealing=False)


@pytest.fixture(autouse=True)
def scheduler():
    """No processes and no threads, where a test asks for no others."""
    with dask.config.set(scheduler="synchronous"):
        yield


class Data:
    """Overlapping classes in bags of one to forty, some labels known, in partitions."""

    def __init__(self, seed=0, n_bags=110, known=0.0, weights=False, unknown=(), offset=3.0):
        random = np.random.default_rng(seed)
        sizes = random.integers(1, 41, n_bags)
        self.bags = np.repeat(np.arange(n_bags), sizes)
        shares = random.beta(1.0, 2.0, n_bags)
        self.labels = np.where(random.random(len(self.bags)) < shares[self.bags], 1, -1)
        self.X = random.normal(size=(len(self.bags), 4)) + offset
        self.X += 0.7 * self.labels[:, None] * np.arange(4) / 3
        self.shares = {**proportions_of(self.labels, self.bags), **dict.fromkeys(unknown)}
        shown = random.random(len(self.bags)) < known
        self.known = np.where(shown, self.labels, 0)
        self.weight = random.integers(0, 4, len(self.bags)).astype(float) if weights else None

    @property
    def y(self):
        return bag_target(self.bags, self.shares, labels=self.known)

    @property
    def rows(self):
        shares = [self.shares[bag] for bag in self.bags.tolist()]
        rows = pd.DataFrame(self.X, columns=FEATURES)
        rows = rows.assign(bag=self.bags, share=np.array(shares, dtype=float), label=self.known)
        return rows if self.weight is None else rows.assign(weight=self.weight)

    def parts(self, n_parts, shuffled=False):
        rows, order = self.rows, np.arange(self.bags.max() + 1)
        if shuffled:
            rows, order = rows.sample(frac=1.0, random_state=1), order[::-1]
        return [rows[rows["bag"].isin(bags)] for bags in np.array_split(order, n_parts)]

    def fit(self, model, n_parts, shuffled=False):
        return fitted(model, collection(self.parts(n_parts, shuffled)))


def collection(parts):
    return dd.from_map(lambda part: part, parts)


def fitted(model, frame):
    """The estimator on Dask with the parameters of one in memory, fitted."""
    on_collections = getattr(on_dask, type(model).__name__)(**model.get_params())
    bags = [name for name in frame.columns if name not in FEATURES]
    return on_collections.fit(*dask.persist(frame[FEATURES], frame[bags]))


def assert_same(first, other, rel=1e-8):
    size = np.abs(other.coef_).max() + np.abs(other.intercept_).max()
    assert first.coef_ == pytest.approx(other.coef_, rel=rel, abs=rel * size)
    assert first.intercept_ == pytest.approx(other.intercept_, rel=rel, abs=rel * size)
    assert first.objective_ == pytest.approx(other.objective_, rel=rel)


@pytest.mark.parametrize(
    "method",
    [
        InvCal(C_p=10.0),
        InvCal(epsilon="sampling", scaled_epsilon=True, bag_weights="size", solver_tol=1e-9),
        MeanMap(lam=0.01, solver="logistic"),
        MeanMap(likelihood="sum", fit_intercept=False, solver="logistic"),
        LaplacianMeanMap(solver="logistic"),
    ],
)
@pytest.mark.parametrize(
    "options", [{}, {"known": 0.2, "weights": True, "unknown": (3, 20)}], ids=["plain", "all"]
)
def test_methods_of_means_are_those_in_memory(method, options):
    data = Data(n_bags=30, **options)
    in_memory = method.fit(data.X, data.y, data.weight)
    for n_parts in (1, 7):
        assert_same(data.fit(method, n_parts, shuffled=n_parts == 7), in_memory)


@pytest.mark.parametrize(
    ("C", "options"),
    [
        (1e-4, {}),
        (1.0, {"known": 0.2, "weights": True, "unknown": range(0, 110, 4)}),
        (1e2, {"known": 0.2}),
    ],
)
def test_alter_from_a_start_that_is_told_is_the_one_in_memory(C, options):
    data = Data(**options)
    assert len(data.X) > 2000
    model = AlterPropSVM(C=C, C_p=10 * C, init=FROM_INV_CAL, solver="newton", solver_tol=1e-3)
    model.fit(data.X, data.y, data.weight)
    there = data.fit(model, 6)
    assert_same(there, model)
    assert there.history_.objectives == pytest.approx(model.history_.objectives)
    assert (there.predict(data.rows[FEATURES]) == model.predict(data.X)).all()


@pytest.mark.parametrize("known", [0.3, 1.0])
def test_what_is_known_decides_whether_the_start_counts_as_in_memory(known):
    data = Data(n_bags=12)
    random, labels = np.random.RandomState(0), np.where(data.y["proportion"] > 0.5, 1, -1)
    labels = np.where(random.uniform(size=len(labels)) < known, random.permutation(labels), 0)
    rows = data.rows.assign(label=labels, share=np.nan)
    y = bag_target(rows["bag"].to_numpy(), dict.fromkeys(rows["bag"].unique(), None), labels)
    there = fitted(AlterPropSVM(), collection([rows]))
    assert_same(there, AlterPropSVM(solver="newton").fit(data.X, y))


def test_annealing_and_few_instances_are_as_in_memory():
    data = Data(n_bags=4)
    model = AlterPropSVM(1.0, 0.5, init=MethodStart("inv_cal"), solver="newton", solver_tol=1e-2)
    model.fit(data.X, data.y)
    there = data.fit(model, 2)
    assert_same(there, model)
    assert len(there.history_) == len(model.history_) > 20


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "huberised_hinge", "logistic"])
def test_random_starts_depend_on_neither_partitions_nor_the_order_of_rows(loss):
    data = Data(seed=2, n_bags=6)
    starts = [RandomStart(1, annealing=False), FROM_INV_CAL]
    model = AlterPropSVM(0.3, 10.0, init=starts, instance_loss=loss, random_state=5)
    model.set_params(solver_tol=1e-6, start_weight=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InaccurateSolutionWarning)
        first = data.fit(model, 1)
        other = data.fit(model, 3, shuffled=True)
    assert_same(other, first)
    assert other.start_objectives_ == pytest.approx(first.start_objectives_, rel=1e-8)
    problem, scores = (
        first._problem(Bags.from_target(data.y), lambda: 1.0),
        first.decision_function(data.rows[FEATURES]),
    )
    labels = problem.best_labeling(scores)  # a fixed point of both steps
    value = 0.5 * np.square(first.coef_).sum() + problem.loss.total(
        problem.bags, problem.weights, labels
    )
    losses = INSTANCE_LOSSES[loss].of(labels, scores).sum()
    assert value + 0.3 * losses == pytest.approx(first.objective_, rel=1e-9)
    step = AlterPropSVM(C=0.3, init=labels, annealing=False, instance_loss=loss, solver_tol=1e-8)
    assert first.objective_ <= step.fit(data.X, data.y).objective_ * (1 + 1e-6)


def test_drawn_labels_are_fair_and_a_function_of_the_content():
    random = np.random.default_rng(0)
    X = np.vstack([random.normal(size=(3000, 2)), np.zeros((1000, 2))])
    table = pd.DataFrame({"bag": np.arange(4000) % 40, "share": 0.5})
    table["weight"] = np.repeat([0.3, 0.7], 2000)

    def drawn(seed, order=slice(None), mean_weight=1.0):
        frame = partitions.Frame(mean_weight=mean_weight)  # whose last digits partitions change
        part = partitions.Part(X[order], table.iloc[order], frame)
        return methods.drawn_labels(part, seed)

    labels = drawn(1)
    assert abs(labels.mean()) < 0.06
    assert abs(labels[3000:].mean()) < 0.12  # equal instances have labels of their own
    assert not (labels == drawn(2)).all()
    assert (labels == drawn(1, mean_weight=0.6)).all()
    order = random.permutation(4000)
    assert (drawn(1, order)[np.argsort(order)] == labels)[:3000].all()


def test_exchanged_classes_give_the_opposite_plane():
    data, mirrored = Data(seed=3, n_bags=12), Data(seed=3, n_bags=12)
    mirrored.shares = {bag: 1.0 - share for bag, share in data.shares.items()}
    model = AlterPropSVM(init="mixed", n_init=1, annealing=False, random_state=0, solver_tol=1e-4)
    first, other = data.fit(model, 2), mirrored.fit(model, 3)
    assert first.coef_ == pytest.approx(-other.coef_, rel=1e-8)
    assert first.intercept_ == pytest.approx(-other.intercept_, rel=1e-8)


@pytest.mark.parametrize(("after", "n_starts"), [(40, 1), (300, 2)])
def test_an_interruption_keeps_the_best_so_far(monkeypatch, after, n_starts):
    data, passes = Data(n_bags=4), []
    compute = dask.compute

    def interrupted(*tasks):
        passes.append(1)
        if len(passes) == after:
            raise KeyboardInterrupt
        return compute(*tasks)

    monkeypatch.setattr(dask, "compute", interrupted)
    model = on_dask.AlterPropSVM(
        init=RandomStart(50, annealing=False), random_state=0, solver_tol=1e-1
    )
    frame = collection(data.parts(2))
    with pytest.raises(KeyboardInterrupt):
        model.fit(frame[FEATURES], frame[["bag", "share"]])
    assert model.stop_reason_.name == "INTERRUPTED"
    assert len(model.start_objectives_) >= n_starts
    assert set(model.predict(data.rows[FEATURES])) <= {-1, 1}


@pytest.mark.parametrize("kind", ["array", "columns in blocks", "sparse", "float32"])
def test_features_may_be_any_dask_collection(kind):
    data = Data(n_bags=12)
    parts = data.parts(3)
    blocks = [part[FEATURES].to_numpy() for part in parts]
    if kind == "sparse":
        blocks = [dask.delayed(sp.csr_array)(block) for block in blocks]
        delayed = [
            da.from_delayed(b, (np.nan, 4), dtype=float, meta=np.empty((0, 4))) for b in blocks
        ]
        features = da.concatenate(delayed, allow_unknown_chunksizes=True)
    elif kind == "float32":
        features = collection([part[FEATURES].astype(np.float32) for part in parts])
    else:
        features = da.concatenate(blocks)
        if kind == "columns in blocks":
            features = features.rechunk({1: 2})
    bags = collection(parts)[["bag", "share"]]
    there = on_dask.InvCal().fit(features, bags)
    assert_same(there, InvCal().fit(data.X, data.y), rel=1e-6 if kind == "float32" else 1e-8)
    predicted = there.predict(features).compute()
    assert (predicted == there.to_local().predict(data.X)).all()


def test_the_fitted_estimator_is_one_of_propcvx():
    data = Data(n_bags=12)
    there, here = data.fit(InvCal(C_p=2.0), 3), InvCal(C_p=2.0).fit(data.X, data.y)
    assert type(there.to_local()) is estimators.InvCal
    assert list(there.feature_names_in_) == FEATURES
    assert there.to_local().score(data.rows[FEATURES], data.y) == pytest.approx(
        here.score(data.X, data.y)
    )
    assert not hasattr(there, "labeling_")
    assert not hasattr(there, "predict_proba")
    frame = collection([data.rows[:0], *data.parts(2)])
    rows = frame.assign(positive=there.predict(frame[FEATURES]) > 0)
    by_bag = rows.groupby("bag").agg({"share": "first", "positive": "mean"}).compute()
    error = (by_bag["share"] - by_bag["positive"]).abs().mean()
    assert error == pytest.approx(-here.score(data.X, data.y))


@pytest.mark.parametrize("name", ["InvCal", "MeanMap", "AlterPropSVM"])
def test_empty_partitions_change_nothing(name):
    options = (
        {"max_iter": 2, "init": FROM_INV_CAL, "solver_tol": 1e-4} if name == "AlterPropSVM" else {}
    )
    model, parts = getattr(estimators, name)(**options), Data(n_bags=8).parts(2)
    empty = parts[0][:0]
    without = fitted(model, collection(parts))
    assert_same(fitted(model, collection([empty, parts[0], empty, parts[1]])), without)
    with pytest.raises(InputError, match="no rows in their 2 partitions"):
        fitted(model, collection([empty, empty]))


def test_small_files_that_dask_would_join_stay_what_they_are(tmp_path):
    data = Data(n_bags=12)
    for number, part in enumerate(data.parts(6)):
        part.to_parquet(tmp_path / f"{number}.parquet")
    frame = dd.read_parquet(tmp_path)
    frame = frame[frame["bag"] >= 0]
    for name in ("InvCal", "EcologicalRegression"):
        there = getattr(on_dask, name)().fit(frame[FEATURES], frame[["bag", "share"]])
        assert_same(there, getattr(estimators, name)().fit(data.X, data.y))
    predicted = frame.assign(right=there.predict(frame[FEATURES]))[["right"]].compute()["right"]
    assert (predicted.to_numpy() == there.predict(data.rows[FEATURES])).all()


def spoilt(column, row, value):
    """Parts of which the last one has another value in one place."""
    parts = Data(n_bags=8, known=0.1, weights=True).parts(3)
    parts[2] = parts[2].astype({column: object if value == "?" else float})
    parts[2].iloc[row, parts[2].columns.get_loc(column)] = value
    return parts


@pytest.mark.parametrize(
    ("column", "row", "value", "message"),
    [
        ("a", 1, np.nan, "features contains NaN"),
        ("a", 1, "?", "could not convert string to float"),
        ("share", slice(None), 7.0, "got 7.0"),
        ("share", 1, 0.123, r"share must be the same in all rows of a bag, .* bags \[[567]\]"),
        ("share", 1, np.nan, r"share must be the same in all rows of a bag, .* bags \[[567]\]"),
        ("label", 1, 3, "labels must be -1, .1, or 0 where unknown, got 3"),
        ("weight", 1, -1.0, "weight must be a finite number of at least 0"),
        ("bag", 1, np.nan, "must not contain None or NaN"),
    ],
)
def test_an_error_in_a_partition_names_it(column, row, value, message):
    with pytest.raises(InputError, match=f"partition 2: .*{message}"):
        fitted(InvCal(), collection(spoilt(column, row, value)))


def test_a_bag_that_is_cut_is_named_with_what_mends_it():
    data = Data(n_bags=6)
    cut = dd.from_pandas(data.rows.sample(frac=1.0, random_state=0), npartitions=2)
    with pytest.raises(InputError, match=r"bag . is cut between the partitions 0 and 1.*shuffle"):
        fitted(InvCal(), cut)
    assert_same(fitted(InvCal(), cut.shuffle("bag", npartitions=2)), InvCal().fit(data.X, data.y))


def test_collections_that_do_not_fit_together():
    data = Data(n_bags=6)
    parts = data.parts(2)
    frame, model = collection(parts), on_dask.InvCal()
    features, bags = frame[FEATURES], frame[["bag", "share"]]
    renamed = dask.delayed(parts[1][FEATURES].rename(columns={"d": "e"}))
    others = dd.from_delayed([dask.delayed(parts[0][FEATURES]), renamed], verify_meta=False)
    shorter = collection([parts[0], parts[1][1:]])[FEATURES]
    for arguments, message in [
        ((features, bags.repartition(npartitions=1)), "the same partitions, got 2 and 1"),
        ((features, frame[["bag"]]), "columns 'bag' and 'share'"),
        ((features, features.to_dask_array()), "columns 'bag' and 'share'"),
        ((data.X, bags), "must be Dask collections .*, got ndarray"),
        ((frame["a"], bags), "with rows and columns, got Series"),
        ((others, bags), r"partition 1: features must have the columns \['a'.*got \['a', .*'e'\]"),
        ((shorter, bags), "partition 1: features must have .* a row for each of the"),
        ((features, bags.assign(share=np.nan)), "must have a share or a known label"),
        ((features, bags.assign(weight=0.0)), "and a weight above 0"),
    ]:
        with pytest.raises(InputError, match=message):
            model.fit(*arguments)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (InvCal(kernel="rbf"), "kernel must be 'linear'"),
        (MeanMap(solver="clarabel"), "solver must be 'auto' or 'logistic'"),
        (AlterPropSVM(polish="swaps"), "polish must be 'none'"),
        (AlterPropSVM(solver="libsvm"), "solver must be 'auto' or 'newton'"),
        (AlterPropSVM(init="conv"), "init must be 'auto', 'mixed', 'random', 'ecological'"),
        (AlterPropSVM(instance_loss=INSTANCE_LOSSES["hinge"]), "instance_loss must be one of"),
        (AlterPropSVM(bag_weights=np.ones(12)), "bag_weights must be 'size', 'bag', or keyed"),
    ],
)
def test_what_needs_all_instances_in_memory_is_refused(model, message):
    with pytest.raises(InputError, match=message):
        Data(n_bags=12).fit(model, 2)


def test_a_poor_fit_is_no_error():
    with warnings.catch_warnings():
        warnings.simplefilter("error", PoorFitWarning)
        Data(n_bags=12).fit(InvCal(C_p=1e-9), 2)


def test_threads_give_the_same_and_only_sums_come_back(monkeypatch):
    data = Data(n_bags=20, known=0.1, weights=True)
    model = AlterPropSVM(init=FROM_INV_CAL, C_p=1.0, max_iter=2)
    here, received = data.fit(model, 4), []
    compute = dask.compute

    def measured(*tasks):
        answers = compute(*tasks)
        received.append(len(pickle.dumps(answers)) / len(tasks))
        return answers

    monkeypatch.setattr(dask, "compute", measured)
    with dask.config.set(scheduler="threads"):
        there = data.fit(model, 4)
    assert_same(there, here, rel=1e-15)
    assert len(received) == there.n_passes_
    assert np.median(received) < 1000  # matrices of the features, never rows


def test_a_cluster_gives_the_same():
    data = Data(n_bags=20, known=0.1, weights=True, unknown=(3,))
    starts = [RandomStart(annealing=False), FROM_INV_CAL]
    model = AlterPropSVM(random_state=1, init=starts, C_p=1.0, solver_tol=1e-1, max_iter=1)
    here = data.fit(model, 2)
    in_memory = AlterPropSVM(init="random", n_init=2, annealing=False, random_state=0)
    in_memory.fit(data.X, data.y)
    coef = in_memory.coef_
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        dask.config.set(scheduler=None),
        distributed.LocalCluster(processes=True, **options) as cluster,
        distributed.Client(cluster),
    ):
        assert_same(data.fit(model, 3), here)
        with pytest.raises(InputError, match=r"partition 2: .*share must be"):
            fitted(InvCal(), collection(spoilt("share", 1, 0.5)))
        with parallel_config(backend="dask"):
            in_memory.set_params(n_jobs=2).fit(data.X, data.y)
    assert (in_memory.coef_ == coef).all()


@pytest.mark.slow
def test_more_data_than_a_worker_may_hold_and_a_worker_that_is_killed(monkeypatch):
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

    model = on_dask.AlterPropSVM(init=FROM_INV_CAL, max_iter=1, solver_tol=1e-3)
    frame = dd.from_map(partition, range(n_parts))
    here = model.fit(*dask.persist(frame[columns], frame[["bag", "share"]])).to_local()
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        dask.config.set(scheduler=None),
        distributed.LocalCluster(processes=True, memory_limit="700MB", **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        frame = frame.persist()
        pids = client.run(os.getpid)
        passes, compute = [], dask.compute

        def killing(*tasks):
            passes.append(1)
            if len(passes) == 8:
                os.kill(next(iter(pids.values())), signal.SIGKILL)
            return compute(*tasks)

        monkeypatch.setattr(dask, "compute", killing)
        there = model.fit(frame[columns], frame[["bag", "share"]])
        assert set(client.run(os.getpid).values()) != set(pids.values())
    assert_same(there, here)
