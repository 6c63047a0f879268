"""Residuals and duality gap of what a CVXPY problem holds: right, or refused by name."""

from propcvx.solvers.certificates.residuals import certify

__all__ = ["certify"]
