"""The most violated labeling by listing all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from propcvx.relaxation.oracles.cut import Cut
from propcvx.relaxation.oracles.rows import RowOracle, best_cut

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ExhaustiveOracle(RowOracle):
    """The most violated labeling, for a handful of instances."""

    chunk: int = 4096

    def _find(self, alpha: Array) -> Cut:
        weighted = alpha[:, None] * self._rows
        blocks = _chunks(self._labelings.enumerate(), self.chunk)
        return best_cut(np.array([best_cut(b, weighted).labeling for b in blocks]), weighted)


def _chunks(labelings: Iterator[Array], size: int) -> Iterator[Array]:
    while block := list(islice(labelings, size)):
        yield np.array(block)
