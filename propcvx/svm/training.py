"""The training data X and y, checked once.

Estimators are fitted to them, and :func:`propcvx.bounds.certify` bounds labelings of them.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from propcvx.arrays import Array, KernelFunction, KernelName, Scale
from propcvx.bags.bags import Bags
from propcvx.bags.targets import BAG_DTYPE, bag_target, classes_of, is_bag_target
from propcvx.checks import (
    as_vector,
    check_choice,
    check_same_length,
    check_same_order,
    number_or_computed,
    resolve,
)
from propcvx.errors import InputError
from propcvx.labelings.losses import PROPORTION_LOSSES, ProportionLoss
from propcvx.svm.kernels import WITH_GAMMA, FeatureMap, Kernel

MAKE_TARGET = "make y with propcvx.bag_target(bags, proportions)"
"""Advice in the messages about a y that is not a bag target."""

FOLD_ADVICE = (
    "cross_val_predict numbers the rows of a bag target unless method='predict': fit to the splits "
    "of propcvx.BagKFold(5).split(X, y) instead."
)
"""Advice if numbers may come from scikit-learn."""


@dataclass(eq=False, repr=False)
class KernelMethod(BaseEstimator):
    """Base of methods on kernel features of the instances, with the parameters of the kernel.

    The parameters are those of :class:`propcvx.svm.kernels.Kernel`; ``gamma`` may be ``"scale"``.
    """

    _: KW_ONLY
    kernel: KernelName | KernelFunction = "linear"
    gamma: Scale = "scale"
    degree: int = 3
    coef0: float = 1.0

    gram_matrices: ClassVar[float] = 10.0
    """Number of matrices as large as the Gram matrix that a run with a kernel holds, measured."""


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Instances and bags, checked, and the kernel features that all fits to them share.

    Attributes
    ----------
    X : array of shape (n_instances, n_features)
    bags : Bags
    classes : array of shape (n_classes,)
    """

    X: Any
    bags: Bags
    classes: NDArray[Any]
    _maps: list[FeatureMap] = field(default_factory=list, init=False, repr=False)

    @classmethod
    def from_arrays(
        cls, method: KernelMethod, X: Any, y: Any, sample_weight: Any = None
    ) -> TrainingData:
        """Check X, y and weights; the method stores the names of the columns."""
        check_same_order({"X": X, "y": y, "sample_weight": sample_weight})
        if type(method) is KernelMethod and np.shape(X)[:1] == (1,):
            raise InputError("X must have two instances or more; got 1. Pass the whole bags.")
        checked = validate_data(
            method, X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2
        )
        target, classes = (y, classes_of(y)) if is_bag_target(y) else singleton_target(y)
        check_same_length(checked, target)
        bags = Bags.from_target(target, table=len(classes) > 2).round_proportions()
        bags = set_weights(bags, sample_weight)
        if not (bags.has_proportion.any() or bags.labels.any()):
            raise InputError(
                "y has no bag with a proportion and no known label, so it does not identify the "
                "classes. Pass a proportion or labels; for the two clusters of largest margin, "
                "put all instances into one bag with proportion 0.5, and allow a tolerance with "
                "epsilon, or with proportion_loss=propcvx.labelings.losses.constraint(epsilon) of "
                "AlterPropSVM."
            )
        return cls(checked, bags, classes)

    def feature_map(self, method: KernelMethod) -> FeatureMap:
        """Compute the features of the instances, once for each kernel."""
        kernel = _kernel_of(method, self.X)
        for feature_map in self._maps:
            if feature_map.kernel == kernel:
                return feature_map
        self._maps.append(FeatureMap.fit(self.X, kernel, method.gram_matrices))
        return self._maps[-1]


def _kernel_of(method: KernelMethod, X: Any) -> Kernel:
    """Return the kernel of a method, with the value of ``gamma="scale"`` for the instances."""
    sparse = sp.issparse(X)
    if sparse and method.kernel != "linear":
        raise InputError(f"X may be sparse with kernel='linear' only; got {method.kernel!r}.")

    def scale() -> float:
        spread = X.var() if method.kernel in WITH_GAMMA else 0.0
        return 1.0 / (X.shape[1] * spread) if spread > 0 else 1.0

    gamma = number_or_computed("gamma", method.gamma, scale)
    return Kernel(method.kernel, gamma, method.degree, method.coef0)


def singleton_target(labels: Any) -> tuple[NDArray[np.void], NDArray[Any]]:
    """Make a target of singleton bags from labels, and return it with the two classes."""
    if labels is None:
        raise InputError(
            f"y must be given (requires y to be passed, but the target y is None): {MAKE_TARGET}."
        )
    if getattr(getattr(labels, "dtype", None), "names", None):
        raise InputError(
            f"y must be a bag target with fields {BAG_DTYPE.names}; got the fields "
            f"{labels.dtype.names}; {MAKE_TARGET}."
        )
    try:
        labels = column_or_1d(labels, warn=True)
        check_classification_targets(labels)
    except ValueError as error:
        raise InputError(f"{error} For bags and their proportions, {MAKE_TARGET}.") from error
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) != 2:
        raise InputError(
            f"y must have labels of two classes; got {len(classes)}. Only binary classification is "
            f"supported. To fit to bags or to more classes, {MAKE_TARGET}. {FOLD_ADVICE}"
        )
    return bag_target(np.arange(len(labels)), codes, labels=2 * codes - 1), classes


def set_weights(bags: Bags, sample_weight: Any) -> Bags:
    """Return the bags with weights of their instances.

    Raises
    ------
    InputError
        If the weights are not one number >= 0 for each instance, or all are zero.
    """
    if sample_weight is None:
        return bags
    weights = as_vector(sample_weight, bags.n_instances)
    if weights is None or weights.min() < 0.0 or not 0.0 < weights.sum() < np.inf:
        raise InputError(
            f"sample_weight must be one finite number per instance, shape ({bags.n_instances},), "
            f"none of them negative and not all zero; got {sample_weight!r:.200}."
        )
    if np.ptp(weights) == 0.0:
        return replace(bags, mean_weight=float(weights[0]))
    mean = float(weights.mean())
    return replace(bags, weights=weights / mean, mean_weight=mean)


def bag_weights(weights: Any, bags: Bags) -> Array:
    """Return the weight of each bag: 1 for ``"uniform"``, its size for ``"size"``, or as given.

    An array is in the order of the sorted ids; a dict or Series is keyed by bag id, and may have
    other bags too.  Known labels in singleton bags and the rest of their bag divide its weight by
    the number of instances (:meth:`~propcvx.bags.bags.Bags.isolate_known_labels`).
    """
    numbers = f", or one positive number per bag ({bags.n_bags})"
    if isinstance(weights, str):
        if check_choice("bag_weights", weights, ("uniform", "size"), numbers) == "size":
            return bags.sizes.astype(float)
        values = np.ones(bags.n_bags)
    else:
        requirement = f"'uniform', 'size'{numbers}"
        values = bags.check_values(
            "bag_weights", weights, requirement, np.nextafter(0.0, 1.0), np.inf
        )
    _, code = np.unique(bags.codes, return_inverse=True)
    return np.asarray(values * (bags.sizes / np.bincount(code, bags.sizes)[code]))


def proportion_term(
    argument: str, loss: Any, C_p: float, weights: Any, bags: Bags
) -> tuple[ProportionLoss, Array]:
    """Check the proportion loss for the bags, and return it with the weight of each bag.

    Parameters
    ----------
    argument : str
        The name of the loss in messages.
    loss : str or ProportionLoss
        The loss, or its name.
    C_p : float
        A number of at least 0, which the caller has checked.
    weights : "size", "uniform", array of shape (n_bags,), dict or Series
        Factor of ``C_p`` for each bag, see :func:`bag_weights`.
    bags : Bags
    """
    loss = resolve(argument, loss, PROPORTION_LOSSES, "evaluate").key_by_id(bags)
    if loss.dead_zone is None:
        bags.check_known("rounding" if loss.epsilon is None else loss.epsilon)
    return loss, C_p * bag_weights(weights, bags)
