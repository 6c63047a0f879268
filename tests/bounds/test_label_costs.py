"""Certificates of labels: no false claim beside lists of all labelings, and exact where proved."""

import numpy as np
import pytest
from listed_labelings import centred_features, piqp_values
from sklearn.exceptions import NotFittedError
from small_problems import all_labelings, sent, small_problem

from propcvx import (
    AlterPropSVM,
    Bags,
    ConvPropSVM,
    InvCal,
    bag_target,
    certify,
    class_proportions_of,
    proportions_of,
)
from propcvx.bounds import branch_and_bound as branching
from propcvx.bounds import label_costs
from propcvx.errors import InputError, UnprovedWarning
from propcvx.history import StopReason
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.labelings.losses import PROPORTION_LOSSES

EXACT = 1e6
"""A margin that no cost reaches: every cost is exact."""

LOSSES = ("absolute", "squared")


def random_case(seed, most):
    """X, y and the arguments of ``certify``: uneven bags, known labels, duplicates, kernels."""
    random = np.random.RandomState(seed)
    sizes = random.permutation([2, 4, 3, 2, 1, 5])[: random.randint(1, 6)]
    sizes = tuple(sizes[np.cumsum(sizes) <= most])
    sizes, known = sizes if sum(sizes) > 1 else (3,), random.choice([0.0, 0.3])
    small = small_problem(seed, sizes, random.randint(1, 5), known)
    X = small.X.round(random.choice([0, 8, 8])) * 10.0 ** random.randint(-1, 2)
    options = {"C": float(10.0 ** random.uniform(-6, 6)), "tol": float(random.choice([1e-4, 1e-2]))}
    options["kernel"] = str(random.choice(["linear", "linear", "rbf"]))
    if random.randint(3) == 0:
        options |= {
            "C_p": options["C"] * random.uniform(0.0, 4.0),
            "loss": str(random.choice(LOSSES)),
        }
    else:
        options["epsilon"] = float(random.choice([0.0, 0.4]))
    return X, small.y, options


def listed_values(X, y, C, tol, kernel, C_p=None, loss=None, epsilon=0.0):
    """All allowed labelings, and the value of each from below and above, by PIQP itself."""
    bags = Bags.from_target(y)
    features = centred_features(X, kernel, 1.0 / (X.shape[1] * (X.var() or 1.0)))
    feasible = FeasibleLabelings.of(bags, 1.0 if C_p is not None else epsilon)
    labelings = all_labelings(feasible)
    below, above = piqp_values(features, labelings, C).T
    costs = 0.0
    if C_p is not None:
        gaps = [bags.gaps(bags.positives_of(labeling)) for labeling in labelings]
        costs = C_p * PROPORTION_LOSSES[loss].of(np.array(gaps)).sum(axis=1)
    return labelings, below + costs, above + costs


def true_costs(case, upper, labeling):
    """The cost of each other label, relative to a value."""
    labelings, below, above = listed_values(case[0], case[1], **case[2])
    costs = [
        [np.where(other, values, np.inf).min() / upper - 1.0 for other in (labelings != labeling).T]
        for values in (below, above)
    ]
    return np.array(costs)


def check(seed, monkeypatch, most):
    """At a random margin, with random limits of the tree: bounds hold, proved costs are exact."""
    case, random = random_case(seed, most), np.random.RandomState(seed)
    monkeypatch.setattr(branching, "MOST_AT_ONCE", random.choice([1, 1000]))
    monkeypatch.setattr(branching, "MOST_MERGED", random.choice([60, 30_000]))
    margin = float(random.choice([0.01, EXACT]))
    kinds = random.choice(["auto", "branch_and_bound"])
    result = certify(*case[:2], **case[2], labels=margin, kinds=kinds, time_limit=1e4)
    below, above = true_costs(case, result.upper, result.labeling)
    tol = case[2]["tol"]
    rounding = 1e-6 * (1.0 + np.nan_to_num(below, posinf=0.0))  # of values that cost much
    assert (result.label_costs <= above + rounding).all()
    assert (result.label_costs_at_most >= below - rounding).all()
    settled = np.minimum(margin, (1.0 + below) * (1.0 - tol) - 1.0)
    assert (result.label_costs >= settled - rounding).all()
    assert not ((result.label_status == "proved") & (above <= tol - 1e-6)).any()
    assert not ((result.label_status == "tied") & (below > tol + 1e-6)).any()


@pytest.mark.parametrize("seeds", [range(8), range(8, 16)])
def test_costs_are_those_of_all_labelings(seeds, monkeypatch):
    for seed in seeds:
        with monkeypatch.context() as patched:
            check(seed, patched, 7)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 500, 20))
def test_costs_of_500_problems_are_those_of_all_labelings(first, monkeypatch):
    for seed in range(first, first + 20):
        with monkeypatch.context() as patched:
            check(seed, patched, 12)


# --- what it does not depend on, and what it begins with ----------------------------------------


@pytest.fixture(scope="module")
def case():
    small = small_problem(3, (4, 3, 4), 3)
    return small.X, small.y, small.labels


@pytest.fixture(scope="module")
def whole(case):
    return certify(*case[:2], 0.5, labels=EXACT)


def test_costs_go_with_the_rows_and_not_with_the_names_of_the_classes(case, whole):
    X, y, labels = case
    order = np.random.RandomState(0).permutation(len(y))
    permuted = certify(X[order], y[order], 0.5, labels=EXACT)
    assert np.allclose(permuted.label_costs, whole.label_costs[order], rtol=1e-9)
    assert permuted.label_status.tolist() == whole.label_status[order].tolist()
    shares = {bag: 1.0 - share for bag, share in proportions_of(labels, y).items()}
    exchanged = certify(X, bag_target(y["bag"], shares), 0.5, labels=EXACT)
    assert (exchanged.labeling == -whole.labeling).all()
    assert np.allclose(exchanged.label_costs, whole.label_costs, rtol=1e-9)


def test_without_labels_nothing_is_different(case, whole):
    plain = certify(*case[:2], 0.5)
    assert plain.upper == whole.upper
    assert plain.label_costs is None


def test_known_labels_and_those_that_the_bag_tells_cost_infinitely_much():
    X = np.array([[0.0], [1.0], [3.0], [2.5], [0.5]])
    y = bag_target([0, 0, 1, 1, 1], [1.0, 1 / 3], [0, 0, -1, 0, 0])
    result = certify(X, y, labels=True)
    assert np.isposinf(result.label_costs).tolist() == [True, True, True, False, False]
    assert f"{np.sum(result.label_status == 'proved')} proved" in str(result)


def test_an_interruption_keeps_what_is_proved(case, whole, monkeypatch):
    grown, worked = label_costs._grown, []

    def interrupted(*tree):
        worked.append(grown(*tree))
        if len(worked) == 6:
            raise KeyboardInterrupt
        return worked[-1]

    monkeypatch.setattr(label_costs, "_grown", interrupted)
    part = certify(*case[:2], 0.5, labels=EXACT)
    assert part.stop_reason is StopReason.INTERRUPTED
    assert (part.label_costs <= whole.label_costs_at_most).all()
    assert np.isposinf(part.label_costs).sum() == 4  # no labeling has these, and they come first
    assert (part.label_costs > part.lower / part.upper - 1.0).sum() == 6  # that of the last, too
    assert (part.label_seconds > 0).sum() == 1
    assert not np.allclose(part.label_costs, whole.label_costs, atol=2e-4)


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_costs_are_the_same_where_trees_are_sent_to_processes(n_jobs, case, whole, monkeypatch):
    alone, grown = certify(*case[:2], 0.5, labels=EXACT), label_costs._grown
    if n_jobs == 1:
        monkeypatch.setattr(label_costs, "_grown", lambda *tree: sent(grown(*sent(tree))))
    several = certify(*case[:2], 0.5, labels=EXACT, n_jobs=n_jobs)
    for name in ("label_costs", "label_costs_at_most", "labeling", "upper", "lower"):
        assert np.array_equal(getattr(alone, name), getattr(several, name)), name
    assert np.allclose(several.label_costs, whole.label_costs, atol=2e-4)
    assert (several.label_seconds > 0).any()


@pytest.mark.parametrize("n_jobs", [0, "two"])
def test_the_number_of_processes_is_checked_at_once(n_jobs, case):
    with pytest.raises(ValueError, match="n_jobs"):
        certify(*case[:2], labels=True, n_jobs=n_jobs)


def test_when_time_is_up_at_once_little_is_claimed_and_a_warning_says_so(case):
    with pytest.warns(UnprovedWarning, match="time limit"):
        result = certify(*case[:2], 0.5, labels=True, time_limit=1e-9)
    assert set(result.label_status) <= {"open", "tied"}
    assert (result.label_costs == result.lower / result.upper - 1.0).all()


# --- after a fit --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (ConvPropSVM(0.5, 0.1, kernel="rbf"), {"epsilon": 0.1, "kernel": "rbf"}),
        (
            AlterPropSVM(0.5, 2.0, init="random", n_init=1, random_state=0),
            {"C_p": 2.0, "bag_weights": "size"},
        ),
    ],
)
def test_a_fit_gives_the_problem_and_a_labeling_to_begin_with(model, options):
    small = small_problem(5, (3, 4), 3)
    X, y, fitted = small.X, small.y, model.fit(small.X, small.y)
    result = certify(fitted, X, y, labels=1e-3)
    other = certify(X, y, 0.5, labels=1e-3, **options)
    assert result.upper == pytest.approx(other.upper, rel=1e-6)
    assert np.allclose(result.label_costs, other.label_costs, atol=2e-4)


def test_a_fit_without_a_certificate_or_of_other_data_is_refused(case):
    X, y, _ = case
    fitted = ConvPropSVM(0.5, kernel="rbf").fit(X, y)
    refused = {
        "certificates for ConvPropSVM": (InvCal().fit(X, y), X, y),
        "hinge": (AlterPropSVM(init="random", n_init=1, instance_loss="logistic").fit(X, y), X, y),
        "got y = 1.0": (fitted, X),
        "those of the fit": (fitted, X[:7], y[:7]),
        "other instances": (fitted, X + 1.0, y),
    }
    for message, arguments in refused.items():
        with pytest.raises(InputError, match=message):
            certify(*arguments)
    with pytest.raises(InputError, match="epsilon must not be given"):
        certify(fitted, X, y, epsilon=0.1)
    with pytest.raises(NotFittedError):
        certify(ConvPropSVM(), X, y)
    other = bag_target(y["bag"], 1.0 - np.array([1.0, 1.0, 1.0]))
    with pytest.raises(InputError, match="start must be a labeling that y allows"):
        certify(ConvPropSVM(0.5).fit(X, y), X, other)
    shares = class_proportions_of(np.arange(len(X)) % 3, y["bag"])
    several = bag_target(y["bag"], shares)
    with pytest.raises(InputError, match="y must have two classes, got 3"):
        certify(ConvPropSVM().fit(X, several), X, several)
