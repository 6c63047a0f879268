"""Fits to chunks beside fits in memory, and beside each other."""

import warnings

import numpy as np
import pandas as pd
import pytest

from propcvx import (
    AlterPropSVM,
    BagKFold,
    Bags,
    ConvPropSVM,
    InvCal,
    LaplacianMeanMap,
    MeanMap,
    MethodStart,
    RandomStart,
    bag_error,
    bag_target,
    fit_chunks,
    parquet_chunks,
    predict_chunks,
    proportions_of,
    score_chunks,
    split_chunks,
)
from propcvx.errors import InaccurateSolutionWarning, InputError, PoorFitWarning
from propcvx.labelings.losses import INSTANCE_LOSSES
from propcvx.large.alter import drawn_labels

FROM_INV_CAL = MethodStart("inv_cal", annealing=False)


class Data:
    """Overlapping classes in bags of one to forty, some labels known, in any number of chunks."""

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

    def chunks(self, n_chunks, shuffled=False):
        order = np.arange(self.bags.max() + 1)
        rows = np.arange(len(self.bags))
        if shuffled:
            random = np.random.default_rng(n_chunks)
            order, rows = random.permutation(order), random.permutation(rows)
        for bags in np.array_split(order, n_chunks):
            inside = rows[np.isin(self.bags[rows], bags)]
            shares = {bag: self.shares[bag] for bag in bags.tolist()}
            y = bag_target(self.bags[inside], shares, labels=self.known[inside])
            chunk = self.X[inside], y
            yield chunk if self.weight is None else (*chunk, self.weight[inside])

    def fit(self, model, n_chunks, shuffled=False):
        return fit_chunks(model, lambda: self.chunks(n_chunks, shuffled))


def assert_same(one, other, rel=1e-8):
    size = np.abs(other.coef_).max() + np.abs(other.intercept_).max()
    assert one.coef_ == pytest.approx(other.coef_, rel=rel, abs=rel * size)
    assert one.intercept_ == pytest.approx(other.intercept_, rel=rel, abs=rel * size)
    assert one.objective_ == pytest.approx(other.objective_, rel=rel)


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
    in_memory = method.__class__(**method.get_params()).fit(data.X, data.y, data.weight)
    for n_chunks in (1, 7):
        assert_same(data.fit(method, n_chunks, shuffled=n_chunks == 7), in_memory)
    assert method.n_features_in_ == 4


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
    model = AlterPropSVM(C=C, C_p=10 * C, init=FROM_INV_CAL, solver="newton", max_iter=20)
    in_memory = AlterPropSVM(**model.get_params()).fit(data.X, data.y, data.weight)
    for n_chunks in (1, 6):
        fitted = data.fit(model, n_chunks)
        assert_same(fitted, in_memory, rel=1e-8)
        weighing = slice(None) if data.weight is None else data.weight > 0
        assert (fitted.labeling_ == in_memory.labeling_)[weighing].all()
        assert fitted.history_.objectives == pytest.approx(in_memory.history_.objectives)
    assert (fitted.transduce() == fitted.labeling_).all()
    assert (fitted.predict(data.X) == in_memory.predict(data.X)).all()


def test_annealing_and_few_instances_are_as_in_memory():
    data = Data(n_bags=8)
    model = AlterPropSVM(init="inv_cal", solver="newton", C_p=0.5)
    in_memory = AlterPropSVM(**model.get_params()).fit(data.X, data.y)
    assert_same(data.fit(model, 3), in_memory)
    assert len(model.history_) == len(in_memory.history_) > 20


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "huberised_hinge", "logistic"])
def test_random_starts_depend_on_neither_chunks_nor_the_order_of_rows(loss):
    data = Data(seed=2, n_bags=8)
    starts = [RandomStart(1, annealing=False), FROM_INV_CAL]
    model = AlterPropSVM(C=0.3, init=starts, instance_loss=loss, random_state=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InaccurateSolutionWarning)
        one = data.fit(AlterPropSVM(**model.get_params()), 1)
        for n_chunks, shuffled in ((2, False), (5, True)):
            other = data.fit(model, n_chunks, shuffled)
            assert_same(other, one)
            assert other.start_objectives_ == pytest.approx(one.start_objectives_, rel=1e-8)
    problem = one._problem(Bags.from_target(data.y))
    labels, scores = one.labeling_.astype(float), one.decision_function(data.X)
    assert (problem.best_labeling(scores) == labels).all()  # a fixed point of both steps
    value = 0.5 * np.square(one.coef_).sum() + problem.loss.total(
        problem.bags, problem.weights, labels
    )
    losses = INSTANCE_LOSSES[loss].of(labels, scores).sum()
    assert value + 0.3 * losses == pytest.approx(one.objective_, rel=1e-9)
    step = AlterPropSVM(C=0.3, init=labels, annealing=False, instance_loss=loss, solver_tol=1e-8)
    assert one.objective_ <= step.fit(data.X, data.y).objective_ * (1 + 1e-6)


def test_drawn_labels_are_fair_and_a_function_of_the_content():
    random = np.random.default_rng(0)
    X = np.vstack([random.normal(size=(3000, 2)), np.zeros((1000, 2))])
    y = bag_target(np.arange(4000) % 40, np.full(40, 0.5))
    labels = drawn_labels(X, None, Bags.from_target(y), 1)
    assert abs(labels.mean()) < 0.06
    assert abs(labels[3000:].mean()) < 0.12  # equal instances have labels of their own
    assert not (labels == drawn_labels(X, None, Bags.from_target(y), 2)).all()
    order = random.permutation(4000)
    again = drawn_labels(X[order], None, Bags.from_target(y[order]), 1)
    assert (again[np.argsort(order)] == labels)[:3000].all()


def test_exchanged_classes_give_the_opposite_plane():
    data = Data(seed=3, n_bags=12)
    mirrored = Data(seed=3, n_bags=12)
    mirrored.shares = {bag: 1.0 - share for bag, share in data.shares.items()}
    model = AlterPropSVM(init="mixed", n_init=1, annealing=False, random_state=0)
    one, other = data.fit(model, 2), mirrored.fit(AlterPropSVM(**model.get_params()), 3)
    assert one.coef_ == pytest.approx(-other.coef_, rel=1e-8)
    assert (one.labeling_ == -other.labeling_).all()


def test_an_interruption_keeps_the_best_so_far():
    data, passes = Data(n_bags=8), []

    def interrupted(after):
        passes.append(1)
        if len(passes) == after:
            raise KeyboardInterrupt
        yield from data.chunks(3)

    for after, n_starts in ((30, 1), (600, 2)):
        passes.clear()
        model = AlterPropSVM(init=RandomStart(50, annealing=False), random_state=0, solver_tol=1e-2)
        with pytest.raises(KeyboardInterrupt):
            fit_chunks(model, lambda after=after: interrupted(after))
        assert model.stop_reason_.name == "INTERRUPTED"
        assert (len(model.start_objectives_) >= n_starts) is True
        assert set(model.predict(data.X)) <= {-1, 1}


def test_what_fits_ask_of_a_chunk_part_by_part():
    data = Data()
    fitted = data.fit(InvCal(), 4)
    predicted = np.concatenate(list(predict_chunks(fitted, data.chunks(4))))
    assert (predicted == fitted.predict(data.X)).all()
    assert score_chunks(fitted, list(data.chunks(7))) == pytest.approx(fitted.score(data.X, data.y))
    assert score_chunks(fitted, data.chunks(3)) == pytest.approx(
        -bag_error(data.y, fitted.decision_function(data.X))
    )
    folds = split_chunks(lambda: data.chunks(5, shuffled=True), 3, random_state=1)
    for (train, test), (seen, unseen) in zip(
        folds, BagKFold(3, random_state=1).split(data.X, data.y), strict=True
    ):
        in_memory = InvCal().fit(data.X[seen], data.y[seen])
        own = fit_chunks(InvCal(), train)
        assert_same(own, in_memory)
        expected = in_memory.score(data.X[unseen], data.y[unseen])
        assert score_chunks(own, test) == pytest.approx(expected)


@pytest.mark.parametrize("ids", ["numbers", "words"])
def test_parquet_is_read_in_whole_bags(tmp_path, ids):
    data = Data(known=0.1, weights=True, unknown=(7,))
    table = pd.DataFrame(data.X, columns=list("abcd"))
    table["bag"] = [f"w{bag:03d}" if ids == "words" else bag for bag in data.bags]
    table["share"] = [data.shares[bag] for bag in data.bags]
    table = table.assign(known=data.known, weight=data.weight)
    half = len(table) // 2  # in the middle of a bag
    for number, part in enumerate((table[:half], table[half:])):
        part.to_parquet(tmp_path / f"{number}.parquet")
    columns = {"features": list("abcd"), "label": "known", "weight": "weight"}
    chunks = parquet_chunks(tmp_path, **columns, rows=300)
    assert 5 <= len(list(chunks())) <= 8
    in_memory = InvCal().fit(data.X, data.y, data.weight)
    assert_same(fit_chunks(InvCal(), chunks), in_memory)
    table.loc[0, "share"] = 0.123
    table.to_parquet(tmp_path / "0.parquet")
    with pytest.raises(InputError, match="share must be the same in all rows of a bag"):
        fit_chunks(InvCal(), parquet_chunks(tmp_path, **columns))
    with pytest.raises(InputError, match="path has no columns \\['town'\\]"):
        parquet_chunks(tmp_path, bag="town")


def replaced(data, number, **parts):
    """Three chunks of which one is changed."""
    chunks = list(data.chunks(3))
    X, y = chunks[number]
    chunks[number] = parts.get("X", lambda X: X)(X), parts.get("y", lambda y: y)(y)
    return chunks


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        (lambda data: data.chunks(3), "iterator such as a generator is empty the second time"),
        (lambda data: 5, "chunks must be a list of"),
        (lambda data: [], "chunks must be the same each time"),
        (lambda data: [data.X], "chunk 0 must be"),
        (lambda data: replaced(data, 1, X=lambda X: X[:, :3]), "chunk 1 has other columns"),
        (lambda data: replaced(data, 1, X=lambda X: X[1:]), "chunk 1 has .* rows of X and"),
        (lambda data: replaced(data, 1, X=lambda X: np.nan * X), "contains NaN"),
        (lambda data: [data_part for c in data.chunks(3) for data_part in halves(c)], "bag .* has"),
        (lambda data: [*data.chunks(3), next(data.chunks(3))], "are cut, .* between chunks .0, 3."),
        (lambda data: [(data.X, data.labels)], "y of a chunk must be made by propcvx.bag_target"),
    ],
)
def test_chunks_that_cannot_be(chunks, message):
    with pytest.raises(ValueError, match=message):
        fit_chunks(InvCal(), chunks(Data(n_bags=12)))


def halves(chunk):
    middle = len(chunk[0]) // 2
    return [(chunk[0][:middle], chunk[1][:middle]), (chunk[0][middle:], chunk[1][middle:])]


def test_chunks_that_change_and_names_that_differ():
    data, passes = Data(n_bags=12), []

    def shrinking():
        passes.append(1)
        yield from data.chunks(3 if len(passes) < 3 else 2)

    with pytest.raises(InputError, match=r"pass 3 has .* chunks"):
        fit_chunks(MeanMap(), shrinking)
    frames = [
        (pd.DataFrame(X, columns=list(names)), y)
        for names, (X, y) in zip(("abcd", "abce"), data.chunks(2), strict=True)
    ]
    with pytest.raises(InputError, match=r"other columns than the first: 4 \['a', 'b', 'c', 'e'\]"):
        fit_chunks(InvCal(), frames)
    fitted = fit_chunks(InvCal(), frames[:1])
    assert list(fitted.feature_names_in_) == list("abcd")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (ConvPropSVM(), "estimator must be AlterPropSVM, InvCal or MeanMap"),
        (InvCal(kernel="rbf"), "kernel must be 'linear'"),
        (AlterPropSVM(polish="swaps"), "polish must be 'none'"),
        (AlterPropSVM(solver="libsvm"), "solver must be 'auto' or 'newton'"),
        (AlterPropSVM(init="conv"), "init must be 'mixed', 'random', 'inv_cal'"),
        (AlterPropSVM(instance_loss=INSTANCE_LOSSES["hinge"]), "instance_loss must be one of"),
        (AlterPropSVM(bag_weights=np.ones(12)), "bag_weights must be 'size', 'bag', or keyed"),
        (AlterPropSVM(selection="bag_error"), "split_chunks holds out bags"),
    ],
)
def test_what_needs_all_instances_in_memory_is_refused(model, message):
    with pytest.raises(InputError, match=message):
        Data(n_bags=12).fit(model, 2)


def test_a_poor_fit_is_no_error():
    with warnings.catch_warnings():
        warnings.simplefilter("error", PoorFitWarning)
        Data(n_bags=12).fit(InvCal(), 2)
