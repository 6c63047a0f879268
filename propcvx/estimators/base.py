"""Base class of the estimators, which fit a hyperplane over kernel features to bags."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from cvxpy import OPTIMAL
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from propcvx.arrays import Array
from propcvx.bags.bags import Bags
from propcvx.bags.metrics import bag_error
from propcvx.bags.targets import bag_proportions, is_bag_target, is_class_target
from propcvx.checks import check_number, check_same_order
from propcvx.errors import InaccurateSolutionWarning, InputError, PoorFitWarning, SolverError, warn
from propcvx.estimators.calibration import ROUNDING, Calibration
from propcvx.estimators.scaling import scaling_advice, warn_if_unscaled
from propcvx.history import FitResult, History, labels_of
from propcvx.solvers import Solve
from propcvx.solvers.interface import SolverNames
from propcvx.svm.kernels import FeatureMap, Kernel
from propcvx.svm.threads import one_thread
from propcvx.svm.training import KernelMethod, TrainingData


def _knows_bags(estimator: BagClassifier) -> bool:
    if not hasattr(estimator, "_calibration"):
        raise AttributeError(
            "predict_proba needs a fit to bags of two classes, not to the label of every instance: "
            "with labels, sklearn.calibration.CalibratedClassifierCV calibrates on instances held "
            "out; with more classes there are decision_function and predict."
        )
    return True


@dataclass(eq=False, repr=False)
class BagClassifier(ClassifierMixin, KernelMethod, ABC):
    """Base of the estimators; a subclass implements ``_run(feature_map, bags)``.

    It gets the FeatureMap of X and the Bags of y, and returns a
    :class:`~propcvx.history.FitResult`.  A subclass is a dataclass with the options ``eq=False``
    and ``repr=False``, whose fields are the parameters.  The dataclass generates the ``__init__``
    that scikit-learn requires, which stores its arguments and does nothing else.
    """

    _: KW_ONLY
    solver: SolverNames = "auto"
    solver_tol: float = 1e-8
    solver_options: dict[str, Any] | None = None

    def fit(self, X: Any, y: NDArray[Any], sample_weight: ArrayLike | None = None) -> BagClassifier:
        r"""Fit to a bag target, or to labels.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame of numbers of shape (n_instances, n_features)
            Instances; the square Gram matrix for ``kernel="precomputed"``.  A sparse matrix, which
            is made dense, is accepted with the linear kernel.  Of a DataFrame the names of columns
            are stored in ``feature_names_in_``, and checked by ``predict``.
        y : bag target of shape (n_instances,), or labels
            Made by :func:`propcvx.bag_target`.  A plain vector of labels of two classes is the
            fully supervised case: every instance is a singleton bag.  With a table of more than two
            classes, each class is fitted against the rest, except by
            :class:`~propcvx.AggregateLogisticRegression`.
        sample_weight : array of shape (n_instances,), optional
            Weights :math:`c_i \ge 0` of the instances, not all zero, one by default.  The
            documentation of the class describes their effect.  They do not change the count of
            positives in a bag, ``gamma="scale"``, or a calibration of ``predict_proba``.
            To weight bags, use the parameter ``bag_weights``, where there is one.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If an argument cannot be used; the message names it.
        GramMatrixMemoryError
            If the Gram matrix of a kernel does not fit into memory.
        SolverError
            If a solver finds no solution; the message names it and its status.  If rounds of a
            relaxation, or starts of alter-pSVM, were finished before, the estimator is fitted with
            these, can predict, and ``stop_reason_`` gives the reason.  The same holds for
            KeyboardInterrupt (Ctrl-C), which is raised, too.

        Warns
        -----
        UnscaledWarning, PoorFitWarning, SplitBagWarning, IllPosedWarning, InaccurateSolutionWarning
            See :doc:`/errors`.

        Examples
        --------
        With labels and a linear kernel, a weight of 2 is equivalent to two instances, and a weight
        of 0 to none:

        >>> import numpy as np
        >>> from propcvx import ConvPropSVM
        >>> X, labels = np.array([[-1.0], [1.0], [3.0], [9.0]]), [0, 1, 1, 0]
        >>> first = ConvPropSVM().fit(X, labels, sample_weight=[1.0, 2.0, 1.0, 0.0])
        >>> second = ConvPropSVM().fit(X[[0, 1, 1, 2]], [0, 1, 1, 1])
        >>> bool(np.allclose(first.decision_function(X), second.decision_function(X), atol=1e-4))
        True
        """
        return self._fit_to(TrainingData.from_arrays(self, X, y, sample_weight))

    def _fit_to(self, data: TrainingData) -> BagClassifier:
        """Run the method on data that other fits may share, and store the result."""
        check_number("solver_tol", self.solver_tol, low=0.0)
        self._check_bags(data.bags)
        with one_thread(data.bags.n_instances):
            feature_map = data.feature_map(self)
            try:
                if data.bags.multiclass:
                    self._clear()
                    result = self._run_classes(feature_map, data.bags)
                else:
                    result = self._run(feature_map, data.bags)
            except SolverError as failure:
                failure.add_note(self._scaling_advice(data.X))
                raise
            scores = result.scores(feature_map.features)
            self._store(data, feature_map, result, scores)
        self._warn_if_inaccurate(data.X)
        if self.kernel != "precomputed":
            warn_if_unscaled(data.X)
        if not result.ill_posed and scores.ndim == 1:
            warn_if_poor(data.bags, scores)
        if result.exception is not None:
            result.exception.add_note(f"{type(self).__name__} keeps the best it had reached.")
            raise result.exception
        return self

    def _check_bags(self, bags: Bags) -> None:
        """Raise if the bags contradict a parameter, before anything is computed."""

    @property
    def _solve(self) -> Solve:
        """Solve settings for the programs of the method."""
        return Solve(self.solver, self.solver_tol, self.solver_options or {})

    @abstractmethod
    def _run(self, feature_map: FeatureMap, bags: Bags) -> FitResult:
        """Run the method on the features of the instances."""

    def _run_classes(self, feature_map: FeatureMap, bags: Bags) -> FitResult:
        """Run the method with more than two classes, each against the rest.

        The weights have shape (rank, n_classes), and there is a bias for each class.  Labels that
        are not known are those of the largest scores.  The objective is the sum over the classes,
        and the history has the rounds of all classes.
        """
        results, method = [], self._for_classes(feature_map, bags)
        for number in bags.label_values:
            results.append(clone(method)._run(feature_map, bags.against_rest(number)))
            if results[-1].exception is not None:
                raise results[-1].exception
        weights = np.column_stack([result.weights for result in results])
        bias = np.array([result.bias for result in results])
        predicted = labels_of(feature_map.features @ weights + bias)
        labeling = np.where(bags.labels > 0, bags.labels, predicted)
        objective = sum(result.objective for result in results)
        history = History(
            [record for result in results for record in result.history], results[-1].stop_reason
        )
        ill_posed = any(result.ill_posed for result in results)
        return FitResult(labeling, weights, bias, objective, history, ill_posed=ill_posed)

    def _clear(self) -> None:
        """Delete the attributes of an earlier fit."""
        for name in [name for name in vars(self) if name.endswith("_") and "_in" not in name]:
            delattr(self, name)

    def _for_classes(self, feature_map: FeatureMap, bags: Bags) -> BagClassifier:
        """Return the estimator that is fitted to each class against the rest."""
        return self

    def _store(
        self, data: TrainingData, feature_map: FeatureMap, result: FitResult, scores: Array
    ) -> None:
        """Store the end of a run."""
        bags = data.bags
        self._store_plane(data.classes, result)
        if not bags.labels.all() and scores.ndim == 1:
            self._calibration = Calibration.from_bags(scores, bags)
        numbers = result.labeling - 1 if bags.multiclass else result.labeling > 0
        self.transduction_ = data.classes[numbers.astype(np.intp)]
        self.feature_map_ = feature_map.without_features(data.X)
        if self.feature_map_.kernel.name != "linear":
            del self.coef_
            columns = np.atleast_2d(result.weights.T)
            self.dual_coef_ = np.array([feature_map.dual_coefficients(w) for w in columns])

    def _store_plane(self, classes: NDArray[Any], result: FitResult) -> None:
        """Store the hyperplane over the columns and the history, which need no instances."""
        for of_another_fit in ("_calibration", "dual_coef_", "transduction_"):
            self.__dict__.pop(of_another_fit, None)
        self.classes_, self.coef_ = classes, np.atleast_2d(result.weights.T)
        self.intercept_ = np.atleast_1d(result.bias)
        self.objective_, self.history_ = result.objective, result.history
        self.stop_reason_ = result.stop_reason
        self.feature_map_ = FeatureMap(Kernel(), np.empty((0, self.coef_.shape[1])))

    def _scaling_advice(self, X: Any) -> str:
        """Return advice about the scale of instances; empty for a Gram matrix."""
        return "" if self.kernel == "precomputed" else scaling_advice(X)

    def _warn_if_inaccurate(self, X: Any) -> None:
        """Warn once of all rounds whose solver stopped before its tolerance."""
        solvers = [record.solver for record in self.history_ if record.status != OPTIMAL]
        if solvers:
            warn(
                f"{' and '.join(sorted(set(solvers)))} stopped before its tolerance in "
                f"{len(solvers)} of {len(self.history_)} rounds. Scale the features, or use a "
                "smaller C, a looser solver_tol or another solver. "
                f"{self._scaling_advice(X)}".rstrip(),
                InaccurateSolutionWarning,
            )

    def _certified_form(self) -> dict[str, Any]:
        """Return the arguments of :func:`propcvx.bounds.certify` that match the parameters."""
        raise InputError(
            "X must be instances, or a fitted ConvPropSVM, or AlterPropSVM with the hinge loss "
            f"without weights; got {self!r}."
        )

    def _meaning_of_parameters(self, bags: Bags) -> dict[str, Any]:
        """Return values that replace parameters in a comparison: equal values give equal fits."""
        return {}

    def decision_function(self, X: Any) -> Array:
        """Compute the signed score of each instance; positive means ``classes_[1]``.

        Parameters
        ----------
        X : array of shape (n_instances, n_features)
            Instances; their Gram matrix with the training instances for ``kernel="precomputed"``.

        Returns
        -------
        scores : array of shape (n_instances,), or (n_instances, n_classes)
            With more than two classes, a score for each class; the largest determines the label.
        """
        check_is_fitted(self, "feature_map_")
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        linear = self.feature_map_.kernel.name == "linear"
        weights, bias = self.coef_ if linear else self.dual_coef_, self.intercept_
        columns = X if linear else self.feature_map_.kernel(X, self.feature_map_.training)
        if len(weights) > 1:
            return np.asarray(columns @ weights.T) + bias
        return np.asarray(columns @ weights[0]) + bias[0]

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the label of each instance, from ``classes_``; ties give the first class."""
        scores = self.decision_function(X)
        return self.classes_[scores.argmax(axis=1) if scores.ndim > 1 else (scores > 0).astype(int)]

    @available_if(_knows_bags)
    def predict_proba(self, X: Any) -> Array:
        r"""Predict class probabilities, calibrated by the proportions of the training bags.

        The probability is :math:`1 / (1 + \exp(-(a s + b)))` of the score :math:`s`, with
        :math:`a \ge 0`.  Its means over the training bags fit their proportions best (by the
        binomial deviance).  The slope a is at most the slope that would hold if scores depended on
        the label alone, not on the bag, see
        :class:`propcvx.estimators.calibration.Calibration`.  The calibration uses no label, and
        exists only after a fit to bags.  If every label is known, use
        ``sklearn.calibration.CalibratedClassifierCV``, which calibrates on instances held out.

        Parameters
        ----------
        X : array of shape (n_instances, n_features)

        Returns
        -------
        probabilities : array of shape (n_instances, 2)
            In the order of ``classes_``.

        Raises
        ------
        AttributeError
            After a fit to labels or to more than two classes; use ``decision_function``.

        Warns
        -----
        IllPosedWarning
            If the bags do not identify a, for example if all proportions are equal.  The
            probability of every instance is then about the proportion of positives in all bags.

        Notes
        -----
        The curve is fitted to the scores of the training bags, which are farther apart than the
        scores of other instances, so it may be too steep.  ``predict`` uses the sign of the score,
        and the curve may cross 1/2 elsewhere.
        """
        scores = self.decision_function(X)
        return self._calibration.probabilities(scores)

    def predict_proportions(self, X: Any, bags: Any) -> dict[Any, Any]:
        """Predict labels, and return the fraction of positive labels in each bag by bag id.

        For mean probabilities average ``predict_proba``.  With more than two classes, return
        ``{bag: {class: proportion}}``.

        Parameters
        ----------
        X : array of shape (n_instances, n_features)
        bags : sequence of length n_instances, or bag target
            The bag of each instance.

        Returns
        -------
        dict
        """
        check_same_order({"X": X, "bags": bags})
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return bag_proportions(scores, bags)
        return bag_proportions(self.classes_[scores.argmax(axis=1)], bags, self.classes_)

    def score(self, X: Any, y: NDArray[Any], sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy by labels ``y``, or minus the bag error by a bag target ``y``.

        Parameters
        ----------
        X : array of shape (n_instances, n_features)
        y : bag target of shape (n_instances,), or labels among ``classes_``
        sample_weight : array of shape (n_instances,), optional
            Weights of instances in the accuracy; none with a bag target.

        Returns
        -------
        float
            With a bag target, minus :func:`propcvx.bag_error`, which does not use its known labels.

        Raises
        ------
        InputError
            If labels are not among ``classes_``, or a bag target comes with a ``sample_weight``.
        """
        check_same_order({"X": X, "y": y, "sample_weight": sample_weight})
        if not is_bag_target(y):
            check_is_fitted(self)
            unknown = set(np.ravel(y).tolist()) - set(self.classes_.tolist())
            if unknown:
                raise InputError(
                    f"y must have labels among classes_ {self.classes_.tolist()}; got "
                    f"{', '.join(sorted(map(repr, unknown))[:5])} too."
                )
            return float(super().score(X, y, sample_weight))
        if sample_weight is not None:
            raise InputError("sample_weight must be None with a bag target; got weights.")
        predicted = self.predict(X) if is_class_target(y) else self.decision_function(X)
        return 0.0 - bag_error(y, predicted)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel == "linear"
        return tags


def warn_if_poor(bags: Bags, scores: Array) -> None:
    """Warn if a fit is poor by the proportions alone, unless every instance is a bag.

    The fraction of labels by which a bag misses its proportion is a lower bound on its error.  The
    error of predicting the majority class for all instances is the minority fraction.
    """
    bags, instances = bags.select_with_proportion()
    labels, p, masses = scores[instances] > 0.0, bags.proportions, bags.masses
    if bags.sizes.max() == 1 or not masses.any():
        return
    error = float(np.average(np.abs(bags.proportions_of(labels) - p), weights=masses))
    minority = float(np.average(np.array([p, 1.0 - p]), axis=1, weights=masses).min())
    facts = []
    if labels.all() or not labels.any():
        facts.append(
            f"it predicts one class for all {len(labels)} instances, which is accurate only if the "
            "other class is rare"
        )
    if error > minority + ROUNDING:
        facts.append(
            f"its labels miss the proportions by {error:.1%}, so their error is larger than the "
            f"{minority:.1%} of always predicting the majority class"
        )
    if facts:
        warn(
            f"the fit to {bags.n_bags} bags looks poor: {', and '.join(facts)}. Scale features, "
            "try other parameters, more starts or another method, or call propcvx.check_fit.",
            PoorFitWarning,
        )


def fit_grid(
    estimator: BagClassifier,
    X: Any,
    y: NDArray[Any],
    grid: Mapping[str, Sequence[Any]],
    sample_weight: ArrayLike | None = None,
) -> Iterator[BagClassifier]:
    """Fit an estimator with every combination of parameters, checking X and y once.

    The features of each kernel in the grid are computed once.  Parameters that are equivalent on
    these bags, such as tolerances that allow the same counts of positives, are fitted once.

    Parameters
    ----------
    estimator : BagClassifier
        Its parameters outside the grid; it is not fitted itself.
    X : array of shape (n_instances, n_features)
    y : bag target of shape (n_instances,), or labels
    grid : mapping of str to sequence
        Values of each parameter.
    sample_weight : array of shape (n_instances,), optional
        As in :meth:`BagClassifier.fit`.

    Yields
    ------
    BagClassifier
        A fitted clone for each of ``sklearn.model_selection.ParameterGrid(grid)``, in that order,
        as soon as it is fitted.  It equals the result of a separate fit.

    Examples
    --------
    >>> from propcvx import InvCal, bag_target, fit_grid
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], bag_target([0, 0, 1, 1], {0: 0.0, 1: 1.0})
    >>> [model.C_p for model in fit_grid(InvCal(), X, y, {"C_p": [0.1, 1.0]})]
    [0.1, 1.0]
    """
    if not isinstance(estimator, BagClassifier):
        raise InputError(
            f"estimator must be a classifier of propcvx; got {estimator!r:.200}. Use GridSearchCV "
            "for any other."
        )
    data = TrainingData.from_arrays(clone(estimator), X, y, sample_weight)
    fitted: dict[tuple[Any, ...], BagClassifier] = {}
    for parameters in ParameterGrid(grid):
        model = clone(estimator).set_params(**parameters)
        bags = data.bags
        meaning = {} if bags.multiclass else model._meaning_of_parameters(bags)
        key = tuple((name, meaning.get(name, id(value))) for name, value in parameters.items())
        if key in fitted:
            yield copy(fitted[key]).set_params(**parameters)
            continue
        validate_data(model, X, skip_check_array=True)
        model._fit_to(data)
        if meaning:
            fitted[key] = copy(model)
        yield model
