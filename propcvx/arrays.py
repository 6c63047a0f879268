"""Types of arrays and of arguments, for annotations."""

from collections.abc import Callable, Hashable, Mapping
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Weight = Array | float  # of all instances, or of each
Indices = NDArray[np.intp]
Signs = NDArray[np.int8]
Mask = NDArray[np.bool_]

PerBag = ArrayLike | Mapping[Hashable, float]  # in the order of the sorted ids, or keyed by id
BagWeights = Literal["uniform", "size"] | PerBag
Tolerance = float | Literal["rounding", "sampling"] | PerBag
Scale = float | Literal["scale"]
Seed = int | np.random.RandomState | None
KernelName = Literal["linear", "rbf", "exponential", "poly", "precomputed"]
KernelFunction = Callable[[Array, Array], Array]


def read_only(array: Array) -> Array:
    """Return a read-only view, so that a callable of yours cannot change an array in place."""
    view = array.view()
    view.flags.writeable = False
    return view
