"""alter-pSVM: alternating optimization with annealing and restarts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed
from numpy.random import RandomState
from sklearn.utils import check_random_state
from tqdm import tqdm

from propcvx.alternating import alternate, annealing_values, descent
from propcvx.arrays import Array, BagWeights, Scale, Seed
from propcvx.bags.bags import Bags
from propcvx.checks import check_count, check_flag, check_number, number_or_computed, resolve
from propcvx.errors import SolverError
from propcvx.estimators.base import BagClassifier
from propcvx.estimators.scaling import weight_of_hinge
from propcvx.estimators.starts import Start, starts_of
from propcvx.history import FitResult
from propcvx.labelings.losses import HINGE, INSTANCE_LOSSES, InstanceLoss, ProportionLoss
from propcvx.solvers.table import TEACHING_SIZE
from propcvx.svm.kernels import FeatureMap
from propcvx.svm.problem import PropSVM
from propcvx.svm.step import CachedStep, svm_step
from propcvx.svm.training import proportion_term

RATIO = 10.0
"""C_p in units of C, by default."""


@dataclass(eq=False, repr=False)
class AlterPropSVM(BagClassifier):
    r"""alter-pSVM: SVM for label proportions that alternates between labels and separator.

    It is Algorithm 1 of the paper [1]_, which minimizes Equation (4), eq:pSVM_2,

    .. math::

        \min_{y \in \{-1, 1\}^N, w, b} \tfrac12 \|w\|^2 + C \sum_i L(y_i, w^\top F_i + b)
        + C_p \sum_k \omega_k L_p(\tilde p_k(y), p_k),

    with the loss L of each instance, whose kernel features are :math:`F_i`, and the loss
    :math:`L_p` of the proportion :math:`\tilde p_k(y)` of positives in bag k, where :math:`p_k` is
    given; :math:`\omega_k` are the ``bag_weights``.  It alternates
    between the SVM for fixed labels and the best labels for a fixed separator (Propositions 1 and
    2).  With annealing, the weight C* of the losses rises to C meanwhile.  Of several starts, the
    one with the smallest final objective wins.  The result is a local minimum.

    A ``sample_weight`` :math:`c_i` multiplies the loss of instance i, in addition to the weights of
    the ``instance_loss``, if it has weights; the number of positives in a bag counts every instance
    once.  Starting methods are fitted with the weights
    divided by their mean, and with C times that mean.

    Parameters
    ----------
    C : float or "scale", default="scale"
        Weight of the hinge loss of an instance.  ``"scale"`` is :math:`0.2 / s^2`, with :math:`s^2`
        the total (weighted) variance of the kernel's features.  Larger values allow
        fewer errors on the estimated labels and regularize less.
    C_p : float or "scale", default="scale"
        Weight of the proportion loss of a bag.  By default it is multiplied by the number of
        instances of the bag (see ``bag_weights``): with the absolute loss, one positive too many or
        too few then costs C_p in a bag of any size, while changing the label of an instance inside
        the margin changes its hinge loss by at most 2C.  ``"scale"`` is 10 C times the mean
        ``sample_weight``, which keeps the counts nearly fixed.  Larger values fit the proportions
        more closely; choose a smaller value if the proportions are uncertain.
    kernel : str or callable, default="linear"
        ``"linear"``, ``"rbf"``, ``"exponential"``, ``"poly"``, ``"precomputed"``, or a callable
        ``kernel(X, Z)`` that returns the Gram matrix; see :class:`propcvx.svm.kernels.Kernel`.
    gamma : float or "scale", default="scale"
        Kernel coefficient; ``"scale"`` is ``1 / (n_features * X.var())``.
    degree : int, default=3
        Degree of ``"poly"``.
    coef0 : float, default=1.0
        Constant of ``"poly"``.
    init : str, estimator, array of shape (n_instances,), or sequence of these, default="auto"
        The labelings to start from; of several, the one with the smallest final objective wins.

        - ``"auto"``: ``"aggregate"`` if there are at least three bags and their proportions are not
          all equal, or if there are only known labels; otherwise ``"mixed"``.
        - ``"random"``: random labelings, as in the paper.
        - ``"mixed"``: random labelings, and the labels of conv-pSVM and InvCal with the weight C.
        - An estimator of this package, or a name in
          :data:`propcvx.estimators.starts.METHODS`, which are ``"aggregate"``, ``"ecological"``,
          ``"mean_map"``, ``"inv_cal"`` and ``"conv"``, fitted with the kernel of this
          classifier instead of its own: its labels, with the count nearest to the
          proportion in every bag.
        - An array: a labeling of -1 and +1, in which known labels take precedence.
    n_init : int, default=10
        Number of random labelings of ``"random"`` and ``"mixed"``; other starts ignore it.
    annealing : bool or "auto", default="auto"
        ``True``: C* rises from 1e-5 C to C, except in starts from the two methods of ``"mixed"``.
        ``False``: C* is C from the beginning.  ``"auto"`` anneals random labelings only, because
        the result of annealing depends little on the first labeling.
    init_weight : float, default=0.7
        Weight, in [0, 1), of the start in the classifier.  If the start that won is a method, the
        scores are a weighted mean of the SVM's scores and the method's, scaled to the same root
        mean square on the training instances.  0 is the SVM alone, as in the paper; if every label
        is known, the start is not used.
    proportion_loss : str or ProportionLoss, default="absolute"
        The loss :math:`L_p` of the difference d of proportions: ``"absolute"`` (``|d|``),
        ``"squared"`` (d squared), ``"epsilon_insensitive"`` (``max(0, |d| - 0.05)``),
        ``"constraint"`` (infinite unless the count is the given one), or a loss of your own, see
        :data:`~propcvx.labelings.losses.PROPORTION_LOSSES`.
    instance_loss : str or InstanceLoss, default="hinge"
        The loss L: ``"hinge"``, ``"squared_hinge"``, ``"huberized_hinge"``, ``"logistic"``, or a
        loss of your own, see :data:`~propcvx.labelings.losses.INSTANCE_LOSSES`, with a weight for
        each row of X if it has weights.
    bag_weights : "size", "uniform", array of shape (n_bags,), dict or Series, default="size"
        Factor of C_p for each bag: its number of instances (as in the authors' program), 1 (as in
        the paper), or an array in the order of the sorted ids or a dict or Series by id.  With 1, a
        wrong count by one label costs C_p / 64 in a bag of 64, so the proportions of large bags are
        ignored unless C_p is large.
    tol : float, default=1e-4
        The rounds at one C* end when the objective decreases by less than ``tol`` times the larger
        of C and the objective.  Larger values end sooner.
    max_iter : int, default=100
        Largest number of rounds at one C*.
    solver : str, Solver or sequence, default="auto"
        Any solver of the SVM's program, or several to try in turn, see
        :func:`propcvx.solvers.solve`. ``"auto"`` is the list of
        :func:`propcvx.solvers.choose_solvers` for the shape of the (kernel) features;
        ``history_`` names the solver that answered.
    solver_tol : float, default=1e-7
        The solver's tolerance: the duality gap relative to the SVM's objective, checked at every
        answer.
    solver_options : dict or None
        Options of the solver, passed on unchanged.
    n_jobs : int or None
        Number of starts that run at the same time, see :class:`joblib.Parallel`; the result does
        not depend on it.  Up to 1,000 instances the starts run one after the other, in this
        process, and use each other's solved SVMs, which is faster than running in parallel.  With
        another ``instance_loss``, several solvers, or ``solver_options``, they run in parallel at
        any size.
    random_state : int, RandomState or None
        Seeds the random labelings.
    verbose : bool, default=False
        Show progress over starts.

    Attributes
    ----------
    objective_ : float
        Value of eq:pSVM_2 of ``transduction_`` and its SVM, before ``init_weight`` averages scores;
        the sum over the classes if there are more than two.
    transduction_ : array of shape (n_instances,)
        Labels of the training instances, from ``classes_``, that the last SVM was fitted to.
    history_ : History
        Objective, C*, changed labels, solver, status and time of every round of the winner; with
        more than two classes, the rounds of all classes in turn.
    n_iter_ : int, with two classes
        Number of rounds of the winner.
    stop_reason_ : StopReason
        Why the last rounds of the winner stopped, or why the other starts were not finished;
        ``stop_reason_.advice`` is what to try.
    C_, C_p_ : float, with two classes
        The weights that were used.
    init_ : "random", estimator or array, with two classes
        The start that won.
    init_objectives_ : array, with two classes
        Final objective of every start that was finished.
    coef_ : array of shape (1, n_features)
        Weights of the scores, for the linear kernel; a row for each of more than two classes.  They
        include the average with the start: ``X @ coef_[0] + intercept_`` is the decision function.
    dual_coef_ : array of shape (1, n_instances)
        Dual coefficients, for other kernels; a row for each of more than two classes.
    intercept_ : array of shape (1,), with more than two classes (n_classes,)
        Bias of the scores.
    classes_ : array of shape (n_classes,)
        After a fit to labels the sorted labels; after a fit to bags ``[-1, 1]``, or with a table
        the sorted names of its classes.  The last of two is positive.

    See Also
    --------
    propcvx.ConvPropSVM : Minimize a convex relaxation of the same problem.
    propcvx.AggregateLogisticRegression : Fit the start that is used by default.
    propcvx.certify : Bound how far the labels are from the best labels.
    propcvx.estimators.paper_alter_psvm : Use the settings of the paper.

    References
    ----------
    .. [1] F. X. Yu, D. Liu, S. Kumar, T. Jebara and S.-F. Chang. :math:`\propto`\ SVM for
       learning with label proportions. ICML, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from propcvx import AlterPropSVM, bag_target
    >>> X = np.array([[2, 1], [1, 2], [-1, -1], [1, 0], [-1, 0], [-2, -1]])
    >>> y = bag_target([0, 0, 0, 1, 1, 1], [2 / 3, 1 / 3])
    >>> fitted = AlterPropSVM().fit(X, y)
    >>> fitted.predict(X)
    array([ 1,  1, -1,  1, -1, -1])
    >>> fitted.transduction_
    array([ 1,  1, -1,  1, -1, -1])
    >>> print(fitted.stop_reason_.value)
    the labeling step returned the labeling it was given
    """

    gram_matrices = 14.0

    C: Scale = "scale"
    C_p: Scale = "scale"
    _: KW_ONLY
    init: Any = "auto"
    n_init: int = 10
    annealing: bool | Literal["auto"] = "auto"
    init_weight: float = 0.7
    proportion_loss: str | ProportionLoss = "absolute"
    instance_loss: str | InstanceLoss = "hinge"
    bag_weights: BagWeights = "size"
    tol: float = 1e-4
    max_iter: int = 100
    solver_tol: float = 1e-7
    n_jobs: int | None = None
    random_state: Seed = None
    verbose: bool = False

    def _check_bags(self, bags: Bags) -> None:
        if bags.multiclass:  # so that a message names the class
            proportion_term("proportion_loss", self.proportion_loss, 0.0, self.bag_weights, bags)

    def _run(self, feature_map: FeatureMap, bags: Bags) -> FitResult:
        features, random = feature_map.features, check_random_state(self.random_state)
        problem = self._problem(bags, features)
        starts = starts_of(self.init, self.n_init, self.annealing, problem.bags, problem.C)
        step = svm_step(features, problem.instance_loss, self._solve, feature_map.cache)
        loop = partial(alternate, problem, step, tol=self.tol, max_iter=self.max_iter)
        seeds = [random.randint(2**31) for _ in starts]
        shared = isinstance(step, CachedStep) and len(features) <= TEACHING_SIZE[0]
        is_sequential = len(starts) == 1 or shared
        results = Parallel(n_jobs=1 if is_sequential else self.n_jobs, return_as="generator")(
            delayed(_descent)(start, seed, problem, features, loop)
            for start, seed in zip(starts, seeds, strict=True)
        )
        progress = tqdm(results, desc="starts", total=len(starts), disable=not self.verbose)
        start, best = self._best(zip(starts, progress, strict=True))
        has_companions = bags.membership.T @ (bags.sizes > 1).astype(float) > 0.0
        undecided = (has_companions & (bags.labels == 0)).any()
        if not (start.is_method and self.init_weight and undecided):
            return best
        first = start.fit(features, problem.bags)
        return _average(best, first, self.init_weight, features, bags)

    def _best(self, descents: Iterable[tuple[Start, FitResult]]) -> tuple[Start, FitResult]:
        """Return the best result of the starts that were finished, and its start.

        If objectives are equal within the solver's tolerance, the start by a method wins.
        Otherwise the last digits of a sum would choose between labelings, and between scores with
        and without the method's scores.
        """
        results: list[tuple[Start, FitResult]] = []
        exception: BaseException | None = None
        try:
            for result in descents:
                results.append(result)
        except (KeyboardInterrupt, SolverError) as failure:
            if not results:
                raise
            exception = failure
        self.init_objectives_ = np.array([result.objective for _, result in results])
        lowest = self.init_objectives_.min()
        equal = self.init_objectives_ <= lowest + 2.0 * self.solver_tol * abs(lowest)
        ties = [result for result, tied in zip(results, equal, strict=True) if tied]
        start, best = min(ties, key=lambda result: not result[0].is_method)
        self.init_, self.n_iter_ = start.init, len(best.history)
        return start, replace(best, exception=exception)

    def _certified_form(self) -> dict[str, Any]:
        instance_loss = resolve("instance_loss", self.instance_loss, INSTANCE_LOSSES, "evaluate")
        weighted = bool(np.any(np.not_equal(instance_loss.weights, 1.0)))
        if instance_loss.margin_loss is not HINGE.margin_loss or weighted:
            return super()._certified_form()
        loss, weights = self.proportion_loss, self.bag_weights
        return {"C": self.C_, "C_p": self.C_p_, "proportion_loss": loss, "bag_weights": weights}

    def _problem(self, bags: Bags, features: Array) -> PropSVM:
        """Build the problem from checked parameters; its C includes the mean instance weight."""
        self.C_ = weight_of_hinge(self.C, features, bags)
        self.C_p_ = number_or_computed(
            "C_p", self.C_p, lambda: RATIO * self.C_ * bags.mean_weight, closed="left"
        )
        check_number("init_weight", self.init_weight, 0.0, 1.0, closed="left")
        check_number("tol", self.tol, low=0.0, closed="left")
        check_count("n_init", self.n_init)
        check_count("max_iter", self.max_iter)
        if self.annealing != "auto":
            check_flag("annealing", self.annealing)
        loss, weights = proportion_term(
            "proportion_loss", self.proportion_loss, self.C_p_, self.bag_weights, bags
        )
        C, bags = self.C_ * bags.mean_weight, replace(bags, mean_weight=1.0)
        instance_loss = resolve("instance_loss", self.instance_loss, INSTANCE_LOSSES, "evaluate")
        return PropSVM(bags, C, weights, loss, instance_loss.of_bags(bags))


def paper_alter_psvm(**parameters: Any) -> AlterPropSVM:
    """Return alter-pSVM with the paper's settings: random starts, the SVM alone, uniform weights.

    The solver has the tolerance of the stored results: the last digits decide ties.

    Parameters
    ----------
    **parameters
        Parameters of :class:`propcvx.AlterPropSVM` that override these settings; by default C = 1,
        C_p = 10 and ten starts.

    Examples
    --------
    >>> from propcvx.estimators import paper_alter_psvm
    >>> paper_alter_psvm(C_p=10.0, random_state=0).init
    'random'
    """
    printed = {"C": 1.0, "C_p": 10.0, "init": "random", "n_init": 10, "annealing": True}
    others = {"bag_weights": "uniform", "init_weight": 0.0, "solver_tol": 1e-6}
    return AlterPropSVM(**{**printed, **others, **parameters})


def _descent(
    start: Start, seed: int, problem: PropSVM, features: Array, loop: Callable[..., Any]
) -> FitResult:
    """Run alternating optimization from one start; depends on the arguments alone."""
    labeling = problem.feasible.best(start.labeling(features, problem.bags, RandomState(seed)))
    return descent(loop(labeling, annealing_values(problem.C) if start.annealing else [problem.C]))


def _size(scores: Array, bags: Bags) -> float:
    """Compute the weighted root mean square of scores."""
    return float(np.sqrt(np.average(np.square(scores), weights=bags.relative_weights)))


def _average(
    result: FitResult, first: FitResult, fraction: float, features: Array, bags: Bags
) -> FitResult:
    """Average the scores of a classifier with the scores of another, scaled to the same size.

    Parameters
    ----------
    result, first : FitResult
        The classifier and the start.  If all scores of either are 0, return the classifier.
    fraction : float
        Weight of the start in the mean.
    features : array
    bags : Bags
    """
    size, size_of_first = (_size(fit.scores(features), bags) for fit in (result, first))
    if not size or not size_of_first:
        return result
    times = fraction * size / size_of_first
    weights = (1.0 - fraction) * result.weights + times * first.weights
    return replace(
        result, weights=weights, bias=(1.0 - fraction) * result.bias + times * first.bias
    )
