"""Types of NumPy arrays, for annotations."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Weight = Array | float  # of all instances, or of each
Indices = NDArray[np.intp]
Signs = NDArray[np.int8]
Mask = NDArray[np.bool_]


def read_only(array: Array) -> Array:
    """The same numbers, for parts of the user's: who changes them in place gets NumPy's error."""
    view = array.view()
    view.flags.writeable = False
    return view
