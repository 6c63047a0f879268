"""Lines and their names in the pictures of pages and reports, and pictures as text."""

from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import shown

LINE = (np.array([1.0, 10.0]), np.array([0.5, 0.6]), np.array([0.1, 0.0]))


def words(texts):
    return [text.get_text() for text in texts]


def colours_of_lines(figure):
    """Names of the panels, each with the colours of its lines."""
    return {
        ax.get_title(): [bars.lines[0].get_color() for bars in ax.containers] for ax in figure.axes
    }


def test_a_line_has_one_colour_in_all_panels_of_its_row():
    panels = {"heart": {"A": LINE, "B": LINE}, "vote": {"B": LINE}}
    figure = shown.line_grid({"accuracy": panels, "value": {"v": {}}}, "C", log=True)
    shown.svg_text(figure)
    colours = colours_of_lines(figure)
    assert list(colours) == ["heart", "vote", "v"]
    assert colours["heart"][1:] == colours["vote"] != colours["heart"][:1]
    assert words(figure.axes[1].get_legend().texts) == ["A", "B"]
    assert figure.axes[0].get_xscale() == "log"


def test_accuracy_has_a_panel_for_each_method_on_the_same_axes():
    sizes = np.array([2.0, 4.0, 8.0])
    first = (sizes, np.array([90.0, 80.0, 70.0]), np.full(3, np.nan))
    second = (sizes[:2], np.array([88.0, 79.0]), np.array([1.0, 2.0]))
    panels = {"A": {"here": first, "paper": second}, "B": {"here": first}, "C": {"paper": second}}
    figure = shown.accuracy_by_bag_size(panels, "heart")
    shown.svg_text(figure)
    colours = colours_of_lines(figure)
    assert list(colours) == ["A", "B", "C"]
    assert colours["A"] == [*colours["B"], *colours["C"]]
    assert len(set(colours["A"])) == 2
    assert len({ax.get_ylim() for ax in figure.axes}) == 1
    assert words(figure.axes[2].get_xticklabels()) == ["2", "4", "8"]
    assert words(figure.legends[0].texts) == ["here", "paper"]
    assert len(figure.axes[0].containers[1].lines[2][0].get_segments()) == 2


def test_svg_is_the_same_text_every_time():
    before = dict(mpl.rcParams)
    first, other = (
        shown.svg_text(shown.line_grid({"y": {"p": {"A": LINE}}}, "x")) for _ in range(2)
    )
    assert first == other
    assert dict(mpl.rcParams) == before
    assert ElementTree.fromstring(first).tag == "{http://www.w3.org/2000/svg}svg"
