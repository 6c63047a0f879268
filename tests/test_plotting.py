"""Pictures have the panels and names they should, and change nothing global."""

from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import same_color
from sklearn.svm import SVC

from propcvx.datasets import make_two_bags
from propcvx.errors import InputError
from propcvx.plotting import (
    accuracy_by_bag_size,
    bounds_over_time,
    figure_one,
    interval_comparison,
    line_grid,
    method_comparison,
    svg_text,
)
from propcvx.plotting.style import BLUE


@pytest.fixture(scope="module")
def data():
    return make_two_bags(10, random_state=0)


@pytest.fixture(scope="module")
def right(data):
    return SVC(kernel="linear").fit(data.X, data.labels)


@pytest.fixture(scope="module")
def wrong(data):
    return SVC(kernel="linear").fit(data.X, -data.labels)


def test_figure_one_has_the_papers_four_panels(data, right, wrong):
    figure = figure_one(data, [("means", {"A": wrong, "B": wrong}), ("pSVM", {"C": right})])
    assert [ax.get_title() for ax in figure.axes] == [
        "(a) bag 1: 60% positive",
        "(b) bag 2: 40% positive",
        "(c) means",
        "(d) pSVM",
    ]
    first, _, third, _ = figure.axes
    assert [text.get_text() for text in first.get_legend().texts] == [
        *("positive", "negative", "mean of the bag", "C")
    ]
    assert [text.get_text() for text in third.get_legend().texts] == [
        *("A", "B", "predicted positive", "predicted negative")
    ]
    positive = first.collections[0]
    assert same_color(positive.get_facecolor()[0, :3], BLUE)
    assert np.array_equal(positive.get_offsets(), data.X[(data.bags == 0) & (data.labels == 1)])


@pytest.mark.parametrize(("n_bags", "n_panels"), [(1, 0), (20, 7)])
def test_figure_one_has_a_panel_for_each_bag_and_each_heading(n_bags, n_panels, data):
    bags = np.arange(len(data.X)) % n_bags
    many = data._replace(bags=bags, proportions=dict.fromkeys(range(n_bags), 0.5))
    figure = figure_one(many, [("method", {"A": OneSided()})] * n_panels)
    assert len({ax.get_title() for ax in figure.axes}) == n_bags + n_panels


def test_what_figure_one_cannot_draw(data, right):
    with pytest.raises(InputError, match=r"1 to 2 classifiers, got \['A', 'B', 'C'\]"):
        figure_one(data, [("many", dict.fromkeys("ABC", right))])
    with pytest.raises(InputError, match=r"1 to 2 classifiers, got \[\]"):
        figure_one(data, [("none", {})])
    with pytest.raises(InputError, match=r"X must have two columns .* \(20, 3\)"):
        figure_one(data._replace(X=np.zeros((20, 3))), [])


class OneSided:
    """A classifier without a line: every instance is positive."""

    def decision_function(self, X):
        return np.ones(len(X))


def test_a_classifier_without_a_line_is_drawn_as_its_shade(data, recwarn, tmp_path):
    figure_one(data, [("x", {"constant": OneSided()})]).savefig(tmp_path / "figure.png", dpi=20)
    assert not recwarn.list


def test_comparison_names_methods_ceiling_and_bag_errors(tmp_path):
    shares = (np.array([0.25, 0.5]), np.array([0.5, 0.5]))
    figure = method_comparison(
        {"A": 0.9, "B": 0.8}, ("labels seen", 0.95), {"A": shares, "B": shares}, 50
    )
    figure.savefig(tmp_path / "figure.png", dpi=20)
    upper, *panels = figure.axes
    assert [label.get_text() for label in upper.get_yticklabels()] == ["A", "B"]
    assert "labels seen: 95.0%" in {text.get_text() for text in upper.texts}
    assert [ax.get_title() for ax in panels] == [f"{name}\nbag error 0.125" for name in "AB"]


@pytest.fixture
def comparisons():
    """Two problems with a kind that proves something, one that does not, and one refused."""
    known = {"best_upper": 2.0, "cpu_seconds": 3.0, "status": "done"}
    rows = [
        {**known, "kind": "a", "lower": 1.0, "upper": 2.0, "history": [(0.1, 0.0), (1.0, 1.0)]},
        {**known, "kind": "b", "lower": None, "upper": 2.5, "history": []},
        {**known, "kind": "c", "lower": None, "upper": None, "history": None, "status": "refused"},
    ]
    return [("one", rows), ("two", rows[:2])]


def test_intervals_have_a_line_for_every_kind(comparisons):
    figure = interval_comparison(comparisons)
    assert [ax.get_title() for ax in figure.axes] == ["one", "two"]
    assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == ["a", "b", "c"]
    assert [text.get_text() for text in figure.axes[0].texts] == ["refused"]
    lower, upper = (list(line.get_xdata()) for line in figure.axes[1].lines[:2])
    assert np.array_equal(lower, [1.0, np.nan], equal_nan=True)
    assert upper == [2.0, 2.5]


def test_curves_are_of_the_kinds_that_prove_something(comparisons):
    figure = bounds_over_time(comparisons)
    assert [text.get_text() for text in figure.legends[0].texts] == ["a"]
    curve = figure.axes[0].lines[0]
    assert list(curve.get_xdata()) == [1.0, 3.0]
    assert list(curve.get_ydata()) == [0.5, 0.5]


def test_a_line_has_one_colour_in_all_panels_of_its_row(tmp_path):
    line = (np.array([1.0, 10.0]), np.array([0.5, 0.6]), np.array([0.1, 0.0]))
    rows = {"accuracy": {"heart": {"A": line, "B": line}, "vote": {"B": line}}, "value": {"v": {}}}
    figure = line_grid(rows, "C", log=True)
    figure.savefig(tmp_path / "figure.png", dpi=20)
    assert [ax.get_title() for ax in figure.axes] == ["heart", "vote", "v"]
    first, second = figure.axes[:2]
    assert same_color(first.containers[1][0].get_color(), second.containers[0][0].get_color())
    assert not same_color(first.containers[0][0].get_color(), first.containers[1][0].get_color())
    assert [text.get_text() for text in second.get_legend().get_texts()] == ["A", "B"]
    assert first.get_xscale() == "log"


def test_accuracy_has_a_panel_for_each_method_on_the_same_axes(tmp_path):
    sizes = np.array([2.0, 4.0, 8.0])
    one = (sizes, np.array([90.0, 80.0, 70.0]), np.full(3, np.nan))
    two = (sizes[:2], np.array([88.0, 79.0]), np.array([1.0, 2.0]))
    panels = {"A": {"here": one, "paper": two}, "B": {"here": one}, "C": {"paper": two}}
    figure = accuracy_by_bag_size(panels, "heart")
    figure.savefig(tmp_path / "figure.png", dpi=20)
    assert [ax.get_title() for ax in figure.axes] == ["A", "B", "C"]
    assert len({ax.get_ylim() for ax in figure.axes}) == 1
    assert [text.get_text() for text in figure.axes[2].get_xticklabels()] == ["2", "4", "8"]
    assert [text.get_text() for text in figure.legends[0].texts] == ["here", "paper"]
    first, _, third = (ax.containers for ax in figure.axes)
    assert same_color(first[1].lines[0].get_color(), third[0].lines[0].get_color())
    assert not same_color(first[0].lines[0].get_color(), first[1].lines[0].get_color())
    assert len(first[1].lines[2][0].get_segments()) == 2


def test_svg_is_the_same_text_every_time():
    line = (np.array([1.0, 10.0]), np.array([0.5, 0.6]), np.array([0.1, 0.0]))
    before = dict(mpl.rcParams)
    one, other = (svg_text(line_grid({"y": {"p": {"A": line}}}, "x")) for _ in range(2))
    assert one == other
    assert dict(mpl.rcParams) == before
    assert ElementTree.fromstring(one).tag == "{http://www.w3.org/2000/svg}svg"
