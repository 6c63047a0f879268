"""The problem of a fitted estimator, as the arguments of ``certify``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from propcvx.bags.targets import ONE_CLASS
from propcvx.errors import InputError
from propcvx.svm.training import KernelMethod

KERNEL = ("kernel", "gamma", "degree", "coef0")
"""Parameters of the kernel, which all estimators have."""

OF_PROBLEM = ("epsilon", "C_p", "loss", "bag_weights", "intercept", "start", *KERNEL)
"""Arguments that are taken from the fit, in addition to C."""


def arguments_of(function: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments ``X, y, C, ...`` of a call ``function(fitted, X, y, ...)``.

    Parameters
    ----------
    function : callable
        A function with the parameters X, y, C and those in ``OF_PROBLEM``.
    arguments : mapping
        Values by parameter name: the fitted estimator as X, then X as y and y as C.

    Raises
    ------
    InputError
        If there is no certificate for the fit, its data differ, or a parameter is passed twice.
    """
    fitted, X, y = (arguments[name] for name in ("X", "y", "C"))
    check_is_fitted(fitted)
    if not hasattr(y, "__len__"):
        raise InputError(f"After a fitted estimator come X and y, got y = {y!r}.")
    if twice := not_default(function, {name: arguments[name] for name in OF_PROBLEM}):
        raise InputError(f"{', '.join(twice)} must not be given, as the fitted estimator has it.")
    check_two_classes(len(fitted.classes_))
    taken = fitted._certified_form() | {name: getattr(fitted, name) for name in KERNEL}
    _check_same_data(fitted, X, y)
    start = np.where(fitted.transduction_ == fitted.classes_[1], 1.0, -1.0)
    return {**arguments, **taken, "X": X, "y": y, "start": start}


def not_default(function: Callable[..., Any], arguments: Mapping[str, Any]) -> list[str]:
    """Return the names of the arguments that differ from the defaults of a function."""
    defaults = {name: each.default for name, each in signature(function).parameters.items()}
    return [name for name, x in arguments.items() if np.ndim(x) > 0 or x != defaults[name]]


def check_two_classes(n_classes: int) -> None:
    """Raise if there are more than two classes, which have no certificates."""
    if n_classes > 2:
        raise InputError(f"y must have two classes, got {n_classes}; {ONE_CLASS}.")


def _check_same_data(fitted: KernelMethod, X: Any, y: Any) -> None:
    """Check the numbers of instances and features, and the instances that a kernel stores."""
    seen = len(fitted.transduction_), fitted.n_features_in_
    shape = getattr(X, "shape", np.shape(X))
    if shape != seen or len(y) != seen[0]:
        raise InputError(
            f"X and y must be those of the fit: X of shape {seen}, got {shape} and "
            f"{len(y)} rows of y."
        )
    training = fitted.feature_map_.training
    given = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    if training is not None and not np.array_equal(training, given):
        raise InputError("X must be that of the fit, got other instances.")
