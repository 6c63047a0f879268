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
    r"""conv-pSVM: SVM for label proportions by a convex relaxation over :math:`M = y y^\top`.

    It is Algorithm 2 of the paper [1]_, a relaxation of Equation (9), eq:convex_1,

    .. math::

        \min_{y \in \mathcal{Y}} \min_w \tfrac12 \|w\|^2 + C \sum_i \max(0, 1 - y_i w^\top F_i)

    over the labelings :math:`\mathcal{Y}` with the proportions of all bags within ``epsilon``;
    :math:`F_i` are the kernel features of an instance.  A restricted
    master (multiple kernel learning over the labelings found so far, eq:convex_3) and an oracle for
    violated labelings (eq:concave) take turns; the rank-one labeling of M gives the classifier.

    By default there is one cut, and so one labeling: the classifier is its SVM.  The labeling
    begins as the feasible labeling whose classes are farthest apart along a principal axis of the
    data, mostly the axis of most variance; then labels change while the violation of the relaxation
    increases.  The proportions determine where each bag is divided along the axis, but not the
    axis: if the classes differ in another direction, use another method.  More cuts solve the
    relaxation better, but classify worse: accuracy was 83.2% with one cut and 72.3% with ten
    (heart, vote and australian, bags of 8, 32 and 64, majority class 58%).

    A ``sample_weight`` :math:`c_i` multiplies the loss of instance i: :math:`\alpha_i \le C c_i`.
    The mean that ``intercept="center"`` subtracts is weighted; the number of positives in a bag
    counts every instance once.  If the weights are not all equal, a relaxation or a rounding that
    you write gets the array of the :math:`C c_i` as its C.

    Parameters
    ----------
    C : float or "scale", default="scale"
        Weight of the hinge loss of an instance.  ``"scale"`` is :math:`0.2 / s^2`, with :math:`s^2`
        the total (weighted) variance of the kernel's features.  Larger values allow
        fewer errors on the labels of the relaxation and regularize less.
    epsilon : float, "rounding", "sampling", array of shape (n_bags,), dict or Series, default=0.0
        Tolerance of the proportions, in [0, 1], of all bags or of each: an array is in the order of
        the sorted ids, a dict or Series keyed by bag id.  The default needs proportions that a
        whole number of positives can have.  ``"rounding"``, for
        rounded proportions, takes the nearest possible counts of positives; ``"sampling"`` is for
        bags that are samples of the populations whose proportions are given, see
        :func:`propcvx.sampling_epsilon`.
    kernel : str or callable, default="linear"
        ``"linear"``, ``"rbf"``, ``"exponential"``, ``"poly"``, ``"precomputed"``, or a callable
        ``kernel(X, Z)`` that returns the Gram matrix; see :class:`propcvx.svm.kernels.Kernel`.
    gamma : float or "scale", default="scale"
        Kernel coefficient; ``"scale"`` is ``1 / (n_features * X.var())``.
    degree : int, default=3
        Degree of ``"poly"``.
    coef0 : float, default=1.0
        Constant of ``"poly"``.
    intercept : "center", "constant" or "none", default="center"
        What replaces the intercept, which the relaxation does not have: centered features, a
        constant feature, or nothing.
    fit_intercept : bool, default=True
        Whether the classifier gets an intercept: the one of least bag error on the training bags
        (:func:`propcvx.bags.metrics.least_error_bias`).  The paper has none; with
        ``intercept="center"`` the hyperplane then goes through the mean of the features for any
        proportions.
    relaxation : str or object, default="cutting_planes"
        ``"cutting_planes"``, which is Algorithm 2 with one cut; ``"lifted"``, a semidefinite
        program for hundreds of instances; ``"mixed_integer"``, exact, by SCIP, for tens of
        instances; ``"diffrac"``, a semidefinite program with the square loss.  Or
        an object with the method ``relax``: a :class:`propcvx.CuttingPlanes`, whose parameters are
        the number of cuts, the oracle and the form of the master, another object of
        :mod:`propcvx.relaxation`, or one that you write.
    rounding : str or callable, default="rank_one"
        How M becomes a labeling and a separator.

        - ``"rank_one"`` (the paper): the leading eigenvector of M; ``"mean"``: its mean labeling.
          Both are real-valued.  The separator has the relaxation's alpha, and the sign
          with the smaller bag error.
        - ``"best"``: the labeling with the smallest SVM value among those that the relaxation found
          and those nearest to the two above.  The separator is its SVM.
        - ``"polished"``: ``"best"``, improved by alternating between labels and SVM.
        - A callable ``rounding(result, features, feasible, C)`` that turns a
          :class:`propcvx.relaxation.RelaxationResult` into a :class:`propcvx.svm.step.Separator`
          with a labeling and weights.
    solver : str, Solver or sequence, default="auto"
        The solver of the relaxation's programs, see
        :data:`~propcvx.solvers.table.SOLVERS`, or several to try in turn; ``"auto"`` is
        :func:`propcvx.solvers.choose_solvers`.  ``history_`` names the solver that answered.
    solver_tol : float, default=1e-8
        The relative duality gap of the master to reach.
    solver_options : dict or None
        Options of the solver, passed on unchanged.
    verbose : bool, default=False
        Show progress.

    Attributes
    ----------
    C_ : float
        The C that was used; with two classes.
    objective_ : float
        The value that the relaxation reached; its optimum is certified to be at most
        ``relaxation_.upper``.  With more than two classes, the sum over the classes.
    violation_ : float or None, with two classes
        Amount by which the oracle's last labeling y violates the relaxation, in units of the
        objective: the excess of :math:`\frac12 \|F^\top (y \circ \alpha)\|^2` over its largest
        value among the cuts; 0 if it does not.
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
        Objective, violation, cuts, solver, status and time of every round; with more than two
        classes, the rounds of all classes in turn.
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
        After a fit to labels the sorted labels; after a fit to bags ``[-1, 1]``, or with a table
        the sorted names of its classes.  The last of two is positive.

    See Also
    --------
    propcvx.AlterPropSVM : Classify more accurately on most data.
    propcvx.CuttingPlanes : Choose the oracle and the number of cuts.
    propcvx.certify : Bound the value of the best labeling.
    propcvx.estimators.paper_conv_psvm : Use the settings of the paper's experiments.

    References
    ----------
    .. [1] F. X. Yu, D. Liu, S. Kumar, T. Jebara and S.-F. Chang. :math:`\propto`\ SVM for
       learning with label proportions. ICML, 2013.

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
    """Return conv-pSVM with the settings of the paper's experiments: one cut by its oracle.

    The settings are C = 1, centered features, ``CuttingPlanes(oracle="coordinate", max_cuts=1)``
    (Equation (19), eq:inf) and ``fit_intercept=False``.  Algorithm 2 itself adds cuts until the
    objective decreases by less than 1e-4, as with ``max_cuts=100``.  The solver is the one of the
    stored results: the last digits of alpha can decide the next cut.

    Parameters
    ----------
    **parameters
        Parameters of :class:`propcvx.ConvPropSVM` that override these settings.

    Examples
    --------
    >>> from propcvx.estimators import paper_conv_psvm
    >>> paper_conv_psvm(C=0.1).fit_intercept
    False
    """
    planes = CuttingPlanes(oracle="coordinate", max_cuts=1)
    solver = ("mkl_interior_point", "clarabel")
    settings = {"C": 1.0, "relaxation": planes, "fit_intercept": False, "solver": solver}
    return ConvPropSVM(**{**settings, "solver_tol": 1e-8, **parameters})
