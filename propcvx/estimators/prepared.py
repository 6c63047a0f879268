"""X and y of one or several fits, checked once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from propcvx.bags import Bags
from propcvx.kernels import FeatureMap, Kernel


@dataclass(frozen=True, eq=False)
class Prepared:
    """Instances and bags that fits are to, and the kernel features that these fits share.

    Attributes
    ----------
    given : array or data frame
        X as it came, with the names of its columns.
    X : array of shape (n_instances, n_features)
        X as it is used.
    bags : Bags
    classes : array of shape (2,)
    """

    given: Any
    X: Any
    bags: Bags
    classes: NDArray[Any]
    _maps: dict[Kernel, FeatureMap] = field(default_factory=dict, init=False, repr=False)

    def feature_map(self, kernel: Kernel, gram_matrices: float) -> FeatureMap:
        """The features under a kernel, computed at the first call; see :meth:`FeatureMap.fit`."""
        if kernel not in self._maps:
            self._maps[kernel] = FeatureMap.fit(self.X, kernel, gram_matrices)
        return self._maps[kernel]
