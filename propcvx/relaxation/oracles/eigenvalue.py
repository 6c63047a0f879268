"""A bound on the violation by one eigenvalue, and the labeling along its eigenvector."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from propcvx.programs import Lifting
from propcvx.relaxation.oracles.ascent import ascend
from propcvx.relaxation.oracles.cut import Cut, violation_value
from propcvx.relaxation.oracles.rows import RowOracle

Array = NDArray[np.float64]


@dataclass(frozen=True)
class EigenvalueOracle(RowOracle):
    r"""The trust-region bound: of y it uses the sum over each bag, where exact, and the norm.

    Over the :math:`x = (1, y) = W u` of :class:`propcvx.programs.Lifting`, with
    :math:`\|x\|^2 = N + 1` and :math:`x_0 = 1`,

    .. math::

        \max_{y \in \mathcal{Y}} \|F^\top (y \circ \alpha)\|^2 \le \min_\lambda \; \lambda + (N + 1)
        \lambda_{\max}(W^\top (\tilde Q - \lambda e_0 e_0^\top) W),

    which is the optimum of the trust-region problem over all such y.  The matrix has the rank of
    the features, so a call costs their decomposition.  The labeling is the best one along the
    eigenvector, raised by :func:`~.ascent.ascend`.
    """

    @cached_property
    def _lifting(self) -> Lifting:
        return Lifting.of(self._labelings)

    def _find(self, alpha: Array) -> Cut:
        weighted = alpha[:, None] * self._rows
        bound, axis = self._largest(weighted)
        starts = self._labelings.best(np.column_stack([axis, -axis])).T
        found = np.array([ascend(start, weighted, self._labelings) for start in starts])
        values = [violation_value(self._rows, labeling, alpha) for labeling in found]
        best = int(np.argmax(values))
        return Cut(found[best], values[best], max(values[best], bound / 2))

    def _largest(self, weighted: Array) -> tuple[float, Array]:
        """The bound, and the y of its eigenvector."""
        span, order = self._lifting.span, len(weighted) + 1
        inside = span[1:].T @ weighted
        corner = span[[0]].toarray().T
        basis, _ = np.linalg.qr(np.hstack([inside, corner]))
        inside, corner = basis.T @ inside, basis.T @ corner
        quadratic = inside @ inside.T
        scale = order * float(np.linalg.norm(quadratic)) or 1.0

        def eigen(share: float) -> tuple[Array, Array]:
            return np.linalg.eigh(quadratic - share * scale * (corner @ corner.T))

        def bound(share: float) -> float:
            top = eigen(share)[0][-1]
            return share * scale + order * (max(top, 0.0) if len(basis) > len(quadratic) else top)

        share = minimize_scalar(bound, bounds=(-1.0, 1.0), method="bounded").x
        error = order * np.finfo(float).eps * scale * (1.0 + abs(share))
        least, share = min((bound(s), s) for s in (share, 0.0))
        return least + error, span[1:] @ (basis @ eigen(share)[1][:, -1])
