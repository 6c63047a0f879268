"""Pictures look as those beside this file, and have the panels and names that they should.

PROPCVX_DRAW=1 draws the pictures in tests/plotting/pictures anew.
"""

import os
from base64 import b64decode
from functools import cache
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import same_color
from matplotlib.figure import Figure
from matplotlib.testing.compare import compare_images
from PIL import Image
from sklearn.svm import SVC

from propcvx import Bags, ConvPropSVM, InvCal, MeanMap, bag_target, check_fit, group_rates, plotting
from propcvx.datasets import make_two_bags
from propcvx.errors import InputError
from propcvx.history import FitResult, History, Round, StopReason
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.plotting.style import BLUE

KEPT = Path(__file__).with_name("pictures")
TOLERANCE = 12.0
"""Root mean square of the difference in gray values, for fonts that another version sets apart."""

X = np.random.RandomState(0).normal(size=(24, 2))
LABELS = np.where(X[:, 0] > 0, 1, -1)
Y = bag_target(np.repeat(["a", "b", "c"], 8), {"a": 0.25, "b": 0.5, "c": 0.75})


def fitted(*rounds):
    """What has a history of rounds with those objectives and values of C*."""
    records = [Round(value, "piqp", "optimal", 0.1, C_star=level) for value, level in rounds]
    return SimpleNamespace(history_=History(records, StopReason.CONVERGED))


def iterate(number, C_star):
    rounds = number * [Round(1.0, "piqp", "optimal", 0.1, C_star=C_star, n_flips=2)]
    return FitResult(LABELS, np.array([1.0, 0.3]), 0.1, 1.0, History(rounds))


PLANE = SimpleNamespace(decision_function=lambda points: points @ [1.0, 0.3], epsilon=0.1)
TRUE = FeasibleLabelings.from_bags(Bags.from_target(Y), 0.0).best(X[:, 0])


@cache
def four_groups():
    """Rates of four groups with estimates, intervals and the truth."""
    model = MeanMap(solver="logistic").fit(X, Y)
    return group_rates(Y, np.arange(24) % 4, model, X, y_true=TRUE, n_draws=20)


UNJUDGED = group_rates(Y, np.arange(24) % 4)
PLAIN = fitted((3.0, None), (2.0, None), (1.5, None))
ANNEALED = fitted((0.1, 0.01), (0.5, 0.1), (2.0, 1.0))
PICTURES = {
    "history": lambda ax: plotting.history(PLAIN, ax),
    "history_annealed": lambda ax: plotting.history(ANNEALED, ax),
    "boundary": lambda ax: plotting.boundary(PLANE, X, LABELS, ax),
    "boundary_without_labels": lambda ax: plotting.boundary(PLANE, X, ax=ax),
    "proportions": lambda ax: plotting.proportions(PLANE, X, Y, ax),
    "annealing_frame": lambda ax: plotting.annealing_frame(iterate(2, 0.01), X, ax),
    "calibration": lambda ax: plotting.calibration(check_fit(MeanMap(solver="logistic"), X, Y), ax),
    "group_ranges": lambda ax: plotting.group_ranges(four_groups(), ax),
    "estimates_and_truth": lambda ax: plotting.estimates_and_truth(four_groups(), ax),
}


@pytest.mark.parametrize("name", PICTURES)
def test_picture_equals_stored_picture(name, tmp_path):
    figure = Figure(figsize=(4.0, 3.0), layout="constrained")
    ax = figure.subplots()
    assert PICTURES[name](ax) is ax
    assert isinstance(PICTURES[name](None), Axes)  # of a new figure
    kept, drawn = KEPT / f"{name}.png", tmp_path / f"{name}.png"
    for path in (kept, drawn) if os.environ.get("PROPCVX_DRAW") else (drawn,):
        figure.savefig(path, dpi=60)
    assert compare_images(str(kept), str(drawn), TOLERANCE) is None


def test_columns_of_frame_name_axes():
    frame = pd.DataFrame(X, columns=["age", "income"])
    ax = plotting.boundary(MeanMap().fit(frame, Y), frame)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("age", "income")


def test_tolerance_band_is_not_drawn_for_epsilon_of_logits():
    drawn = [
        plotting.proportions(cls(epsilon=0.2).fit(X, Y), X, Y).get_legend().texts
        for cls in (ConvPropSVM, InvCal)
    ]
    assert list(map(words, drawn)) == [["exact", "within epsilon", "a bag"], ["exact", "a bag"]]


def test_annealing_has_frame_for_each_round():
    frames = [iterate(k + 1, C) for k, C in enumerate((1e-5, 1e-4, 1e-3))]
    html = plotting.annealing(iter(frames), X)._repr_html_()
    start = '<img alt="animation" src="data:image/gif;base64,'
    assert html.startswith(start)
    picture = Image.open(BytesIO(b64decode(html.removeprefix(start))))
    assert (picture.format, picture.n_frames) == ("GIF", 3)
    assert picture.info["loop"] == 0


TWO_BAGS = make_two_bags(10, random_state=0)
THREE = np.ones((24, 3))
OF_THREE = InvCal().fit(X, bag_target(np.arange(24) // 8, np.eye(3) / 2 + 1 / 6))


def figure_one_of(names):
    """Figure 1 with a panel of classifiers by those names."""
    return plotting.figure_one(TWO_BAGS, [("a panel", dict.fromkeys(names, PLANE))])


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plotting.boundary(PLANE, THREE), r"X must have two columns .* \(24, 3\)"),
        (lambda: plotting.boundary(PLANE, X, 1 * (LABELS > 0)), "must be a labeling of -1 and"),
        (lambda: plotting.boundary(OF_THREE, X), "class"),
        (lambda: plotting.annealing([], X), "at least one round; got none"),
        (
            lambda: plotting.figure_one(TWO_BAGS._replace(labels=None), []),
            "data.labels must .* None",
        ),
        (lambda: plotting.interval_comparison([]), r"pair of heading and rows.* got \[\]"),
        (lambda: figure_one_of("ABC"), r"1 to 2 classifiers; got \['A', 'B', 'C'\]"),
        (lambda: plotting.estimates_and_truth(UNJUDGED), r"got no \['estimate', 'true'\]"),
    ],
)
def test_invalid_input_of_plots_raises(draw, message):
    with pytest.raises(InputError, match=message):
        draw()


# Figures with several panels


def titles(figure):
    return [ax.get_title() for ax in figure.axes]


def words(texts):
    return [text.get_text() for text in texts]


def test_figure_one_has_papers_four_panels():
    X, labels, bags, _ = TWO_BAGS
    wrong, right = (SVC(kernel="linear").fit(X, sign * labels) for sign in (-1, 1))
    panels = [("means", {"A": wrong, "B": wrong}), ("pSVM", {"C": right})]
    figure = plotting.figure_one(TWO_BAGS, panels)
    of_bags = ["(a) bag 1: 60% positive", "(b) bag 2: 40% positive"]
    assert titles(figure) == [*of_bags, "(c) means", "(d) pSVM"]
    first, _, third, _ = figure.axes
    points = ["positive", "negative", "mean of the bag"]
    assert words(first.get_legend().texts) == [*points, "C"]
    shades = ["predicted positive", "predicted negative"]
    assert words(third.get_legend().texts) == ["A", "B", *shades]
    positive = first.collections[0]
    assert same_color(positive.get_facecolor()[0, :3], BLUE)
    assert np.array_equal(positive.get_offsets(), X[(bags == 0) & (labels == 1)])


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


def test_bounds_plot_has_interval_and_curve(comparisons):
    figure = plotting.interval_comparison(comparisons)
    assert titles(figure) == ["one", "two"]
    first, second = figure.axes
    assert words(first.get_yticklabels()) == ["a", "b", "c"]
    assert words(first.texts) == ["refused"]
    lower, upper = (line.get_xdata() for line in second.lines[:2])
    np.testing.assert_array_equal(lower, [1.0, np.nan])
    np.testing.assert_array_equal(upper, [2.0, 2.5])
