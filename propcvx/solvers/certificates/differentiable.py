"""Where CVXPY's ``grad`` is the gradient, and not just one subgradient of several."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.affine_atom import AffAtom

from propcvx.errors import CertificateError

KINK = 1e-4
"""Solvers' answers within this of a kink may stand for the kink itself."""


def check_differentiable(expression: cp.Expression) -> None:
    """Raise CertificateError naming the atom where the gradient does not exist or is not known."""
    for atom in _atoms(expression):
        row = next((row for kind, row in ROWS.items() if isinstance(atom, kind)), None)
        if row is None:
            raise CertificateError(
                f"{type(atom).__name__}, in {atom}, is not among the atoms whose gradient "
                "certificates rely on; most others have kinks, where the multipliers of CVXPY's "
                "reformulation would be needed.  Write it with variables and constraints of your "
                "own (|x| as t with -t <= x <= t), or ask with certify=False."
            )
        if not row(atom):
            raise CertificateError(
                f"{type(atom).__name__}, in {atom}, is at a kink or at the boundary of its domain, "
                "where it has no gradient; ask with certify=False."
            )


def _atoms(expression: Any) -> Iterator[Any]:
    """All that is not constant and not a leaf in the tree of an expression."""
    if expression.args and not expression.is_constant():
        yield expression
        for argument in expression.args:
            yield from _atoms(argument)


def _everywhere(atom: Any) -> bool:
    return True


def _above_minus_one(atom: Any) -> bool:
    return bool(np.min(atom.args[0].value) > -1)


def _definite(atom: Any) -> bool:
    matrix = atom.args[0].value
    return np.allclose(matrix, matrix.T) and np.linalg.eigvalsh(matrix).min() > 0


def _within(atom: Any) -> bool:
    return all(np.min(argument.value) > 0 for argument in atom.args)


def _off_zero(atom: Any) -> bool:
    return all(np.min(part.value) > KINK for part in atom.args if not part.is_constant())


def _entropy(atom: Any) -> bool:
    """Homogeneous in both arguments together, so that only then the origin is a kink."""
    return _within(atom) and (any(part.is_constant() for part in atom.args) or _off_zero(atom))


def _power(atom: Any) -> bool:
    """Beyond 1, all but powers of 2 have x >= 0 as a constraint of their own."""
    p = float(atom.p.value)
    if p in (0, 1) or (p > 1 and np.log2(p).is_integer()):
        return True
    return _within(atom) if p < 1 else _off_zero(atom)


def _quotient(atom: Any) -> bool:
    return atom.args[1].is_constant() or np.min(atom.args[1].value) > KINK


def _norm(atom: Any) -> bool:
    return bool(float(atom.p) > 1 and np.min(atom.value) > KINK)


ROWS: dict[type, Callable[[Any], bool]] = {
    AffAtom: _everywhere,
    cp.exp: _everywhere,
    cp.huber: _everywhere,
    cp.log_sum_exp: _everywhere,
    cp.logistic: _everywhere,
    cp.QuadForm: _everywhere,
    cp.log: _within,
    cp.entr: _within,
    cp.log1p: _above_minus_one,
    cp.log_det: _definite,
    cp.tr_inv: _definite,
    cp.GeoMean: _off_zero,
    cp.xexp: _off_zero,
    cp.kl_div: _entropy,
    cp.rel_entr: _entropy,
    cp.quad_over_lin: _quotient,
    cp.Power: _power,
    cp.Pnorm: _norm,
}
"""Whether an atom is differentiable at the values its arguments hold, by its class."""
