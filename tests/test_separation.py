"""Values along all dimensions against enumeration, and the coordinate oracle's labeling."""

import numpy as np
import pytest

from propcvx import bag_target, layout
from propcvx.bags import Bags
from propcvx.labelings import FeasibleLabelings
from propcvx.relaxation.oracles import CoordinateOracle
from propcvx.relaxation.separation import DimensionSearch


def problem(random, share_known, epsilon):
    n_instances = random.integers(1, 10)
    index = random.integers(0, 3, n_instances)
    labeling = random.choice([-1, 1], n_instances)
    shown = np.where(random.random(n_instances) < share_known, labeling, 0)
    shares = {int(k): float((labeling[index == k] > 0).mean()) for k in np.unique(index)}
    bags = Bags.from_target(bag_target(index, shares, shown))
    dimensions = np.round(2.0 * random.normal(size=(n_instances, 4)), random.integers(0, 5))
    return FeasibleLabelings.of(bags, epsilon), dimensions, random.random(n_instances)


@pytest.mark.parametrize("shared_widths", [False, True])
@pytest.mark.parametrize("share_known", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.35, 1.0])
def test_values_are_those_of_the_best_of_all_labelings(
    epsilon, share_known, shared_widths, monkeypatch
):
    if shared_widths:
        monkeypatch.setattr(layout, "MAX_WIDTHS", 0)
    random = np.random.default_rng(0)
    for _ in range(40):
        feasible, dimensions, alpha = problem(random, share_known, epsilon)
        sums = np.array(list(feasible.enumerate())) @ (alpha[:, None] * dimensions)
        best = np.stack([sums.max(axis=0), -sums.min(axis=0)])
        values = DimensionSearch.of(feasible, dimensions).values(alpha)
        assert np.allclose(values, best, rtol=0.0, atol=1e-12)
        cut = CoordinateOracle(dimensions, feasible, dimensions)(alpha)
        assert cut.labeling in feasible
        reached = np.abs((alpha * cut.labeling) @ dimensions).max()
        assert reached == pytest.approx(best.max(), abs=1e-12)


def test_padding_of_shared_widths_changes_nothing(monkeypatch):
    random = np.random.default_rng(1)
    index = random.permutation(np.repeat(np.arange(40), np.arange(1, 41)))
    bags = Bags.from_target(
        bag_target(index, random.integers(0, np.arange(2, 42)) / np.arange(1, 41))
    )
    feasible, X = FeasibleLabelings.of(bags, 0.1), random.normal(size=(len(index), 3))
    exact = DimensionSearch.of(feasible, X).values(np.ones(len(index)))
    monkeypatch.setattr(layout, "MAX_WIDTHS", 0)
    shared = DimensionSearch.of(feasible, X)
    assert any(part.padding is not None for part in shared.parts)
    assert np.allclose(shared.values(np.ones(len(index))), exact, rtol=0.0, atol=1e-12)
