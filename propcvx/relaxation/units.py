"""The units of features in which programs are posed to solvers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def unit_of(features: NDArray[np.float64], C: float) -> float:
    r"""Factor u of the features with which programs are posed, where :math:`C / u^2 \ge 1`.

    In :math:`u F`, :math:`C / u^2` and :math:`\alpha / u^2` the problem is the same, its value
    divided by :math:`u^2`, and its numbers are near 1 whatever the scale of the features.

    Examples
    --------
    >>> unit_of(np.array([[100.0], [-100.0]]), 1.0)
    0.01
    """
    size = float(np.sqrt(np.square(features).sum(axis=1).mean())) or 1.0
    return min(1.0 / size, float(np.sqrt(C)))
