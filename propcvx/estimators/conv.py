"""conv-pSVM: the convex relaxation, solved by cutting planes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np
from tqdm import tqdm

from propcvx.arrays import Array, Scale, Tolerance
from propcvx.bags.bags import Bags
from propcvx.bags.metrics import least_error_bias
from propcvx.checks import check_fields, check_flag, resolve
from propcvx.estimators.base import BagClassifier
from propcvx.estimators.scaling import weight_of_hinge
from propcvx.history import FitResult
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.relaxation import CuttingPlanes, RelaxationResult
from propcvx.relaxation.bounds import Bounds, check_consistent
from propcvx.relaxation.comparison import find_relaxation, name_of
from propcvx.relaxation.result import Relaxation, check_result
from propcvx.relaxation.rounding import ROUNDINGS
from propcvx.svm.kernels import FeatureMap
from propcvx.svm.step import Separator


@dataclass(eq=False, repr=False)
class ConvPropSVM(BagClassifier):
    r"""conv-pSVM (Algorithm 2): a convex relaxation of eq:convex_1 over :math:`M = y y^\top`.

    A restricted master (MKL over the labelings found so far, eq:convex_3) and an oracle for
    violated labelings (eq:concave) take turns; the rank-one labeling of M gives the classifier.

    By default there is one cut, and so one labeling: the classifier is its SVM.  It begins as the
    feasible labeling whose two classes are farthest apart along a principal axis of the data,
    mostly the axis of most variance, and is raised from there.  The proportions determine where
    each bag is divided along the axis, but not the axis: if the classes differ in another
    direction, use another method.  More cuts solve the relaxation better, but classified worse on
    most data that were tried.

    A ``sample_weight`` :math:`c_i` multiplies the loss of instance i: :math:`\alpha_i \le C c_i`.
    The mean that ``intercept="center"`` subtracts is weighted; the number of positives in a bag
    counts every instance once.  If the weights are not all equal, a relaxation or a rounding that
    you write gets the array of the :math:`C c_i` as its C.

    Parameters
    ----------
    C : float or "scale"
        Weight of the hinge loss of an instance.  ``"scale"`` is :math:`0.2 / s^2`, with :math:`s^2`
        the total variance of the instances in the features of the kernel.
    epsilon : float, "rounding", "sampling", array of shape (n_bags,), dict or pandas Series
        Tolerance of the proportions, in [0, 1], of all bags or of each: an array is in the order of
        the sorted ids, a dict or Series keyed by bag id.  ``"rounding"``, for
        rounded proportions, takes the nearest possible counts of positives; ``"sampling"`` is for
        bags that are samples of the populations whose proportions are given, see
        :func:`propcvx.sampling_epsilon`.
    kernel : str or callable
        ``"linear"``, ``"rbf"``, ``"exponential"``, ``"poly"``, ``"precomputed"``, or a callable;
        see :class:`propcvx.svm.kernels.Kernel`.
    gamma : float or "scale"
        Kernel coefficient; ``"scale"`` is ``1 / (n_features * X.var())``.
    degree : int
        Degree of ``"poly"``.
    coef0 : float
        Constant of ``"poly"``.
    intercept : "center", "constant" or "none"
        What replaces the intercept, which the relaxation does not have: centered features, a
        constant feature, or nothing.
    fit_intercept : bool
        Whether the classifier gets an intercept: the one of least bag error on the training bags
        (:func:`propcvx.bags.metrics.least_error_bias`).  The paper has none; the plane of centered
        features then goes through their mean for any proportions.
    relaxation : str or object
        ``"cutting_planes"``, which is Algorithm 2 with one cut; ``"lifted"``,
        ``"mixed_integer"``, and, with the square loss, ``"diffrac"``.  Or
        an object with the method ``relax``: a :class:`propcvx.CuttingPlanes`, whose parameters are
        the number of cuts, the oracle and the form of the master, another object of
        :mod:`propcvx.relaxation`, or one that you write.
    rounding : str or callable
        Real-valued labels, with the relaxation's alpha and the sign of smaller bag error:
        ``"rank_one"``, as in the paper, and ``"mean"``.  Feasible labelings, with the SVM of the
        labeling: ``"best"``, that with the smallest SVM value among the labelings that the
        relaxation found and those nearest to the other two, and ``"polished"`` (``"best"``,
        improved by alternation).  Or a callable
        ``rounding(result, features, feasible, C)`` that makes from a
        :class:`propcvx.relaxation.RelaxationResult` a :class:`propcvx.svm.step.Separator`.
    solver : str, Solver or sequence
        The solver of the relaxation's programs, see ``propcvx.solvers.SOLVERS``, or several to try
        in turn; ``"auto"`` is :func:`propcvx.solvers.choose_solvers`.  ``history_`` names the
        solver that answered.
    solver_tol : float
        The relative duality gap of the master to reach.
    solver_options : dict or None
        Options of the solver, passed on unchanged.
    verbose : bool
        Show progress.

    Attributes
    ----------
    C_ : float
        The C that was used; with two classes.
    objective_ : float
        The value that the relaxation reached; its optimum is certified to be at most
        ``relaxation_.upper``.
    violation_ : float or None, with two classes
        Amount by which the oracle's last labeling violates the relaxation; 0 if it does not.
    bounds_ : Bounds or None, with two classes
        Bounds on the value of the best feasible labeling, with the loss of the relaxation
        (``relaxation_.loss``); the upper bound is the value of the best labeling that was found,
        and ``bounds_.gap`` is 0 if this labeling is proved optimal.  None if the relaxation has no
        lower bound, as with an oracle that proves nothing.
    relaxation_ : RelaxationResult, with two classes
        The matrix M, the dual variables alpha and the labelings found.
    soft_labeling_ : array of shape (n_instances,), with two classes
        The labeling of the rounding.
    transduction_ : array of shape (n_instances,)
        The feasible labeling nearest to the classifier's scores, from ``classes_``.
    history_ : History
        Objective, violation, cuts, solver, status and time of every round.
    n_iter_ : int, with two classes
        Number of rounds; with cutting planes the number of cuts, except for the oracle
        ``"several"``.
    stop_reason_ : StopReason
        Why the relaxation stopped; ``stop_reason_.advice`` is what to try.
    coef_ : array of shape (1, n_features)
        Weights, for the linear kernel; a row for each of more than two classes.
    dual_coef_ : array of shape (1, n_instances)
        Dual coefficients, for other kernels; a row for each of more than two classes.
    intercept_ : array of shape (1,), with more than two classes (n_classes,)
        The bias that follows from ``intercept`` and ``fit_intercept``.
    classes_ : array of shape (n_classes,)
        Labels; ``[-1, 1]`` for bags of two classes.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx import ConvPropSVM, CuttingPlanes, bag_target
    >>> X = np.array([[2, 1], [1, 2], [-1, -1], [1, 0], [-1, 0], [-2, -1]])
    >>> y = bag_target([0, 0, 0, 1, 1, 1], [2 / 3, 1 / 3])
    >>> fitted = ConvPropSVM(relaxation=CuttingPlanes(oracle="sweep")).fit(X, y)
    >>> fitted.predict(X)
    array([ 1,  1, -1,  1, -1, -1])
    >>> print(fitted.bounds_)
    The best labeling's value is between 0.215679 and 0.215679: a relative gap of ...
    """

    C: Scale = "scale"
    epsilon: Tolerance = 0.0
    _: KW_ONLY
    intercept: Literal["center", "constant", "none"] = "center"
    fit_intercept: bool = True
    relaxation: str | Relaxation = "cutting_planes"
    rounding: str | Callable[..., Separator] = "rank_one"
    verbose: bool = False

    def _meaning_of_parameters(self, bags: Bags) -> dict[str, Any]:
        feasible = FeasibleLabelings.from_bags(bags, self.epsilon)
        return {"epsilon": (feasible.lower.tobytes(), feasible.upper.tobytes())}

    def _check_bags(self, bags: Bags) -> None:
        bags.check_known(self.epsilon)

    def _run(self, feature_map: FeatureMap, bags: Bags) -> FitResult:
        self.C_ = weight_of_hinge(self.C, feature_map.features, bags)
        check_flag("fit_intercept", self.fit_intercept)
        source, method = f"relaxation {name_of(self.relaxation)}", find_relaxation(self.relaxation)
        rounding = resolve("rounding", self.rounding, ROUNDINGS, "__call__")
        features, mean = feature_map.with_intercept(self.intercept, bags.weights)
        feasible = FeasibleLabelings.from_bags(bags, self.epsilon)
        weights = 1.0 if bags.weights is None else bags.weights
        C = self.C_ * bags.mean_weight * weights
        multiple = float(np.mean(np.square(weights)))
        fraction = feature_map.bound_factor(float(np.max(C)), multiple)
        labelings: list[Array] = []
        with tqdm(desc="rounds", disable=not self.verbose) as bar:

            def on_round(current: RelaxationResult) -> None:
                check_result(source, current, feasible)
                bar.update()
                if np.isfinite(current.lower):
                    separator = rounding(current, features, feasible, C)
                    columns = np.column_stack([separator.labeling, features @ separator.weights])
                    labelings.append(feasible.best(columns).T)

            result = method.relax(features, feasible, C, solve=self._solve, on_round=on_round)
        check_result(source, result, feasible)
        result = replace(result, lower=fraction * result.lower)
        separator = rounding(result, features, feasible, C)
        check_fields(
            "rounding", separator, {"labeling": features.shape[:1], "weights": features.shape[1:]}
        )
        scores, rank = features @ separator.weights, feature_map.features.shape[1]
        bias = least_error_bias(scores, bags) if self.fit_intercept else 0.0
        labeling = feasible.best(scores + bias)
        candidates = np.vstack([labeling, result.labelings, *labelings])
        self.relaxation_, self.soft_labeling_ = result, separator.labeling
        self.violation_ = result.history[-1].violation
        self.n_iter_ = len(result.history)
        exception = self._store_bounds(source, result, features, candidates, C, separator.weights)
        bias += float(separator.weights[rank:].sum() - separator.weights @ mean)
        plane = separator.weights[:rank]
        return FitResult(labeling, plane, bias, result.value, result.history, exception)

    def _store_bounds(
        self, source: str, result: RelaxationResult, features: Array, candidates: Array, *svm: Any
    ) -> BaseException | None:
        """Set ``bounds_``; return what stopped the fit, or this, which then has no bounds."""
        self.bounds_: Bounds | None = None
        if np.isfinite(result.lower):
            try:
                upper = result.upper_bound(features, candidates, *svm)
                check_consistent(source, result.lower, upper)
                self.bounds_ = Bounds(result.lower, upper)
            except KeyboardInterrupt as interruption:
                return interruption
        return result.exception

    def _certified_form(self) -> dict[str, Any]:
        if self.relaxation_.loss != "hinge":
            return super()._certified_form()
        return {"C": self.C_, "epsilon": self.epsilon, "intercept": self.intercept}


def paper_conv_psvm(**parameters: Any) -> ConvPropSVM:
    """Return conv-pSVM as in the paper: one cut by the oracle of eq:inf, centered, no intercept.

    The solver is the one of the stored results: the last digits of alpha can decide the next cut.

    Parameters
    ----------
    **parameters
        Parameters of :class:`propcvx.ConvPropSVM` that override these settings.
    """
    planes = CuttingPlanes(oracle="coordinate", max_cuts=1)
    solver = ("mkl_interior_point", "clarabel")
    settings = {"C": 1.0, "relaxation": planes, "fit_intercept": False, "solver": solver}
    return ConvPropSVM(**{**settings, "solver_tol": 1e-8, **parameters})
