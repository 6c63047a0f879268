"""What MeanMap and InvCal share: they see of a bag only its mean, and are one program."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from propcvx.bags import Bags
from propcvx.errors import InputError
from propcvx.estimators.base import BagClassifier, Hyperplane
from propcvx.history import History, Round, StopReason
from propcvx.programs import Program
from propcvx.solvers import Solution, solve

Array = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class BagMeanClassifier(BagClassifier):
    """Base of both; a subclass implements ``_fit_means(features, bags)`` and calls ``_solve``."""

    objective_: float = field(init=False)
    solution_: Solution = field(init=False)

    def _fit(self, features: Array, bags: Bags) -> Hyperplane:
        if bags.known_inside.any():
            raise InputError(
                f"single labels are known inside larger bags ({int(bags.known_inside.sum())} of "
                "them), and "
                f"{type(self).__name__} sees only the mean of a bag; give each of them a bag of "
                "its own, or use AlterPropSVM or ConvPropSVM."
            )
        plane = self._fit_means(features, bags)
        self.labeling_ = np.where(features @ plane.weights + plane.bias > 0, 1.0, -1.0)
        return plane

    @abstractmethod
    def _fit_means(self, features: Array, bags: Bags) -> Hyperplane:
        """Fit a hyperplane over the features and store what else is to be shown."""

    def _solve(self, program: Program) -> Solution:
        """Solve the program of the method and store its answer."""
        options = self.solver_options or {}
        answer = solve(program, self.solver, tol=self.solver_tol, quiet=True, **options)
        seconds = answer.build_seconds + answer.solve_seconds
        record = Round(answer.value, answer.solver, answer.status, seconds)
        self.solution_, self.objective_ = answer, answer.value
        self.history_ = History([record], StopReason.SOLVED)
        self.stop_reason_ = StopReason.SOLVED
        return answer
