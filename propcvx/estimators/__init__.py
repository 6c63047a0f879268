"""The four methods as scikit-learn classifiers of instances."""

from propcvx.estimators.alter import AlterPropSVM
from propcvx.estimators.base import BagClassifier
from propcvx.estimators.certify import certify
from propcvx.estimators.conv import ConvPropSVM
from propcvx.estimators.grid import fit_grid
from propcvx.estimators.inv_cal import InvCal
from propcvx.estimators.mean_map import MeanMap
from propcvx.estimators.starts import LabelingStart, MethodStart, RandomStart, Start

__all__ = [
    "AlterPropSVM",
    "BagClassifier",
    "ConvPropSVM",
    "InvCal",
    "LabelingStart",
    "MeanMap",
    "MethodStart",
    "RandomStart",
    "Start",
    "certify",
    "fit_grid",
]
