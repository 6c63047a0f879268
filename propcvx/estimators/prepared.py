"""X and y of one or several fits, checked once."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
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
        In an order of instances and bags that the data alone determine, see
        :mod:`propcvx.ordering`.
    classes : array of shape (2,)
    """

    given: Any
    X: Any
    bags: Bags
    classes: NDArray[Any]
    _maps: dict[Kernel, FeatureMap] = field(default_factory=dict, init=False, repr=False)

    def feature_map(self, kernel: Kernel, gram_matrices: float) -> FeatureMap:
        """Features of the instances in the order of ``bags``, computed at the first call.

        See :meth:`FeatureMap.fit`.
        """
        if kernel not in self._maps:
            X = self.ordered
            if kernel.name == "precomputed" and X.shape[0] == X.shape[1]:  # or it is refused
                X = X[:, self.bags.rows]
            self._maps[kernel] = FeatureMap.fit(X, kernel, gram_matrices)
        return self._maps[kernel]

    @cached_property
    def ordered(self) -> Any:
        """The rows of X in the order of ``bags``."""
        return self.X[self.bags.rows]

    @cached_property
    def places(self) -> NDArray[np.intp]:
        """Where each row of X is in the order of ``bags``."""
        return np.argsort(self.bags.rows)
