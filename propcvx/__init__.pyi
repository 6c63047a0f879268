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
    bag_r2,
    bag_r2_score,
    neg_bag_deviance,
    neg_bag_error,
    neg_bag_error_by_size,
)
from .bags.model_selection import BagKFold, BagShuffleSplit, RepeatedBagKFold
from .bags.targets import (
    bag_target,
    class_proportions_of,
    one_class_target,
    proportions_of,
)
from .bounds import certify
from .estimators import (
    AlterPropSVM,
    BagMeans,
    ConvPropSVM,
    EcologicalRegression,
    InvCal,
    MeanMap,
    SecondMoments,
    ShareMetric,
    check_fit,
    fit_grid,
    fit_means,
)
from .groups import group_shares
from .relaxation import CuttingPlanes

__version__: str

__all__ = [
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
    "RepeatedBagKFold",
    "SecondMoments",
    "ShareMetric",
    "bag_correlation",
    "bag_deviance",
    "bag_error",
    "bag_r2",
    "bag_r2_score",
    "bag_target",
    "certify",
    "check_fit",
    "class_proportions_of",
    "fit_grid",
    "fit_means",
    "group_shares",
    "neg_bag_deviance",
    "neg_bag_error",
    "neg_bag_error_by_size",
    "one_class_target",
    "proportions_of",
    "sampling_epsilon",
]
