from . import (  # noqa: F401
    alternating,
    arrays,
    bags,
    bounds,
    checks,
    datasets,
    demo,
    errors,
    estimators,
    groups,
    history,
    labelings,
    plotting,
    programs,
    relaxation,
    solvers,
    svm,
    text,
)
from .bags.bags import Bags, sampling_epsilon
from .bags.metrics import (
    bag_correlation,
    bag_deviance,
    bag_error,
    bag_r2_score,
    bag_r2_scorer,
    neg_bag_deviance_scorer,
    neg_bag_error_scorer,
    neg_size_weighted_bag_error_scorer,
)
from .bags.model_selection import BagKFold, BagShuffleSplit, RepeatedBagKFold
from .bags.targets import bag_proportions, bag_target, binary_target
from .bounds import certify
from .estimators import (
    AggregateLogisticRegression,
    AlterPropSVM,
    BagMeans,
    ConvPropSVM,
    EcologicalRegression,
    InvCal,
    MeanMap,
    ProportionScaler,
    SecondMoments,
    check_fit,
    fit_grid,
    fit_means,
)
from .groups import group_rates
from .relaxation import CuttingPlanes

__version__: str

__all__ = [
    "AggregateLogisticRegression",
    "AlterPropSVM",
    "BagKFold",
    "BagMeans",
    "BagShuffleSplit",
    "Bags",
    "ConvPropSVM",
    "CuttingPlanes",
    "EcologicalRegression",
    "InvCal",
    "MeanMap",
    "ProportionScaler",
    "RepeatedBagKFold",
    "SecondMoments",
    "bag_correlation",
    "bag_deviance",
    "bag_error",
    "bag_proportions",
    "bag_r2_score",
    "bag_r2_scorer",
    "bag_target",
    "binary_target",
    "certify",
    "check_fit",
    "fit_grid",
    "fit_means",
    "group_rates",
    "neg_bag_deviance_scorer",
    "neg_bag_error_scorer",
    "neg_size_weighted_bag_error_scorer",
    "sampling_epsilon",
]
