"""Solvers of one structure each, beside the general ones that CVXPY reaches."""
