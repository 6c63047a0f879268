"""Solvers of one structure each, in addition to the general solvers that CVXPY reaches."""
