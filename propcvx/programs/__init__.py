"""The optimization problems of the paper, one function each, as plain CVXPY problems.

A function builds a :class:`~propcvx.programs.program.Program`: a ``cvxpy.Problem`` with named
variables, parameters and constraints.  Nothing here solves anything; ``propcvx.solvers.solve``
does.
"""

from propcvx.programs.bag_means import (
    class_means,
    conditional_exponential_model,
    ecological_regression,
    inv_cal_dual,
    inv_cal_primal,
    inv_cal_targets,
    second_moments,
)
from propcvx.programs.labeling import (
    counted_labeling,
    exact_separation,
    group_count,
    labeling_step,
    linear_separation,
)
from propcvx.programs.lifted import (
    Lifting,
    bag_moments,
    diffrac,
    lifted_quadratic,
    lifted_svm,
    lifted_svm_dual,
    mixture,
    square_loss_matrix,
)
from propcvx.programs.program import ProblemClass, Program, build
from propcvx.programs.psvm import constrained_psvm, psvm
from propcvx.programs.structures import (
    GroupMaster,
    InvCalDual,
    LogisticModel,
    RestrictedMaster,
    RidgeRegression,
    SecondMomentFit,
    Structure,
    SVMDual,
)
from propcvx.programs.svm import (
    margin_classifier,
    mkl_epigraph,
    mkl_group,
    mkl_inner,
    soft_logistic_regression,
    svm_dual,
    svm_dual_parameters,
    svm_primal,
)

__all__ = [
    "GroupMaster",
    "InvCalDual",
    "Lifting",
    "LogisticModel",
    "ProblemClass",
    "Program",
    "RestrictedMaster",
    "RidgeRegression",
    "SVMDual",
    "SecondMomentFit",
    "Structure",
    "bag_moments",
    "build",
    "class_means",
    "conditional_exponential_model",
    "constrained_psvm",
    "counted_labeling",
    "diffrac",
    "ecological_regression",
    "exact_separation",
    "group_count",
    "inv_cal_dual",
    "inv_cal_primal",
    "inv_cal_targets",
    "labeling_step",
    "lifted_quadratic",
    "lifted_svm",
    "lifted_svm_dual",
    "linear_separation",
    "margin_classifier",
    "mixture",
    "mkl_epigraph",
    "mkl_group",
    "mkl_inner",
    "psvm",
    "second_moments",
    "soft_logistic_regression",
    "square_loss_matrix",
    "svm_dual",
    "svm_dual_parameters",
    "svm_primal",
]
