"""The paper's results, one function each in docs/paper: what it computes is what it has to be."""

import doctest
import inspect

import numpy as np
import paper
import pytest
from paper.means import figure_1
from paper.pages import is_class_of, parts_of
from paper_equations import PARTS
from small_problems import best_value, small_problem

from propcvx import AlterPropSVM, ConvPropSVM, CuttingPlanes, bag_target
from propcvx.datasets import BaggedData
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.relaxation.comparison import compare_relaxations

RESULTS = dict(paper.all_results())


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_what_it_has_to_be(name, request):
    result = RESULTS[name]
    if name == "table_1":
        request.getfixturevalue("data_home")
    assert result.holds(*result.function()) is result.agrees


def taking(argument):
    """Results whose functions take an argument."""
    takes = {
        name: inspect.signature(result.function).parameters for name, result in RESULTS.items()
    }
    return [name for name in RESULTS if argument in takes[name]]


@pytest.mark.parametrize("name", taking("seed"))
def test_a_result_holds_for_other_data(name):
    result = RESULTS[name]
    assert result.holds(*result.function(seed=1))


@pytest.mark.parametrize("name", taking("C"))
@pytest.mark.parametrize("C", [1e-6, 1e6])
def test_a_result_holds_at_every_scale(name, C):
    result = RESULTS[name]
    scaled = {"C": C} | ({"C_p": 20.0 * C} if name in taking("C_p") else {})
    assert result.holds(*result.function(**scaled))


@pytest.mark.parametrize("name", RESULTS)
def test_a_docstring_has_its_parts_in_order_and_its_example_runs(name):
    function = RESULTS[name].function
    parts = parts_of(function)
    assert list(parts)[1:] == list(paper.PARTS)
    assert all(parts.values())
    module = inspect.getmodule(function)
    examples = doctest.DocTestFinder(recurse=False).find(function, globs=vars(module).copy())
    runner = doctest.DocTestRunner()
    assert [runner.run(example).failed for example in examples] == [0]


def test_every_proposition_algorithm_figure_and_table_has_a_function():
    kinds = ("Proposition", "Algorithm", "Figure", "Table")
    named = {part.printed for part in PARTS if part.printed.startswith(kinds)}
    assert named <= {each.printed for each in RESULTS.values()}


def test_agreement_is_not_for_free():
    result = paper.Result("", lambda: None, tol=1e-3, is_bound=False, agrees=True)
    assert result.holds([1.0, 2000.0], [2.0, 2001.0])  # of the largest: 2 units
    assert not result.holds([1.0, 2000.0], [1.0, 2003.0])
    assert not result.holds(1.0, 1.002)
    bound = paper.Result("", lambda: None, tol=0.0, is_bound=True, agrees=True)
    assert bound.holds(1.0, 2.0)
    assert not bound.holds(2.0, 1.0)
    assert not bound.holds(np.nan, 1.0)


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-8])
@pytest.mark.parametrize("solver", ["clarabel", "scs"])
@pytest.mark.parametrize("name", taking("tol"))
def test_the_bound_of_a_relaxation_holds_at_any_accuracy(name, solver, tol):
    result = RESULTS[name]
    for seed in range(3):
        assert result.holds(*result.function(seed=seed, solver=solver, tol=tol))


def relaxations():
    """The classes of relaxations beside the functions."""
    modules = dict.fromkeys(inspect.getmodule(each.function) for each in RESULTS.values())
    parts = [(module, part) for module in modules for part in vars(module).values()]
    return [part for module, part in parts if is_class_of(module, part) and hasattr(part, "relax")]


@pytest.mark.parametrize("relaxation", relaxations())
def test_a_relaxation_is_compared_with_those_of_the_package(relaxation):
    small = small_problem(0)
    best = best_value(small.X, FeasibleLabelings.of(small.bags, 0.0), 1.0)
    rows = compare_relaxations(small.X, small.y, 1.0, relaxation(), intercept="none")
    assert rows[-1]["kind"] == relaxation.__name__
    assert 0.0 < rows[-1]["lower"] <= best * (1.0 + 1e-9)
    assert ConvPropSVM(relaxation=relaxation()).fit(small.X, small.y).bounds_.lower > 0.0


# --- on the paper's own data ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def toy(data_dir):
    """Figure 1: two bags, proportions 0.6 and 0.4."""
    data = np.load(data_dir / "toy.npz")
    return BaggedData(data["X"], data["y"], data["bag_idx"], data["bag_prop"])


def test_figure_1_on_the_papers_data(toy):
    computed, printed = figure_1(toy)
    assert computed == printed


@pytest.mark.parametrize("intercept", ["center", "none"])
def test_figure_1_is_solved_to_proved_optimality(toy, intercept):
    y = bag_target(toy.bags, toy.proportions)
    planes = CuttingPlanes(oracle="sweep")
    clf = ConvPropSVM(relaxation=planes, intercept=intercept, solver_tol=1e-9).fit(toy.X, y)
    assert clf.bounds_.gap < 1e-6
    np.testing.assert_array_equal(clf.transduction_, toy.labels)
    if intercept == "none":  # the relaxation is tight: one cut is enough
        assert len(clf.history_) == 1


def test_alter_psvm_on_heart_in_bags_of_64(data_dir):
    """One fold of a split into bags of 64; the mean in the paper is 0.766."""
    data = np.load(data_dir / "heart_split.npz")
    train, test = data["train_idx"], data["test_idx"]
    y = bag_target(data["train_bag_idx"], data["train_bag_prop"])
    clf = AlterPropSVM(1.0, 10.0, init="mixed", init_weight=0.0, random_state=0).fit(
        data["X"][train], y
    )
    assert clf.score(data["X"][test], data["y"][test]) >= 0.78
