"""What a tolerance is called by solvers where that is more than one number under some names."""

from __future__ import annotations

from typing import Any

LEAST_FEASIBILITY = 1e-9
"""The tightest that branch-and-bound solvers take for the violation of a constraint."""


def highs_options(tol: float) -> dict[str, Any]:
    """HiGHS takes none below 1e-10."""
    names = ("primal_feasibility_tolerance", "dual_feasibility_tolerance", "mip_rel_gap")
    return dict.fromkeys((*names, "mip_feasibility_tolerance"), max(tol, 1e-10))


def scip_options(tol: float) -> dict[str, Any]:
    """The relative gap, and SCIP's own range for the violation of constraints."""
    return {"limits/gap": tol, "numerics/feastol": min(max(tol, LEAST_FEASIBILITY), 1e-3)}


def moreau_options(tol: float) -> dict[str, Any]:
    """Moreau has its tolerances in a record inside its settings."""
    names = ("tol_gap_abs", "tol_gap_rel", "tol_feas")
    return {"ipm_settings": dict.fromkeys(names, tol)}


def gurobi_options(tol: float) -> dict[str, Any]:
    """Gurobi takes tolerances of feasibility from 1e-9 to 1e-2."""
    feasibility = min(max(tol, LEAST_FEASIBILITY), 1e-2)
    names = ("FeasibilityTol", "OptimalityTol")
    gaps = {"BarConvTol": min(tol, 1.0), "BarQCPConvTol": min(tol, 1.0), "MIPGap": tol}
    return dict.fromkeys(names, feasibility) | gaps


def copt_options(tol: float) -> dict[str, Any]:
    """COPT takes tolerances of feasibility from 1e-9 to 1e-4."""
    feasibility = min(max(tol, LEAST_FEASIBILITY), 1e-4)
    return {"FeasTol": feasibility, "DualTol": feasibility, "RelGap": min(tol, 1.0)}


def cplex_options(tol: float) -> dict[str, Any]:
    """CPLEX's parameters by their path; its barrier takes 1e-12, its simplex 1e-9 and more."""
    feasibility = min(max(tol, LEAST_FEASIBILITY), 1e-1)
    return {
        "cplex_params": {
            "simplex.tolerances.feasibility": feasibility,
            "simplex.tolerances.optimality": feasibility,
            "barrier.convergetol": max(tol, 1e-12),
            "barrier.qcpconvergetol": max(tol, 1e-12),
            "mip.tolerances.mipgap": min(tol, 1.0),
        }
    }


def cplex_threads(threads: int) -> dict[str, Any]:
    """CPLEX's threads are a parameter like others."""
    return {"cplex_params": {"threads": threads}}


def xpress_options(tol: float) -> dict[str, Any]:
    """Xpress has one tolerance for each kind of error, and one gap for branch and bound."""
    feasibility = max(tol, LEAST_FEASIBILITY)
    return {
        "feastol": feasibility,
        "optimalitytol": feasibility,
        "bargapstop": tol,
        "barprimalstop": tol,
        "bardualstop": tol,
        "miprelstop": tol,
    }


def sdpa_options(tol: float) -> dict[str, Any]:
    """SDPA's relative gap and its feasibility."""
    return {"epsilonStar": tol, "epsilonDash": tol}
