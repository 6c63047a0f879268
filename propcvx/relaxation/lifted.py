"""The lifted semidefinite relaxation, and what those over a lifted matrix share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propcvx.labelings import FeasibleLabelings
from propcvx.programs import Lifting, lifted_svm_dual, mixture
from propcvx.relaxation.bounds import labeling_upper_bound, lower_bound
from propcvx.relaxation.oracles.bounding import check_order
from propcvx.relaxation.result import Relaxation, RelaxationResult, ask, solved_at_once

Array = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class Lifted(Relaxation):
    r"""The semidefinite relaxation of Xu et al. (2004) with rows for the bags.

    It solves :func:`propcvx.programs.lifted_svm_dual` at once.  Its lower bound is evaluated from
    the multipliers, so a solver's error only makes it smaller; ``solver_tol=1e-4`` of
    :class:`propcvx.ConvPropSVM` is often enough.

    Parameters
    ----------
    max_order : int
        Largest order of the semidefinite matrix, which is at most the number of instances plus
        that of features (with a kernel: the rank of the Gram matrix), that it sets out to solve.

    Examples
    --------
    >>> from propcvx import ConvPropSVM
    >>> ConvPropSVM(relaxation=Lifted(max_order=600), solver_tol=1e-4).relaxation.max_order
    600
    """

    _: KW_ONLY
    max_order: int = 400

    def _relax(
        self, features: Array, feasible: FeasibleLabelings, C: float, **how: Any
    ) -> Iterator[RelaxationResult]:
        lifting = Lifting.of(feasible)
        inside = lifting.span.shape[1]
        check_order(inside + features.shape[1], self.max_order)
        answer = ask(lifted_svm_dual(features, feasible, C), **how)
        alpha = np.clip(answer.variables["alpha"], 0.0, C)
        weighted = alpha[:, None] * features
        largest = lifting.largest(
            weighted @ weighted.T,
            answer.variables["diagonal"],
            answer.variables.get("products", lifting.no_products),
        )
        matrix = answer.duals["semidefinite"][:inside, :inside]
        vectors, weights = mixture(lifting.span @ matrix @ lifting.span.T)
        labelings = nearest_labelings(vectors, weights, feasible)
        lower = lower_bound(alpha, largest / 2, C)
        value = max(answer.value, lower)
        yield RelaxationResult(
            value=value,
            lower=lower,
            upper=labeling_upper_bound(features, labelings, C),
            vectors=vectors,
            weights=weights,
            alpha=alpha,
            labelings=labelings,
            history=solved_at_once(value, answer),
        )


def nearest_labelings(vectors: Array, weights: Array, feasible: FeasibleLabelings) -> Array:
    """Feasible labelings nearest to the mean of a mixture, and to its leading axis either way."""
    axis = np.linalg.eigh((vectors.T * weights) @ vectors)[1][:, -1]
    found = feasible.best(np.column_stack([weights @ vectors, axis, -axis]))
    return np.unique(found.T, axis=0)
