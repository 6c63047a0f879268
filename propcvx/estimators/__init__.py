"""Methods as scikit-learn classifiers of instances, and estimates of how good their fits are."""

from propcvx.estimators.aggregate import AggregateLogisticRegression
from propcvx.estimators.alter import AlterPropSVM, paper_alter_psvm
from propcvx.estimators.bag_table import BagMeans, fit_means
from propcvx.estimators.base import BagClassifier, fit_grid
from propcvx.estimators.conv import ConvPropSVM, paper_conv_psvm
from propcvx.estimators.ecological import EcologicalRegression
from propcvx.estimators.fit_check import FitCheck, check_fit
from propcvx.estimators.means import BagMeanClassifier, InvCal, MeanMap, OneProgramClassifier
from propcvx.estimators.proportion_scaler import ProportionScaler
from propcvx.estimators.second_moments import SecondMoments

__all__ = [
    "AggregateLogisticRegression",
    "AlterPropSVM",
    "BagClassifier",
    "BagMeanClassifier",
    "BagMeans",
    "ConvPropSVM",
    "EcologicalRegression",
    "FitCheck",
    "InvCal",
    "MeanMap",
    "OneProgramClassifier",
    "ProportionScaler",
    "SecondMoments",
    "check_fit",
    "fit_grid",
    "fit_means",
    "paper_alter_psvm",
    "paper_conv_psvm",
]
