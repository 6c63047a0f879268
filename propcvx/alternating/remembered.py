"""SVM steps that answer from memory what they were asked before.

Starts of Algorithm 1 meet, and while C* is small the labels do not depend on C_p; so of the SVMs of
a grid of 3 by 3 parameters with ten starts each, two in three to three in four have been solved
already (heart and vote, bags of 8 to 64).
"""

from __future__ import annotations

from collections.abc import Hashable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propcvx.alternating.problem import Separator
from propcvx.alternating.svm_step import Step, SVMStep
from propcvx.losses import HINGE

Array = NDArray[np.float64]
Known = dict[Hashable, Separator]  # answers by labeling and C
Solved = MutableMapping[Hashable, Known]  # of steps on the same features, by solver and tolerance

MOST = 2000
"""With more instances than this nothing is kept: a separator holds several numbers for each."""


@dataclass(frozen=True)
class RememberedStep:
    """An SVM step, and what it has answered.

    The solver always begins anew, so that the answer is a function of the labeling and C, whoever
    asked first.

    Attributes
    ----------
    step : SVMStep
    known : dict
        Answers by labeling and C; other steps on the same features may have given them.
    """

    step: SVMStep
    known: Known = field(default_factory=dict, repr=False)

    def __call__(self, labeling: Array, C: float, after: Separator | None = None) -> Separator:
        """See :class:`SVMStep`."""
        question = (np.packbits(labeling > 0.0).tobytes(), C)
        if question not in self.known:
            self.known[question] = self.step(labeling, C)
        return self.known[question]

    @property
    def features(self) -> Array:
        """Those of the step."""
        return self.step.features

    def __getstate__(self) -> dict[str, Any]:
        return {"step": self.step, "known": {}}


def remembered(step: SVMStep, solved: Solved) -> Step:
    """The step with the memory of all like it on the same features.

    Steps with many instances, weights, a loss or solvers of one's own come back as they are.

    Parameters
    ----------
    step : SVMStep
    solved : dict
        What steps on these features have answered, by solver and tolerance; it is added to.
    """
    plain = step.loss is HINGE and isinstance(step.solver, str) and not step.options
    if not plain or len(step.features) > MOST:
        return step
    return RememberedStep(step, solved.setdefault((step.solver, step.tol), {}))
