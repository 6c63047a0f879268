"""Learning with label proportions: the programs, loops and classifiers of pSVM (ICML 2013)."""

from propcvx.bags.bags import Bags, sampling_epsilon
from propcvx.bags.metrics import (
    bag_correlation,
    bag_deviance,
    bag_error,
    bag_r2,
    bag_r2_score,
    neg_bag_deviance,
    neg_bag_error,
    neg_bag_error_by_size,
)
from propcvx.bags.model_selection import BagKFold, BagShuffleSplit, RepeatedBagKFold
from propcvx.bags.targets import (
    bag_target,
    class_proportions_of,
    one_class_target,
    proportions_of,
)
from propcvx.bounds import certify
from propcvx.estimators import (
    AlterPropSVM,
    ConvPropSVM,
    EcologicalRegression,
    InvCal,
    LabelingStart,
    LaplacianMeanMap,
    MeanMap,
    MethodStart,
    RandomStart,
    SecondMoments,
    ShareMetric,
    check_fit,
    class_means_test,
    fit_grid,
)
from propcvx.groups import group_shares
from propcvx.large import BagMeans, fit_means
from propcvx.relaxation import CuttingPlanes

__version__ = "0.1.0"

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
    "LabelingStart",
    "LaplacianMeanMap",
    "MeanMap",
    "MethodStart",
    "RandomStart",
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
    "class_means_test",
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
