"""Figures as text, to be put into a page."""

from __future__ import annotations

from io import StringIO

from matplotlib import rc_context
from matplotlib.figure import Figure


def svg_text(figure: Figure) -> str:
    """A figure as SVG: the same text whenever it is the same figure.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    """
    buffer = StringIO()
    with rc_context({"svg.hashsalt": "propcvx"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()
