"""A tolerance of each bag's proportion, given or that of sampling, against all labelings."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.base import clone
from small_problems import all_labelings as feasible_labelings
from small_problems import svm_values

from propcvx import (
    AlterPropSVM,
    Bags,
    ConvPropSVM,
    InvCal,
    MeanMap,
    bag_target,
    certify,
    sampling_epsilon,
)
from propcvx.errors import InputError, SplitBagWarning
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.labelings.losses import constraint, epsilon_insensitive

NAMES = ["x", "y", "z"]


def test_tolerances_may_be_keyed_by_bag():
    bags = Bags.from_target(bag_target("xxxyyyyzz", [0.4, 0.5, 0.6]))
    widths = np.array([0.2, 0.3, 0.6])
    listed, by_id = bags.count_range(widths), dict(zip(NAMES, widths, strict=True))
    for epsilon in (widths.tolist(), by_id, pd.Series(by_id)[["z", "x", "y"]]):
        assert np.array_equal(bags.count_range(epsilon), listed)
    assert np.array_equal(bags.count_range(np.full(3, 0.45)), bags.count_range(0.45))


@pytest.mark.parametrize("level", [0.7, 0.95, 0.999])
def test_sampling_is_wilson_interval(level):
    """The share is in the interval of a count, by SciPy, exactly where the count is allowed."""
    random = np.random.RandomState(0)
    for n in (1, 2, 3, 8, 20, 33):
        for p in (0.0, 1e-3, 0.03, *random.uniform(size=5), 0.5, 0.97, 1.0):
            y = bag_target([0] * n, [p])
            lower, upper = Bags.from_target(y).count_range(sampling_epsilon(y, level))
            inside = []
            for count in range(n + 1):
                ends = binomtest(count, n).proportion_ci(level, method="wilson")
                inside += [count] if ends.low - 1e-9 <= p <= ends.high + 1e-9 else []
            assert inside == list(range(lower[0], upper[0] + 1))
            if level == 0.95:
                assert np.array_equal(Bags.from_target(y).count_range("sampling"), (lower, upper))


def test_sampling_epsilon_allows_unknown_proportion_and_split_bag():
    y = bag_target([0, 0, 1, 1], [None, 0.5], [1, 0, 0, 0])
    assert sampling_epsilon(y)[0] == 1.0
    assert np.array_equal(Bags.from_target(y).count_range("sampling"), [[1, 0], [2, 2]])
    whole = bag_target([0] * 40, [0.05], [1, 1] + [0] * 38)
    with pytest.warns(SplitBagWarning):
        cut = Bags.from_target(whole[:4])
    assert np.array_equal(cut.count_range("sampling"), [[2], [2]]), "the nearest that is allowed"


# --- known labels beyond a share ---------------------------------------------------------------

BEYOND = bag_target([*"aaaabbbb"], [0.5, 0.5], labels=[1, 1, 1, 0, 0, 0, -1, 0])
INSTANCES = np.random.RandomState(0).normal(size=(8, 2))


@pytest.mark.parametrize("epsilon", [0.25, [0.25, 0.0], "sampling"], ids=str)
def test_known_labels_beyond_proportion_within_tolerance(epsilon):
    feasible = FeasibleLabelings.from_bags(Bags.from_target(BEYOND), epsilon)
    X, every = INSTANCES - INSTANCES.mean(axis=0), feasible_labelings(feasible)
    proved = certify(INSTANCES, BEYOND, epsilon=epsilon)
    assert proved.upper == pytest.approx(svm_values(X, every, 1.0).min(), rel=1e-3)
    conv = ConvPropSVM(epsilon=epsilon)
    alter = AlterPropSVM(proportion_loss=constraint(epsilon), n_init=2, random_state=0)
    for model in (conv, alter):
        assert model.fit(INSTANCES, BEYOND).transduction_ in feasible
    free = clone(alter).set_params(proportion_loss=epsilon_insensitive(epsilon))
    assert (free.fit(INSTANCES, BEYOND).transduction_[:3] == 1.0).all()


@pytest.mark.parametrize(
    "model",
    [
        *(ConvPropSVM(epsilon=epsilon) for epsilon in (0.0, 0.2, "rounding")),
        *(AlterPropSVM(proportion_loss=loss) for loss in ("squared", "constraint")),
        *(MeanMap(), InvCal(epsilon=0.3, scaled_epsilon=True)),
    ],
    ids=str,
)
@pytest.mark.parametrize("sign", [1, -1])
def test_known_labels_contradicting_proportion_raise(model, sign):
    y = bag_target([*"aaaabbbb"], [0.5, 0.5], sign * BEYOND["label"])
    with pytest.raises(InputError, match=r"bag 'a'.*(Known labels contradict|known positives)"):
        clone(model).fit(INSTANCES, y)
