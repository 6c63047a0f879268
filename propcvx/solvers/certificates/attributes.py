r"""What the attributes of a variable (``nonneg=True``, ``PSD=True``, ...) add to a certificate.

CVXPY gives no duals of attributes.  At an optimum the multiplier of an attribute is the gradient of
the Lagrangian of all else, and lies in the dual cone of the attribute's set.  So the part of that
gradient in the dual cone is taken for the multiplier; the rest is the dual residual.
"""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from propcvx.errors import CertificateError
from propcvx.solvers.certificates import cones
from propcvx.solvers.certificates.memberships import dense, matrices

Array = NDArray[np.float64]

NOT_COVERED = ("complex", "imag", "hermitian")
SYMMETRIC = ("symmetric", "PSD", "NSD")
SEMIDEFINITE = {"PSD": 1.0, "NSD": -1.0}
SETS: dict[str, Any] = {
    "nonneg": (0.0, np.inf),
    "pos": (0.0, np.inf),
    "nonpos": (-np.inf, 0.0),
    "neg": (-np.inf, 0.0),
}
"""Interval of the entries that have an attribute."""


def check_attributes(variable: cp.Variable) -> None:
    """Raise CertificateError where a multiplier cannot be told from the gradient alone."""
    found = [name for name in NOT_COVERED if variable.attributes[name]]
    semidefinite = [name for name in SEMIDEFINITE if variable.attributes[name]]
    if semidefinite and any(np.isfinite(bound).any() for bound in _bounds(variable)):
        found = [*semidefinite, "bounds"]
    if found:
        raise CertificateError(
            f"variable {variable.name()} has {' and '.join(found)}, of which certificates cannot "
            "tell the multiplier; write it as constraints of real variables, or ask with "
            "certify=False."
        )


def stored(leaf: cp.Variable | cp.Parameter) -> Any:
    """The value as CVXPY holds it, or None."""
    return leaf.value if leaf.sparse_idx is None else leaf.value_sparse


def violation(variable: cp.Variable) -> float:
    """Largest violation of an attribute by the value."""
    value = dense(stored(variable))
    lower, upper = _bounds(variable)
    amounts = [lower - value, value - upper, np.abs(value - _structured(variable, value))]
    for name, sign in SEMIDEFINITE.items():
        if variable.attributes[name]:
            amounts.append(np.array(cones.distance(sign * matrices([value]), cones.semidefinite)))
    for entries in (variable.boolean_idx, variable.integer_idx):
        if len(entries):
            chosen = np.atleast_1d(value)[tuple(entries)]
            amounts.append(np.abs(chosen - np.round(chosen)))
    return float(np.max([np.max(amount, initial=0.0) for amount in amounts]))


def reduced(variable: cp.Variable, gradient: Array) -> tuple[Array, float]:
    """What of the gradient no multiplier takes up, and the complementarity of those that do."""
    value, rest, gap = dense(stored(variable)), _structured(variable, gradient), 0.0
    for name, sign in SEMIDEFINITE.items():
        if variable.attributes[name] and np.isfinite(rest).all():
            multiplier = sign * cones.semidefinite(sign * matrices([rest])).reshape(rest.shape)
            rest, gap = rest - multiplier, gap + float(np.vdot(multiplier, value))
    lower, upper = _bounds(variable)
    below = np.where(np.isfinite(lower), np.maximum(rest, 0.0), 0.0)
    above = np.where(np.isfinite(upper), np.maximum(-rest, 0.0), 0.0)
    gap += float(np.sum(below * np.where(below > 0, value - lower, 0.0)))
    gap += float(np.sum(above * np.where(above > 0, upper - value, 0.0)))
    return rest - below + above, gap


def _structured(variable: Any, value: Array) -> Array:
    """Projection on the subspace of matrices that the variable ranges over."""
    if any(variable.attributes[name] for name in SYMMETRIC):
        return (value + np.swapaxes(value, -2, -1)) / 2
    if variable.attributes["diag"]:
        return value * np.eye(variable.shape[-1])
    if variable.sparse_idx is not None:
        pattern = np.zeros(variable.shape)
        pattern[tuple(variable.sparse_idx)] = 1.0
        return value * pattern
    return value


def _bounds(variable: Any) -> tuple[Array, Array]:
    """Bounds by attributes, numbers and expressions; of a symmetric matrix, symmetric ones."""
    asked = [SETS[name] for name in SETS if variable.attributes[name]]
    if variable.bounds:
        asked.append(tuple(_value(bound) for bound in variable.bounds))
    lower, upper = np.full(variable.shape, -np.inf), np.full(variable.shape, np.inf)
    if len(variable.boolean_idx):
        entries = tuple(variable.boolean_idx)
        np.atleast_1d(lower)[entries], np.atleast_1d(upper)[entries] = 0.0, 1.0
    for least, most in asked:
        lower, upper = np.maximum(lower, least), np.minimum(upper, most)
    if any(variable.attributes[name] for name in SYMMETRIC):
        lower = np.maximum(lower, np.swapaxes(lower, -2, -1))
        upper = np.minimum(upper, np.swapaxes(upper, -2, -1))
    return lower, upper


def _value(bound: object) -> Array:
    return dense(bound.value if isinstance(bound, cp.Expression) else bound)
