"""conv-pSVM: the convex relaxation, solved by cutting planes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from propcvx.bags import Bags, check_epsilon
from propcvx.checks import check_choice, check_count, check_number
from propcvx.estimators.base import BagClassifier, Hyperplane
from propcvx.labelings import FeasibleLabelings
from propcvx.metrics import proportion_error
from propcvx.relaxation.bounds import Bounds, labeling_upper_bound
from propcvx.relaxation.cutting_plane import Relaxation, cutting_plane
from propcvx.relaxation.dimensions import leading_dimensions
from propcvx.relaxation.masters import MASTER_FORMS, Master
from propcvx.relaxation.oracles import (
    CoordinateOracle,
    DirectionSweepOracle,
    ExhaustiveOracle,
    MixedIntegerOracle,
    Oracle,
)
from propcvx.relaxation.rounding import rank_one

Array = NDArray[np.float64]

EXACT_ORACLES: Mapping[str, Callable[[Array, FeasibleLabelings], Oracle]] = MappingProxyType(
    {
        "exhaustive": ExhaustiveOracle,
        "sweep": DirectionSweepOracle,
        "mixed_integer": MixedIntegerOracle,
    }
)
"""Exact oracles by name."""


class ConvPropSVM(BagClassifier):
    r"""conv-pSVM (Algorithm 2): a convex relaxation of eq:convex_1 over :math:`M = y y^\top`.

    A restricted master (MKL over the labelings found so far, eq:convex_3) and an oracle for
    violated labelings (eq:concave) take turns; the rank-one labeling of M gives the classifier.

    Parameters
    ----------
    C : float
        Weight of the hinge loss.
    epsilon : float or "rounding"
        Tolerance of the proportions, in [0, 1]; ``"rounding"`` takes the counts of positives
        nearest to them, for proportions that were rounded.
    kernel : str or callable
        ``"linear"``, ``"rbf"``, ``"exponential"``, ``"poly"``, ``"precomputed"``, or a callable;
        see :class:`propcvx.kernels.Kernel`.
    gamma : float or "scale"
        Kernel coefficient; ``"scale"`` is ``1 / (n_features * X.var())``.
    degree : int
        Degree of ``"poly"``.
    coef0 : float
        Constant of ``"poly"``.
    intercept : "center", "constant" or "none"
        What stands in for the bias that the relaxation drops: centred features, a constant
        feature, or nothing.
    oracle : str or callable
        ``"coordinate"`` (the paper's, inexact), ``"exhaustive"``, ``"sweep"`` (two features),
        ``"mixed_integer"``, or a callable ``oracle(features, feasible) -> Oracle``.
    dimensions : "eigen" or "features"
        Dimensions tried by the coordinate oracle: the principal axes of the features, or the
        features themselves.
    variance : float
        Share of the variance that the principal axes keep, in (0, 1].
    max_cuts : int
        Largest number of labelings.  More lower the objective, and often the accuracy too: with
        many labelings mixed, the leading eigenvector of M carries little.
    tol : float
        Stops when the objective decreases by less.
    master : "epigraph", "group" or "reduced_gradient"
        Form of the restricted master; the last needs a solver of quadratic programs only.
    solver : str
        A solver of that form's class, see ``propcvx.solvers.SOLVERS``.  ``"auto"`` is
        ``"mkl_interior_point"`` for the epigraph form, then ``"clarabel"`` where that does not
        reach ``solver_tol``; for the other forms ``"clarabel"``.  ``history_`` names the one that
        answered.
    solver_tol : float
        Its tolerance.
    solver_options : dict or None
        Handed to it as they are.
    verbose : bool
        Show progress.

    Attributes
    ----------
    objective_ : float
        Value of the last restricted master at the solver's alpha.  The certified upper bound on
        the relaxation's optimum is ``relaxation_.master.upper``.
    violation_ : float
        By how much the oracle's last labeling violates the relaxation; 0 if it does not.
    bounds_ : Bounds or None
        With an exact oracle, bounds on the value of the best feasible labeling; ``bounds_.gap``
        is 0 where ``labeling_`` is proved optimal.  None with an inexact oracle.
    relaxation_ : Relaxation
        The labelings found, their weights mu and the dual variables alpha.
    soft_labeling_ : array of shape (n_instances,)
        The real-valued labeling of rank one, its sign chosen on the training bags.
    labeling_ : array of shape (n_instances,)
        The feasible labeling nearest to the classifier's scores, entries -1 and +1.
    history_ : History
        Objective, violation, cuts, solver, status and time of every round.
    n_iter_ : int
        Number of rounds, which is the number of cuts.
    stop_reason_ : StopReason
        Why it stopped; ``stop_reason_.advice`` says what to try.
    coef_ : array of shape (1, n_features)
        Weights, for the linear kernel.
    dual_coef_ : array of shape (1, n_instances)
        Dual coefficients, for other kernels.
    intercept_ : array of shape (1,)
        Bias that centring or the constant feature gives.
    classes_ : array of shape (2,)
        Labels; ``[-1, 1]`` for bags.
    """

    gram_matrices = 8.0
    per_instance = ("labeling_", "soft_labeling_")

    def __init__(
        self,
        C: float = 1.0,
        epsilon: float | str = 0.0,
        *,
        kernel: Any = "linear",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        intercept: str = "center",
        oracle: Any = "coordinate",
        dimensions: str = "eigen",
        variance: float = 0.9,
        max_cuts: int = 1,
        tol: float = 1e-4,
        master: str = "epigraph",
        solver: str = "auto",
        solver_tol: float = 1e-6,
        solver_options: dict[str, Any] | None = None,
        verbose: bool = False,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.intercept = intercept
        self.oracle = oracle
        self.dimensions = dimensions
        self.variance = variance
        self.max_cuts = max_cuts
        self.tol = tol
        self.master = master
        self.solver = solver
        self.solver_tol = solver_tol
        self.solver_options = solver_options
        self.verbose = verbose

    def _fit(self, features: Array, bags: Bags) -> Hyperplane:
        self._check()
        feasible = FeasibleLabelings.of(bags, self.epsilon)
        lifted, mean = self._lift(features)
        self.relaxation_ = self._relax(lifted, feasible)
        plane = self._round(lifted, bags)
        self.objective_ = self.relaxation_.objective
        self.violation_ = self.relaxation_.violation
        self.history_ = self.relaxation_.history
        self.stop_reason_ = self.history_.stop_reason
        self.n_iter_ = len(self.history_)
        self.labeling_ = feasible.best(lifted @ plane)
        self.bounds_ = self._bounds(lifted)
        bias = float(plane[features.shape[1] :].sum() - plane @ mean)
        return Hyperplane(plane[: features.shape[1]], bias, self.relaxation_.stopped_by)

    def _check(self) -> None:
        check_number("C", self.C, above=0.0)
        check_epsilon(self.epsilon)
        check_number("variance", self.variance, above=0.0, most=1.0)
        check_number("tol", self.tol, least=0.0)
        check_count("max_cuts", self.max_cuts)
        check_choice("intercept", self.intercept, ("center", "constant", "none"))
        check_choice("dimensions", self.dimensions, ("eigen", "features"))
        check_choice("master", self.master, MASTER_FORMS)
        if not callable(self.oracle):
            check_choice("oracle", self.oracle, ("coordinate", *EXACT_ORACLES))

    def _lift(self, features: Array) -> tuple[Array, Array]:
        """Features of the relaxation, and the mean that was taken from them."""
        mean = np.zeros(features.shape[1])
        if self.intercept == "center":
            mean = features.mean(axis=0)
        if self.intercept == "constant":
            features = np.column_stack([features, np.ones(len(features))])
            mean = np.append(mean, 0.0)
        return features - mean, mean

    def _relax(self, features: Array, feasible: FeasibleLabelings) -> Relaxation:
        master = Master(
            features, self.C, self.master, self.solver, self.solver_tol, self.solver_options or {}
        )
        alpha = np.full(len(features), 1.0 / len(features))
        with tqdm(total=self.max_cuts, desc="cuts", disable=not self.verbose) as bar:
            return cutting_plane(
                master,
                self._oracle(features, feasible),
                alpha,
                max_cuts=self.max_cuts,
                tol=self.tol,
                progress=lambda record: bar.update(),
            )

    def _oracle(self, features: Array, feasible: FeasibleLabelings) -> Oracle:
        if callable(self.oracle):
            return self.oracle(features, feasible)
        if self.oracle in EXACT_ORACLES:
            return EXACT_ORACLES[self.oracle](features, feasible)
        eigen = self.dimensions == "eigen"
        dimensions = leading_dimensions(features, self.variance) if eigen else features
        return CoordinateOracle(features, feasible, dimensions)

    def _round(self, features: Array, bags: Bags) -> Array:
        """Weights of the rank-one labeling, with the sign of smaller bag error in training."""
        master = self.relaxation_.master
        labeling = rank_one(self.relaxation_.labelings, master.mu)
        weights = features.T @ (master.alpha * labeling)
        scores = features @ weights
        flip = proportion_error(bags, -scores) < proportion_error(bags, scores)
        sign = -1.0 if flip else 1.0
        self.soft_labeling_ = sign * labeling
        return sign * weights

    def _bounds(self, features: Array) -> Bounds | None:
        lower = self.relaxation_.lower_bound
        if lower is None:
            return None
        return Bounds(lower, labeling_upper_bound(features, self.labeling_, self.C))
