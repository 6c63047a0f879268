"""What the four estimators share: bags in, a hyperplane over kernel features out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from cvxpy import OPTIMAL
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from propcvx.bags import Bags
from propcvx.checks import as_vector, check_choice, check_number
from propcvx.errors import (
    InaccurateSolutionWarning,
    InputError,
    PoorFitWarning,
    SolverError,
    warn,
)
from propcvx.estimators.calibration import Calibration
from propcvx.estimators.prepared import Prepared
from propcvx.history import History, StopReason
from propcvx.kernels import FeatureMap, Kernel
from propcvx.metrics import bag_error, proportion_error
from propcvx.ordering import in_canonical_order
from propcvx.scaling import scaling_advice
from propcvx.solvers import portable
from propcvx.targets import (
    BAG_DTYPE,
    as_mapping,
    bag_target,
    is_bag_target,
    proportions_of,
    some_of,
)
from propcvx.threads import one_thread

Array = NDArray[np.float64]

MAKE_TARGET = "make y with propcvx.bag_target(bags, proportions)"
"""What to say to one who has bags and proportions, and has passed something else."""


@dataclass(frozen=True)
class Hyperplane:
    """Weights over features and the bias.

    Attributes
    ----------
    weights : array of shape (rank,)
    bias : float
    stopped_by : exception or None
        What stopped the method early, if anything did.
    ill_posed : bool
        Whether the method has warned that the data hardly determine it.
    """

    weights: Array
    bias: float
    stopped_by: BaseException | None = None
    ill_posed: bool = False


def _knows_bags(estimator: BagClassifier) -> bool:
    if not hasattr(estimator, "_calibration"):
        raise AttributeError(
            "predict_proba needs a fit to bags, not to the label of every instance: with labels, "
            "sklearn.calibration.CalibratedClassifierCV calibrates on instances held out."
        )
    return True


@dataclass(eq=False, repr=False)
class BagClassifier(ClassifierMixin, BaseEstimator):
    """Base of the estimators; a subclass implements ``_fit(features, bags)``.

    The fields are the parameters: the dataclass makes of them the ``__init__`` that scikit-learn
    asks for, which stores its arguments and does nothing else.
    """

    _: KW_ONLY
    kernel: Any = "linear"
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 1.0
    solver: Any = "auto"
    solver_tol: float = 1e-8
    solver_options: dict[str, Any] | None = None

    labeling_: Array = field(init=False)
    history_: History = field(init=False)
    stop_reason_: StopReason | None = field(init=False)

    gram_matrices: ClassVar[float]
    """How many matrices as large as the Gram matrix a fit with a kernel holds at once, measured."""

    def fit(self, X: Any, y: NDArray[Any]) -> BagClassifier:
        """Fit to bags with known proportions.

        Parameters
        ----------
        X : array of shape (n_instances, n_features)
            Instances; the square Gram matrix for ``kernel="precomputed"``.
        y : bag target of shape (n_instances,), or labels
            Made by :func:`propcvx.bag_target`.  A plain vector of labels of two classes is the
            fully supervised case: every instance a bag of one.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If an argument cannot be used; the message names it.
        SolverError
            If a solver has no answer; the message names it and its status.  As after an
            interruption by Ctrl-C, what an iterative method had reached is kept, whole rounds of
            a relaxation and whole starts of alter-pSVM: after one of them the estimator can
            predict, and its ``stop_reason_`` tells.
        """
        return self._fit_prepared(self._prepare(X, y))

    def _prepare(self, X: Any, y: NDArray[Any]) -> Prepared:
        """X and y, checked: once for any number of fits."""
        checked = validate_data(
            self, X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2
        )
        bags = self._bags(y, checked.shape[0])
        in_order = in_canonical_order(bags, checked, precomputed=self.kernel == "precomputed")
        return Prepared(X, checked, in_order, self.classes_)

    def _fit_prepared(self, prepared: Prepared) -> BagClassifier:
        """Fit to what has been prepared, by this estimator or by another."""
        check_number("solver_tol", self.solver_tol, above=0.0)
        validate_data(self, prepared.given, skip_check_array=True)
        self.classes_ = prepared.classes
        with one_thread(prepared.bags.n_instances):
            return self._fit_on_ordered(prepared)

    def _fit_on_ordered(self, prepared: Prepared) -> BagClassifier:
        """Fit to the instances in the order of the bags, and store in the order of the rows."""
        feature_map = prepared.feature_map(self._kernel(prepared.ordered), self.gram_matrices)
        advice = "" if self.kernel == "precomputed" else scaling_advice(prepared.X)
        try:
            plane = self._fit_map(feature_map, prepared.bags)
        except SolverError as failure:
            failure.add_note(advice)
            raise
        scores = feature_map.features @ plane.weights + plane.bias
        self._calibrate(scores, prepared.bags)
        self._put_back(prepared.places, prepared.bags.sign)
        self.feature_map_ = feature_map.without_features(prepared.X, prepared.bags.rows)
        self._store(prepared.bags.sign * plane.weights, prepared.bags.sign * plane.bias)
        self._warn_if_inaccurate(advice)
        if not plane.ill_posed:
            warn_if_poor(prepared.bags, scores)
        if plane.stopped_by is not None:
            plane.stopped_by.add_note(f"{type(self).__name__} keeps the best it had reached.")
            raise plane.stopped_by
        return self

    def _warn_if_inaccurate(self, advice: str) -> None:
        """Warn once of all rounds whose solver stopped before its tolerance."""
        missed = [record.solver for record in self.history_ if record.status != OPTIMAL]
        if missed:
            warn(
                f"{' and '.join(sorted(set(missed)))} stopped before its tolerance in "
                f"{len(missed)} of {len(self.history_)} rounds; more iterations, a looser "
                f"solver_tol or another solver may do. {advice}".rstrip(),
                InaccurateSolutionWarning,
            )

    def _put_back(self, places: NDArray[np.intp], sign: int) -> None:
        """Bring what is known of each instance from the order of the fit into that of the rows.

        A sign of -1 exchanges the classes back.
        """
        self.labeling_ = sign * self.labeling_[places]

    def _calibrate(self, scores: Array, bags: Bags) -> None:
        """Keep what ``predict_proba`` fits its curve to when it is first called."""
        self.__dict__.pop("_calibration", None)
        if not bags.labels.all():
            self._calibration = Calibration(scores, bags.index, bags.proportions, bags.sign)

    def __getstate__(self) -> dict[str, Any]:
        """With a solver of the user's own as what it is: its name is not known elsewhere."""
        state: dict[str, Any] = super().__getstate__()
        return {**state, "solver": portable(state["solver"])}

    def _fit_map(self, feature_map: FeatureMap, bags: Bags) -> Hyperplane:
        """Fit to the features of a map, whose ``solved`` other fits to it may have filled."""
        return self._fit(feature_map.features, bags)

    def _come_to(self, bags: Bags) -> dict[str, Any]:
        """What some parameters come to on these bags: where it is equal, so is the fit."""
        return {}

    @abstractmethod
    def _fit(self, features: Array, bags: Bags) -> Hyperplane:
        """Fit a hyperplane over the features and store what else is to be shown."""

    def decision_function(self, X: Any) -> Array:
        """Signed score of each instance; positive means ``classes_[1]``.

        Parameters
        ----------
        X : array of shape (n_instances, n_features)

        Returns
        -------
        scores : array of shape (n_instances,)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        if self.feature_map_.pivots is None:
            return np.asarray(X @ self.coef_[0]) + self.intercept_[0]
        gram = self.feature_map_.kernel(X, self.feature_map_.training)
        return gram @ self.dual_coef_[0] + self.intercept_[0]

    def predict(self, X: Any) -> NDArray[Any]:
        """Label of each instance, from ``classes_``."""
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(int)]

    @available_if(_knows_bags)
    def predict_proba(self, X: Any) -> Array:
        r"""Probability of each class, calibrated by the proportions of the training bags.

        It is :math:`1 / (1 + \exp(-(a s + b)))` of the score :math:`s`, with :math:`a \ge 0`, whose
        means over the training bags meet their proportions best; see
        :class:`propcvx.estimators.calibration.Calibration`.  It looks at no label, and is there
        after a fit to bags only: where every label is known,
        ``sklearn.calibration.CalibratedClassifierCV`` calibrates on instances held out.

        Parameters
        ----------
        X : array of shape (n_instances, n_features)

        Returns
        -------
        probabilities : array of shape (n_instances, 2)
            In the order of ``classes_``.

        Warns
        -----
        IllPosedWarning
            If the bags do not tell a, as where all proportions are equal: every instance then has
            the share of positives in all bags.

        Notes
        -----
        The curve is fitted to the scores of the very bags that the method was fitted to, which are
        farther apart than those of other instances: it may be too steep.  ``predict`` goes by the
        sign of the score, and the curve may cross 1/2 elsewhere.
        """
        scores = self.decision_function(X)
        return self._calibration.probabilities(scores)

    def transduce(self) -> NDArray[Any]:
        """Labeling of the training instances that the method ended with, from ``classes_``.

        Returns
        -------
        labels : array of shape (n_instances,)
            In the training set's order.  Where a method labels instances itself, this can differ
            from ``predict``, which uses the separating line alone.
        """
        check_is_fitted(self)
        return self.classes_[(self.labeling_ > 0).astype(int)]

    def predict_proportions(self, X: Any, bags: Any) -> dict[Any, float]:
        """Share of instances predicted positive in each bag, keyed by bag id.

        Parameters
        ----------
        X : array of shape (n_instances, n_features)
        bags : sequence of length n_instances, or bag target
            The bag each instance is in.

        Returns
        -------
        dict
        """
        return proportions_of(self.decision_function(X), bags)

    def score(self, X: Any, y: NDArray[Any], sample_weight: Any = None) -> float:
        """Minus the bag error if ``y`` is a bag target, accuracy if it is labels.

        Parameters
        ----------
        X : array of shape (n_instances, n_features)
        y : bag target of shape (n_instances,), or labels among ``classes_``
        sample_weight : array of shape (n_instances,), optional
            Weights of instances in the accuracy.

        Raises
        ------
        InputError
            If labels are not among ``classes_``: -1 and +1 after a fit to bags.
        """
        if not is_bag_target(y):
            check_is_fitted(self)
            check_known_classes(y, self.classes_)
            return float(super().score(X, y, sample_weight))
        scores = self.decision_function(X)
        check_same_length(len(scores), len(y))
        return 0.0 - bag_error(y, np.where(scores > 0, 1, -1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel == "linear"
        return tags

    def _bags(self, y: Any, n_instances: int) -> Bags:
        target = y if is_bag_target(y) else self._one_instance_bags(y)
        check_same_length(n_instances, len(target))
        if target is y:
            self.classes_ = np.array([-1, 1])
        return Bags.from_target(target)

    def _one_instance_bags(self, y: Any) -> NDArray[np.void]:
        if y is None:
            raise InputError(
                "y must be given (requires y to be passed, but the target y is None): a bag "
                "target made by propcvx.bag_target, or labels."
            )
        if getattr(y, "dtype", None) is not None and y.dtype.names:
            raise InputError(
                f"y must be a bag target with fields {BAG_DTYPE.names}, got the fields "
                f"{y.dtype.names}; make one with propcvx.bag_target."
            )
        if isinstance(y, Mapping):
            raise InputError(f"y must have one row per instance, got a mapping; {MAKE_TARGET}.")
        y = column_or_1d(y, warn=True)
        try:
            check_classification_targets(y)
        except ValueError as error:
            raise InputError(f"{error} For shares, {MAKE_TARGET}.") from error
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) != 2:
            raise InputError(
                f"y must have labels of two classes, got {len(self.classes_)} "
                f"{'class' if len(self.classes_) == 1 else 'classes'}. Only binary "
                f"classification is supported. For names of bags, {MAKE_TARGET}."
            )
        return bag_target(np.arange(len(y)), codes, labels=2 * codes - 1)

    def _kernel(self, X: Any) -> Kernel:
        if sp.issparse(X) and self.kernel != "linear":
            raise InputError(f"X may be sparse with kernel='linear' only, got {self.kernel!r}.")
        gamma = self.gamma
        if isinstance(gamma, str):
            check_choice("gamma", gamma, ("scale",))
            spread = X.var() if not sp.issparse(X) else 1.0
            gamma = 1.0 / (X.shape[1] * spread) if spread > 0 else 1.0
        return Kernel(self.kernel, gamma, self.degree, self.coef0)

    def _store(self, weights: Array, bias: float) -> None:
        self.intercept_ = np.array([bias])
        for of_another_kernel in ("coef_", "dual_coef_"):
            self.__dict__.pop(of_another_kernel, None)
        if self.feature_map_.pivots is None:
            self.coef_ = weights[None, :]
        else:
            self.dual_coef_ = self.feature_map_.dual_coefficients(weights)[None, :]


def warn_if_poor(bags: Bags, scores: Array) -> None:
    """Warn where labels drawn at random, with the mean share, would meet the shares as well.

    Not where every instance is a bag.  The mean share itself is no measure: the shares of large
    random bags are so near to it that good classifiers miss them by more.
    """
    error, at_random = proportion_error(bags, scores), error_at_random(bags)
    chance = 1.0 + np.sqrt((np.pi / 2.0 - 1.0) / bags.n_bags)  # a standard error of that mean
    if bags.sizes.max() > 1 and error > chance * at_random:
        warn(
            f"the fit has a bag error of {error:.3g} on the {bags.n_bags} bags that it was fitted "
            f"to, and labels drawn at random with the mean share would have {at_random:.3g}: it "
            "may predict one class only. Scaled features, other parameters, more starts or "
            "another method may do.",
            PoorFitWarning,
        )


def error_at_random(bags: Bags) -> float:
    """About the mean bag error of labels that are drawn with the mean share as probability."""
    mean = float(bags.proportions @ bags.sizes) / bags.n_instances
    squares = np.square(bags.proportions - mean) + mean * (1.0 - mean) / bags.sizes
    return float(np.sqrt(2.0 / np.pi * squares).mean())


def check_same_length(n_instances: int, n_targets: int) -> None:
    """X and y have one row per instance each."""
    if n_instances != n_targets:
        raise InputError(
            f"X and y must have the same number of instances, got {n_instances} and {n_targets}."
        )


def check_known_classes(labels: Any, classes: NDArray[Any]) -> None:
    """Labels to score by are those that an estimator can predict."""
    unknown = set(np.ravel(labels).tolist()) - set(classes.tolist())
    if unknown:
        negative, positive = classes.tolist()
        raise InputError(
            f"y must have labels among classes_ {classes.tolist()}, got "
            f"{', '.join(sorted(map(repr, unknown))[:5])} too; pass {negative!r} for the negative "
            f"and {positive!r} for the positive class."
        )


def bag_weights(weights: Any, bags: Bags) -> Array:
    """Weight of each bag: 1 for ``"bag"``, its number of instances for ``"size"``, or as given.

    An array is in the order of the sorted ids; a dict or Series is keyed by bag id, and may have
    other bags too.
    """
    if isinstance(weights, str):
        check_choice("bag_weights", weights, ("bag", "size"))
        return bags.sizes.astype(float) if weights == "size" else np.ones(bags.n_bags)
    keyed = as_mapping("bag_weights", weights)
    if keyed is not None:
        codes = np.sort(bags.codes).tolist()
        names = codes if bags.ids is None else [bags.ids[code] for code in codes]
        missing = [name for name in names if name not in keyed]
        if missing:
            raise InputError(f"bag_weights must name every bag, got none of {some_of(missing)}.")
        weights = [keyed[name] for name in names]
    given = as_vector(weights)
    if given is None or len(given) != bags.n_bags or (given <= 0).any():
        raise InputError(
            f"bag_weights must be 'bag', 'size', or one positive number per bag ({bags.n_bags}), "
            f"got {weights!r}."
        )
    return given[np.argsort(np.argsort(bags.codes))]  # given in the order of the sorted ids
