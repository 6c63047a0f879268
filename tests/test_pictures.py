"""Pictures look as those in tests/pictures (PROPCVX_DRAW=1 draws these anew)."""

import os
from base64 import b64decode
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.testing.compare import compare_images
from PIL import Image

from propcvx import bag_target, plotting
from propcvx.alternating.algorithm import Iterate
from propcvx.alternating.problem import Separator
from propcvx.bounds.interval import NodeRecord
from propcvx.errors import InputError
from propcvx.history import History, Round, StopReason

KEPT = Path(__file__).with_name("pictures")
TOLERANCE = 12.0
"""Root mean square of the difference in grey values, for fonts that another version sets apart."""

X = np.random.RandomState(0).normal(size=(24, 2))
LABELS = np.where(X[:, 0] > 0, 1, -1)
BAGS = np.repeat(["a", "b", "c"], 8)
Y = bag_target(BAGS, {"a": 0.25, "b": 0.5, "c": 0.75})


class Plane(SimpleNamespace):
    """A classifier by a plane."""

    def decision_function(self, points):
        return np.asarray(points) @ self.coef_

    def get_params(self):
        return {"C": self.C}


NODES = [
    NodeRecord(0, -1, 0, 1.0, "branched", (9, 9), 0.4),
    NodeRecord(1, 0, 1, 1.5, "branched", (4, 9), 0.6),
    NodeRecord(2, 0, 1, 2.1, "closed", (5, 9), 0.7),
    NodeRecord(3, 1, 2, 1.8, "open", (2, 9), 0.8),
    NodeRecord(4, 1, 2, 2.05, "closed", (2, 9), 0.9),
]


def rounds(objectives, annealing):
    records = [
        Round(objective, "piqp", "optimal", 0.1, C_star=level)
        for objective, level in zip(objectives, annealing, strict=True)
    ]
    return SimpleNamespace(history_=History(records, StopReason.CONVERGED))


def iterate(number, C_star):
    separator = Separator(np.array([1.0, 0.3]), 0.1, np.zeros(len(LABELS)))
    return Iterate(number, C_star, LABELS, separator, 1.0, 2, StopReason.MAX_ROUNDS)


PATH = [
    {"C": c, "accuracy": 0.6 + shift + 0.1 * c, "bag error": 0.1 - shift}
    for shift in (0.0, 0.04)
    for c in (1.0, 0.01, 0.1)
]


MIXTURE = SimpleNamespace(
    vectors=np.where(np.random.RandomState(1).normal(size=(3, 12)) > 0, 1.0, -1.0),
    weights=np.array([0.2, 0.5, 0.3]),
)
PLANE = Plane(coef_=np.array([1.0, 0.3]), C=1.0, epsilon=0.1)
PICTURES = {
    "history": lambda ax: plotting.history(rounds([3.0, 2.0, 1.5], [None] * 3), ax),
    "history_annealed": lambda ax: plotting.history(rounds([0.1, 0.5, 2.0], [0.01, 0.1, 1.0]), ax),
    "boundary": lambda ax: plotting.boundary(PLANE, X, LABELS, ax),
    "boundary_without_labels": lambda ax: plotting.boundary(PLANE, X, ax=ax),
    "proportions": lambda ax: plotting.proportions(PLANE, X, Y, ax),
    "coefficients": lambda ax: plotting.coefficients(
        [Plane(coef_=np.array([[c, 1 - c**0.5]]), C=c) for c in (1.0, 0.01, 0.1)], "C", ax
    ),
    "annealing_frame": lambda ax: plotting.annealing_frame(iterate(2, 0.01), X, ax),
    "regularisation_path_repeated": lambda ax: plotting.regularisation_path(PATH, "C", ax),
    "tree": lambda ax: plotting.tree(SimpleNamespace(nodes=NODES, upper=2.0), ax),
    "labelings": lambda ax: plotting.labelings(MIXTURE, ax),
}


@pytest.mark.parametrize("name", PICTURES)
def test_picture_is_as_it_was(name, tmp_path):
    figure = Figure(figsize=(4.0, 3.0), layout="constrained")
    ax = figure.subplots()
    assert PICTURES[name](ax) is ax
    kept, drawn = KEPT / f"{name}.png", tmp_path / f"{name}.png"
    if os.environ.get("PROPCVX_DRAW"):
        figure.savefig(kept, dpi=60)
    figure.savefig(drawn, dpi=60)
    assert compare_images(str(kept), str(drawn), TOLERANCE) is None


@pytest.mark.parametrize("name", PICTURES)
def test_without_axes_there_is_a_new_figure(name):
    assert isinstance(PICTURES[name](None), Axes)


def test_a_plane_has_two_features():
    with pytest.raises(InputError, match=r"X must have two columns .* \(24, 3\)"):
        plotting.boundary(PLANE, np.ones((24, 3)))


def test_annealing_has_a_frame_for_each_round():
    frames = [iterate(k + 1, C) for k, C in enumerate((1e-5, 1e-4, 1e-3))]
    html = plotting.annealing(frames, X)._repr_html_()
    start = '<img alt="animation" src="data:image/gif;base64,'
    assert html.startswith(start)
    picture = Image.open(BytesIO(b64decode(html.removeprefix(start))))
    assert (picture.format, picture.n_frames) == ("GIF", 3)
    assert picture.info["loop"] == 0


def test_annealing_needs_frames_in_the_plane():
    with pytest.raises(InputError, match="at least one round, got none"):
        plotting.annealing([], X)
    with pytest.raises(InputError, match=r"X must have two columns .* \(24, 3\)"):
        plotting.annealing([iterate(1, 1.0)], np.ones((24, 3)))


@pytest.mark.parametrize("rows", [[], [{"accuracy": 1.0}], [{"C": 1.0, "a": 1.0}, {"C": 2.0}]])
def test_a_path_is_of_numbers_by_the_same_names(rows):
    with pytest.raises(InputError, match="rows must have numbers by the same names, 'C' among"):
        plotting.regularisation_path(rows, "C")
