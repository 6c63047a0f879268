"""The labelled data of the studies: real sets, and two Gaussians that overlap more and more."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from scipy.stats import norm
from sklearn.preprocessing import minmax_scale

from propcvx.datasets import load_real
from propcvx.datasets.real import LabeledData

REAL = ("heart", "vote", "australian")

OVERLAPS: Mapping[str, float] = MappingProxyType(
    {"gaussians 1%": 0.01, "gaussians 10%": 0.1, "gaussians 25%": 0.25}
)
"""Generated sets by name, and the error of the best classifier there is."""

N_INSTANCES, N_FEATURES = 500, 5


def labelled(name: str) -> LabeledData:
    """A set by name, a real one or one of ``OVERLAPS``, each attribute scaled to [-1, 1].

    Raises
    ------
    MissingDataError
        If the file of a real set is not there.
    """
    return gaussians(OVERLAPS[name]) if name in OVERLAPS else load_real(name, download=False)


def gaussians(error: float) -> LabeledData:
    """Two Gaussian classes of unit covariance that the best classifier confuses at this rate."""
    random = np.random.default_rng(0)
    labels = random.choice((-1.0, 1.0), N_INSTANCES)
    X = random.normal(size=(N_INSTANCES, N_FEATURES))
    X[:, 0] += norm.isf(error) * labels
    return LabeledData(minmax_scale(X, (-1, 1)), labels)
