"""The methods as scikit-learn classifiers of instances, and what is said of their fits."""

from propcvx.estimators.alter import AlterPropSVM
from propcvx.estimators.bag_table import BagMeans, fit_means
from propcvx.estimators.base import BagClassifier, fit_grid
from propcvx.estimators.class_means import ClassMeansTest, class_means_test
from propcvx.estimators.conv import ConvPropSVM
from propcvx.estimators.ecological import EcologicalRegression
from propcvx.estimators.fit_check import FitCheck, check_fit
from propcvx.estimators.laplacian import LaplacianMeanMap
from propcvx.estimators.means import (
    BagMeanClassifier,
    InvCal,
    MeanMap,
    OneProgramClassifier,
)
from propcvx.estimators.metric import ShareMetric
from propcvx.estimators.printed import printed_alter_psvm, printed_conv_psvm
from propcvx.estimators.second_moments import SecondMoments
from propcvx.estimators.starts import LabelingStart, MethodStart, RandomStart, Start

__all__ = [
    "AlterPropSVM",
    "BagClassifier",
    "BagMeanClassifier",
    "BagMeans",
    "ClassMeansTest",
    "ConvPropSVM",
    "EcologicalRegression",
    "FitCheck",
    "InvCal",
    "LabelingStart",
    "LaplacianMeanMap",
    "MeanMap",
    "MethodStart",
    "OneProgramClassifier",
    "RandomStart",
    "SecondMoments",
    "ShareMetric",
    "Start",
    "check_fit",
    "class_means_test",
    "fit_grid",
    "fit_means",
    "printed_alter_psvm",
    "printed_conv_psvm",
]
