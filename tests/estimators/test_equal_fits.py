"""Pairs of fits that must be equal: the same problem given in two ways."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from effort import first
from methods import METHODS
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from small_problems import small_problem

from propcvx import (
    AlterPropSVM,
    BagMeans,
    ConvPropSVM,
    CuttingPlanes,
    EcologicalRegression,
    InvCal,
    MeanMap,
    SecondMoments,
    bag_proportions,
    bag_target,
    fit_grid,
    fit_means,
)
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.labelings.losses import HINGE

PROBLEM = small_problem(0, sizes=(4, 5, 6, 3), n_features=2)
X, Y, LABELS, BAGS = PROBLEM.X, PROBLEM.y, PROBLEM.labels, PROBLEM.y["bag"]
SHARES = [0.25, 0.4, 0.5, 2 / 3]
UNEQUAL = bag_target(BAGS, SHARES)
WEIGHTS = np.random.RandomState(1).choice([0.0, 0.5, 1.0, 2.0, 3.0], size=len(Y))
POSITIVE = np.random.RandomState(1).uniform(0.2, 3.0, size=len(Y))
THREE = small_problem(0, sizes=(6, 5, 7), n_features=3)
NEW = small_problem(1, sizes=(9,), n_features=3).X

ONE_START = {"n_init": 1, "random_state": 0}
ACCURATE = {
    "mean_map": MeanMap(solver_tol=1e-12),
    "mean_map, sum": MeanMap(likelihood="sum", solver_tol=1e-12),
    "mean_map, no bias": MeanMap(fit_intercept=False, solver_tol=1e-12),
    "inv_cal": InvCal(epsilon=0.1, solver_tol=1e-12),
    "alter": AlterPropSVM(solver_tol=1e-12, **ONE_START),
    "alter, squared": AlterPropSVM(instance_loss="squared_hinge", solver_tol=1e-12, **ONE_START),
    "conv": ConvPropSVM(solver="mkl_interior_point", solver_tol=1e-12),
    "conv, constant": ConvPropSVM(
        intercept="constant", solver="mkl_interior_point", solver_tol=1e-12
    ),
    "diffrac": ConvPropSVM(relaxation="diffrac"),
}
PAIRS, ONCE = [], first(1, [()])


def some(*names):
    return {name: METHODS[name] for name in names}


def all_but(*names, **others):
    return {name: METHODS[name] for name in METHODS if name not in names} | others


def equal(methods, cases=ONCE, **limits):
    """Add a function that gives two fits with the rows to score, for each method and each case.

    Limits are ``rtol`` and ``atol`` of scores, ``scaled``, an ``atol`` in units of the largest
    score, and ``objective``, a relative one of ``objective_``.
    """

    def add(pair):
        for name, method in methods.items():
            for case in cases:
                given = (pair, method, case.values, limits)
                parts = (getattr(part, "__name__", part) for part in (pair, name, *case.values))
                title = "-".join(map(str, parts))
                PAIRS.append(pytest.param(*given, marks=case.marks, id=title))
        return pair

    return add


def of_weight(method, value):
    """A method, and the value of what multiplies its loss."""
    name = next(name for name in ("C", "C_p", "lam", "ridge") if name in method.get_params())
    return clone(method).set_params(**{name: 1.0 / value if name == "lam" else value})


@pytest.mark.filterwarnings("ignore::propcvx.errors.PropCVXWarning")
@pytest.mark.parametrize(("pair", "method", "case", "limits"), PAIRS)
def test_equivalent_inputs_give_equal_fits(pair, method, case, limits):
    (model, rows), (other, other_rows) = pair(clone(method), *case)
    limits = dict(limits)
    scores, expected = model.decision_function(rows), other.decision_function(other_rows)
    if "objective" in limits:
        assert model.objective_ == pytest.approx(other.objective_, rel=limits.pop("objective"))
    if "scaled" in limits:
        limits["atol"] = limits.pop("scaled") * np.abs(expected).max()
    np.testing.assert_allclose(scores, expected, **{"rtol": 0.0, **limits})


# --- weights ----------------------------------------------------------------------------------


@equal(
    ACCURATE,
    first(2, [("linear", 1.0), ("rbf", 1.0), ("linear", 1e-3), ("rbf", 1e3)]),
    scaled=1e-4,
    objective=1e-6,
)
def label_of_weight_two_and_two_of_them(method, kernel, C):
    random = np.random.RandomState(0)
    labels = np.where(random.rand(len(X)) < 0.2, -LABELS, LABELS)
    counts = random.randint(0, 4, len(X))
    clf = of_weight(method, C).set_params(kernel=kernel, gamma=0.5)
    repeated = clone(clf).fit(X.repeat(counts, axis=0), labels.repeat(counts))
    return (clf.fit(X, labels, sample_weight=counts), X), (repeated, X)


FACTORS = first(1, [(1.0, 7.0), (1e-6, 1e-3), (1e6, 1e3)])


@equal(some("inv_cal", "alter", "conv"), FACTORS, rtol=1e-9)
def one_weight_of_all_and_a_multiple_of_C(method, C, factor):
    weighted = of_weight(method, C).fit(X, UNEQUAL, np.full(len(Y), factor))
    return (weighted, X), (of_weight(method, C * factor).fit(X, UNEQUAL), X)


@equal({"alter": AlterPropSVM(2.0, **ONE_START)}, rtol=1e-9)
def one_weight_of_all_and_a_multiple_of_C_with_several_classes(method):
    y = bag_target(BAGS, bag_proportions(np.array(list("abc"))[np.arange(len(X)) % 3], BAGS))
    weighted = clone(method).set_params(C=0.1).fit(X, y, np.full(len(X), 20.0))
    return (weighted, X), (method.fit(X, y), X)


LAMBDAS = first(2, [(1.0, 1e-3), (1.0, 1e3), (1e-6, 1e3), (1e6, 1e-3)])


@equal({name: ACCURATE[name] for name in ("mean_map", "mean_map, sum")}, LAMBDAS, scaled=1e-6)
def one_weight_of_all_and_lambda_in_its_units(method, lam, factor):
    """Of the mean the weight cancels out, and the sum is multiplied by it."""
    weighted = clone(method).set_params(lam=lam).fit(X, Y, np.full(len(Y), factor))
    method.set_params(lam=lam / factor if method.likelihood == "sum" else lam)
    return (weighted, X), (method.fit(X, Y), X)


@equal({name: ACCURATE[name] for name in ("mean_map", "inv_cal")}, atol=1e-6)
def bag_without_weight_and_none(method):
    kept = BAGS != 1
    y = bag_target(np.unique(BAGS[kept], return_inverse=True)[1], [0.25, 0.5, 2 / 3])
    without = clone(method).fit(X[kept], y, POSITIVE[kept])
    return (method.fit(X, UNEQUAL, np.where(kept, POSITIVE, 0.0)), X), (without, X)


@equal(
    all_but("second_moments"),
    first(4, [(kernel, by) for kernel in ("linear", "rbf") for by in ("uniform", "size")]),
    rtol=1e-4,
    atol=1e-4,
)
def bag_of_weight_two_and_the_bag_twice(method, kernel, bag_weights):
    """Copies of an instance may get two labels in a descent with a kernel, which ends elsewhere.

    As a start the likelihood of counts gets weights of mean 1, beside which its ridge is fixed.
    """
    if isinstance(method, AlterPropSVM):
        kernel = "linear"
        method.set_params(init="ecological")
    method.set_params(kernel=kernel, gamma=0.3)
    if "bag_weights" in method.get_params():
        method.set_params(bag_weights=bag_weights)
    problem, times = small_problem(3, sizes=(4, 3, 5, 4)), np.array([1, 2, 3, 1])
    bags, shares = problem.y["bag"], bag_proportions(problem.labels, problem.y["bag"])
    weighted = clone(method).fit(problem.X, bag_target(bags, shares), times[bags].astype(float))
    copies = [(np.flatnonzero(bags == k), k) for k in range(4) for _ in range(times[k])]
    rows = np.concatenate([inside for inside, _ in copies])
    ids = np.repeat(np.arange(len(copies)), [len(inside) for inside, _ in copies])
    repeated = method.fit(problem.X[rows], bag_target(ids, [shares[k] for _, k in copies]))
    return (weighted, problem.X), (repeated, problem.X)


@equal({"alter": AlterPropSVM(1.0, 10.0, init=LABELS)}, objective=1e-5, scaled=1e-2)
def weights_of_a_loss_and_of_instances(method):
    weighted = clone(method).set_params(instance_loss=replace(HINGE, weights=POSITIVE))
    return (weighted.fit(X, Y, WEIGHTS), X), (method.fit(X, Y, WEIGHTS * POSITIVE), X)


@equal({"alter": AlterPropSVM(1.0, 10.0, max_iter=1, init_weight=0.0)}, rtol=1e-9)
def method_as_a_start_and_its_labels_of_a_fit_with_the_weights(method):
    weights = np.where(LABELS > 0, 100.0, 1.0) * POSITIVE
    guide, plain = (InvCal().fit(X, Y, w) for w in (weights / weights.mean(), None))
    nearest = FeasibleLabelings.nearest(PROBLEM.bags)
    labels, others = (nearest.best(each.decision_function(X)) for each in (guide, plain))
    assert (labels != others).any()
    by_labels = clone(method).set_params(init=labels, annealing=False)
    return (method.set_params(init=InvCal()).fit(X, Y, weights), X), (
        by_labels.fit(X, Y, weights),
        X,
    )


@equal(all_but("second_moments"))
def fit_of_a_grid_and_its_own_with_weights(method):
    name = next(name for name in ("C", "C_p", "lam", "ridge") if name in method.get_params())
    _, last = fit_grid(method, X, Y, {name: [0.1, 1.0]}, sample_weight=WEIGHTS)
    return (last, X), (clone(last).fit(X, Y, WEIGHTS), X)


GRIDS = {
    "mean_map": (MeanMap(), {"lam": (0.1, 10.0), "kernel": ["linear", "rbf"]}),
    "inv_cal": (InvCal(kernel="rbf"), {"C_p": (0.1, 10.0), "epsilon": (0.0, 0.1)}),
    "alter": (AlterPropSVM(**ONE_START), {"kernel": ["linear", "rbf"], "C_p": (1.0, 10.0)}),
    "alter, two starts": (
        AlterPropSVM(init=["inv_cal", "random"], n_init=1, random_state=0),
        {"C_p": (1.0, 10.0)},
    ),
    "conv": (
        ConvPropSVM(relaxation=CuttingPlanes()),
        {"epsilon": (0.0, 0.01, 0.2), "relaxation__max_cuts": (1, 2)},
    ),
}


def fit_of_a_grid_and_its_own(method, grid, place):
    model = list(fit_grid(method, THREE.X, THREE.y, grid))[place]
    assert {name: model.get_params()[name] for name in grid} == ParameterGrid(grid)[place]
    return (model, NEW), (clone(model).fit(THREE.X, THREE.y), NEW)


for _name, (_method, _grid) in GRIDS.items():
    _places = [pytest.param(_grid, place) for place in range(len(ParameterGrid(_grid)))]
    equal({_name: _method}, _places, objective=1e-15)(fit_of_a_grid_and_its_own)


@equal(all_but("second_moments"))
def weights_routed_through_a_pipeline_and_given(method):
    rows = StandardScaler().fit_transform(X)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = clone(method).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), routed)
        pipeline.fit(X, Y, sample_weight=WEIGHTS)
    return (pipeline, X), (method.fit(rows, Y, WEIGHTS), rows)


# --- bags -------------------------------------------------------------------------------------


@equal(METHODS, atol=1e-6)
def bags_of_one_and_labels(method):
    singletons = bag_target(np.arange(18), THREE.labels > 0)
    return (clone(method).fit(THREE.X, singletons), THREE.X), (
        method.fit(THREE.X, THREE.labels),
        THREE.X,
    )


@equal(all_but("second_moments"), atol=1e-6)
def table_of_two_classes_and_proportions(method):
    table = {k: {"yes": p, "no": 1.0 - p} for k, p in enumerate(THREE.bags.proportions)}
    by_table = clone(method).fit(THREE.X, bag_target(THREE.y["bag"], table))
    by_shares = method.fit(THREE.X, THREE.y)
    assert by_table.classes_.tolist() == ["no", "yes"]
    assert (by_table.predict(THREE.X) == "yes").tolist() == (
        by_shares.predict(THREE.X) > 0
    ).tolist()
    return (by_table, THREE.X), (by_shares, THREE.X)


@equal(some("mean_map", "inv_cal", "ecological", "aggregate"), rtol=1e-9)
def bags_without_a_proportion_and_none(method):
    problem = small_problem(0, (4, 5, 6), known=0.0)
    y = bag_target(problem.y["bag"], [problem.bags.proportions[0], None, 0.5])
    seen = y["bag"] != 1
    without = clone(method).fit(problem.X[seen], y[seen])
    return (method.fit(problem.X, y), problem.X), (without, problem.X)


def means_of(problem, order=slice(None)):
    """The means of a problem's bags by pandas, their ids as words."""
    rows = pd.DataFrame(problem.X).groupby(problem.y["bag"])
    shares = pd.Series(bag_proportions(problem.labels, problem.y["bag"]))
    names = np.array([f"bag {k:03d}" for k in range(len(shares))])
    columns = rows.mean().to_numpy(), shares.to_numpy(), rows.size().to_numpy(), names
    means, proportions, sizes, ids = (column[order] for column in columns)
    return BagMeans(means, proportions, sizes, ids.tolist())


OF_MEANS = {
    "ecological": EcologicalRegression(),
    "inv_cal": InvCal(solver_tol=1e-12),
    "small C_p": InvCal(1e-6, solver_tol=1e-12),
    "large C_p": InvCal(1e3, solver_tol=1e-12),
    "by size": InvCal(bag_weights="size", solver_tol=1e-12),
    "sampling": InvCal(epsilon="sampling", scaled_epsilon=True, solver_tol=1e-12),
    "of each bag": InvCal(
        bag_weights=np.arange(1.0, 31.0), epsilon=np.linspace(0.0, 0.5, 30), solver_tol=1e-12
    ),
}


@equal(OF_MEANS, scaled=1e-10, objective=1e-10)
def means_of_bags_in_any_order_and_instances(method):
    problem = small_problem(0, sizes=range(1, 31), n_features=3)
    shuffled = np.random.default_rng(1).permutation(30)
    by_means = fit_means(clone(method), means_of(problem, shuffled))
    return (by_means, problem.X), (method.fit(problem.X, problem.y), problem.X)


@equal({"inv_cal": InvCal()}, scaled=1e-12)
def means_without_a_proportion_and_none(method):
    table = means_of(small_problem(2, sizes=[4] * 10))
    without = BagMeans(table.means[:-1], table.proportions[:-1], table.sizes[:-1])
    whole = BagMeans(table.means, [*table.proportions[:-1], None], table.sizes)
    return (fit_means(clone(method), whole), X), (fit_means(method, without), X)


@equal({name: OF_MEANS[name] for name in ("inv_cal", "ecological")}, scaled=1e-12)
def joined_tables_and_one_table(method):
    problems = [small_problem(k, sizes=[k + 3] * 8, n_features=3) for k in (1, 2)]
    tables = [means_of(problem) for problem in problems]
    columns = [(table.means, table.proportions, table.sizes) for table in tables]
    by_hand = BagMeans(*([*a, *b] for a, b in zip(*columns, strict=True)))
    joined = BagMeans.concat(tables)
    assert joined.names[8] == (1, "bag 000")
    rows = problems[0].X
    return (fit_means(clone(method), joined), rows), (fit_means(method, by_hand), rows)


# --- X and its kernel -------------------------------------------------------------------------

GRAMS = {
    "linear": ({}, lambda A, B: A @ B.T),
    "rbf": ({"gamma": 0.3}, lambda A, B: rbf_kernel(A, B, gamma=0.3)),
    laplacian_kernel: ({}, laplacian_kernel),
}
FROM_METHOD = {"alter": AlterPropSVM(init="inv_cal", annealing=False)}


def by_gram_matrix(method, kernel):
    options, gram = GRAMS[kernel]
    by_name = clone(method).set_params(kernel=kernel, **options).fit(THREE.X, THREE.y)
    by_gram = method.set_params(kernel="precomputed").fit(gram(THREE.X, THREE.X), THREE.y)
    return (by_gram, gram(NEW, THREE.X)), (by_name, NEW)


@equal(all_but("alter", **FROM_METHOD), first(1, ["linear"]), atol=1e-3, objective=1e-5)
def linear_gram_matrix_and_instances(method, kernel):
    return by_gram_matrix(method, kernel)


@equal(
    all_but("alter", **FROM_METHOD), first(2, ["rbf", laplacian_kernel]), atol=1e-5, objective=1e-5
)
def gram_matrix_and_kernel(method, kernel):
    return by_gram_matrix(method, kernel)


@equal(some("conv"), first(2, [0.1, 1.0]), atol=1e-9)
def kernel_of_scikit_learn_and_its_name(method, C):
    """It has no hash, and a grid has to compare it."""
    by_object = list(fit_grid(clone(method).set_params(kernel=RBF(1.5)), X, Y, {"C": [0.1, 1.0]}))
    by_name = method.set_params(C=C, kernel="rbf", gamma=0.5 / 1.5**2).fit(X, Y)
    return (by_object[int(C == 1.0)], X), (by_name, X)


@equal(METHODS, first(2, [sp.csr_array, sp.coo_array]), atol=1e-5)
def sparse_and_dense(method, sparse):
    rows = np.where(np.abs(THREE.X) < 0.5, 0.0, THREE.X)
    return (clone(method).fit(sparse(rows), THREE.y), sparse(rows)), (
        method.fit(rows, THREE.y),
        rows,
    )


@equal(
    METHODS | {"sum": MeanMap(likelihood="sum"), "no bias": MeanMap(fit_intercept=False)},
    first(2, [(kernel, scale) for scale in (1e6, 1e-6) for kernel in ("linear", "rbf")]),
    scaled=1e-4,
)
def other_units_of_features(method, kernel, scale):
    rows, y = (problem := small_problem(3, (6,) * 4, n_features=3)).X, problem.y
    method.set_params(kernel=kernel)
    scaled, plain = (clone(method).fit(times * rows, y) for times in (scale, 1.0))
    np.testing.assert_array_equal(scaled.transduction_, plain.transduction_)
    return (scaled, scale * rows), (plain, rows)


SCALED = {
    "mean_map": MeanMap(),
    "inv_cal": InvCal(),
    "alter": AlterPropSVM(**ONE_START),
    "conv": ConvPropSVM(),
    "conv, three cuts": ConvPropSVM(relaxation=CuttingPlanes(max_cuts=3)),
}


@equal(
    SCALED,
    first(
        2,
        [
            ("linear", 1.0, 1.0, 1e3),
            ("rbf", 1e-6, 1e6, 1e6),
            ("linear", 1e-6, 1e6, 1e6),
            ("rbf", 1.0, 1.0, 1e3),
            ("linear", 1e-6, 1e-6, 0.0),
            ("rbf", 1.0, 1e-6, 0.0),
        ],
    ),
    scaled=1e-3,
)
def scaled_and_shifted(method, kernel, C, scale, offset):
    """With C / s^2 and lambda s^2 it is the same problem; a kernel takes gamma / s^2 instead."""
    rows, y = (problem := small_problem(3, (6,) * 4, n_features=3)).X, problem.y
    units = scale**2 if kernel == "linear" else 1.0

    def fit(X, C, gamma):
        clf = of_weight(method, C).set_params(kernel=kernel, gamma=gamma)
        if "C" in clf.get_params() and "C_p" in clf.get_params():
            clf.set_params(C_p=10.0 * C)
        return clf.fit(X, y), X

    return fit(scale * (rows + offset), C / units, 0.5 / scale**2), fit(rows, C, 0.5)


# --- the same fit again -----------------------------------------------------------------------


@equal(METHODS, first(3, ["linear", "precomputed", laplacian_kernel]))
def loaded_and_saved(method, kernel):
    rows = rbf_kernel(THREE.X) if kernel == "precomputed" else THREE.X
    clf = method.set_params(kernel=kernel).fit(rows, THREE.y)
    loaded = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(loaded.transduction_, clf.transduction_)
    return (loaded, rows), (clf, rows)


@equal(METHODS)
def fit_after_another_and_the_first(method):
    again = clone(method).set_params(kernel="rbf").fit(THREE.X, THREE.y)
    if not isinstance(method, SecondMoments):
        names = np.array(list("abc"))[np.arange(18) % 3]
        table = bag_proportions(names, THREE.y["bag"])
        again.fit(THREE.X, bag_target(THREE.y["bag"], table))
    again.set_params(kernel="linear").fit(THREE.X, THREE.y)
    fresh = method.fit(THREE.X, THREE.y)
    assert set(vars(again)) == set(vars(fresh))
    return (again, NEW), (fresh, NEW)


@equal(
    {"ecological": EcologicalRegression()},
    [
        pytest.param(kernel, solver)
        for kernel in ("linear", "rbf")
        for solver in ("piqp", "clarabel", "osqp", "ecos")
    ],
    atol=1e-4,
    objective=1e-6,
)
def solver_and_closed_form(method, kernel, solver):
    problem = small_problem(0, sizes=(3, 5, 8, 4, 6, 9), n_features=3, noise=0.7)
    other, closed = (
        clone(method).set_params(kernel=kernel, solver=name).fit(problem.X, problem.y)
        for name in (solver, "ridge")
    )
    assert (other.history_[0].solver, closed.history_[0].solver) == (solver, "ridge")
    return (other, problem.X), (closed, problem.X)
