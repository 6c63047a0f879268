"""Commercial solvers: the extra ``commercial``; at teaching size they run without a licence."""

from __future__ import annotations

from propcvx.programs import ProblemClass
from propcvx.solvers.rows.options import (
    copt_options,
    cplex_options,
    cplex_threads,
    gurobi_options,
    xpress_options,
)
from propcvx.solvers.rows.row import AttributesOf, KnownFailure, SameOption, through_cvxpy

QP, SOCP, SDP = ProblemClass.QP, ProblemClass.SOCP, ProblemClass.SDP
EXPONENTIAL = ProblemClass.EXPONENTIAL
INTEGER = (ProblemClass.MILP, ProblemClass.MIQP, ProblemClass.MICP)

# CVXPY's interface to Xpress drops names that are no controls without a word.
_XPRESS_OPTIONS = frozenset(
    {"feastol", "optimalitytol", "bargapstop", "barprimalstop", "bardualstop", "bargaptarget"}
    | {"miprelstop", "mipabsstop", "miptol", "maxtime", "timelimit", "threads", "lpiterlimit"}
    | {"bariterlimit", "maxnode", "presolve", "defaultalg", "scaling", "write_mps"}
)

_CONE_DUALS = "duals of second-order cones, through CVXPY 1.9.3, that are none"

COMMERCIAL = (
    through_cvxpy(
        "gurobi",
        *(QP, SOCP, *INTEGER),
        options_of=gurobi_options,
        threads_of=SameOption("Threads"),
        module="gurobipy",
        option_names=AttributesOf("gurobipy:GRB.Param"),
        licence="proprietary",
        failures=(KnownFailure("13.0.3", "no duals of quadratic constraints at low accuracy"),),
        limits="2,000 variables and 2,000 constraints, 200 variables of a quadratic program",
        unpublished="its licence forbids to publish results of benchmarks",
    ),
    through_cvxpy(
        "cplex",
        *(QP, SOCP, *INTEGER),
        options_of=cplex_options,
        threads_of=cplex_threads,
        licence="proprietary",
        limits="1,000 variables and 1,000 constraints (Community Edition)",
        failures=(KnownFailure("22.2.0.1", _CONE_DUALS),),
        unpublished="nothing in its package allows to publish results of benchmarks",
    ),
    through_cvxpy(
        "xpress",
        *(QP, SOCP, *INTEGER),
        options_of=xpress_options,
        known_options=_XPRESS_OPTIONS,
        threads_of=SameOption("threads"),
        licence="proprietary",
        limits="200 variables and constraints of a quadratic program, 5,000 of a linear one",
        unpublished="its licence forbids to publish results of benchmarks",
        failures=(KnownFailure("9.9.1", _CONE_DUALS),),
    ),
    through_cvxpy(
        "copt",
        *(QP, SOCP, SDP, EXPONENTIAL, *INTEGER),
        options_of=copt_options,
        threads_of=SameOption("Threads"),
        module="coptpy",
        option_names=AttributesOf("coptpy:COPT.Param"),
        licence="proprietary",
        limits="2,000 variables and 2,000 constraints",
        failures=(KnownFailure("8.0.7", _CONE_DUALS),),
        unpublished="nothing in its package allows to publish results of benchmarks",
    ),
)
