"""Algorithm 1 as it walks: labels and separator round by round."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from matplotlib.animation import FuncAnimation, PillowWriter
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from propcvx.alternating.algorithm import Iterate
from propcvx.errors import InputError
from propcvx.plotting.plane import check_plane, draw_points, draw_sides
from propcvx.plotting.style import Array, axes_of

FRAMES_PER_SECOND = 4


class Film(FuncAnimation):
    """An animation that notebooks show as a GIF: without a network, and on printed pages, too."""

    def gif(self) -> bytes:
        """The animation as a GIF that begins anew when it has ended."""
        with TemporaryDirectory() as folder:
            path = Path(folder, "film.gif")
            self.save(str(path), writer=PillowWriter(fps=FRAMES_PER_SECOND))
            return path.read_bytes()

    def _repr_html_(self) -> str:
        encoded = b64encode(self.gif()).decode("ascii")
        return f'<img alt="animation" src="data:image/gif;base64,{encoded}">'


def annealing(frames: Sequence[Iterate], X: Array, ax: Axes | None = None) -> Film:
    r"""Algorithm 1 as an animation: labels and separator of every round, while :math:`C^*` rises.

    Parameters
    ----------
    frames : sequence of Iterate
        What :func:`propcvx.alternating.algorithm.alternate` yields, of a linear kernel.
    X : array of shape (n_instances, 2)
    ax : Axes, optional
        Where to draw; a new figure's otherwise.

    Returns
    -------
    matplotlib.animation.FuncAnimation
        A notebook shows it; ``save("film.gif", writer="pillow")`` keeps it.

    Raises
    ------
    InputError
        If X has not two columns, or there are no frames.
    """
    X, ax = check_plane(X), axes_of(ax)
    if len(frames) == 0:
        raise InputError("frames must hold at least one round, got none.")

    def draw(number: int) -> list[Any]:
        ax.clear()
        return [annealing_frame(frames[number], X, ax)]

    figure = cast(Figure, ax.get_figure(root=True))
    return Film(figure, draw, frames=len(frames), interval=1000 / FRAMES_PER_SECOND)


def annealing_frame(frame: Iterate, X: Array, ax: Axes | None = None) -> Axes:
    """One round of Algorithm 1: the labels, and their separator with its margin.

    Parameters
    ----------
    frame : Iterate
        As of :func:`annealing`.
    X : array of shape (n_instances, 2)
    ax : Axes, optional
        Where to draw; a new figure's otherwise.

    Returns
    -------
    Axes

    Raises
    ------
    InputError
        If X has not two columns.
    """
    X, ax = check_plane(X), axes_of(ax)
    draw_sides(lambda points: points @ frame.separator.weights + frame.separator.bias, X, ax)
    draw_points(ax, X, frame.labeling)
    ax.set(xlabel="$x_1$", ylabel="$x_2$")
    ax.set_title(
        f"round {frame.number}, $C^*$ = {frame.C_star:.2g}, {frame.n_flips} flips follow",
        fontsize="medium",
    )
    return ax
