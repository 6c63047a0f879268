"""Bags for studies: data that come in bags, and functions that put data into bags."""

from propcvx.bags.targets import bag_proportions
from propcvx.datasets.bag_generators import (
    BaggedData,
    bags_by_cluster,
    bags_by_feature,
    equal_proportion_bags,
    make_two_bags,
    random_bags,
)
from propcvx.datasets.real import (
    NATURAL_SETS,
    TRUMP_FEATURES,
    load_ballots,
    load_contraception,
    load_guatemala_prenatal,
    load_real,
    load_trump_2016,
    natural_bags,
)

__all__ = [
    "NATURAL_SETS",
    "TRUMP_FEATURES",
    "BaggedData",
    "bag_proportions",
    "bags_by_cluster",
    "bags_by_feature",
    "equal_proportion_bags",
    "load_ballots",
    "load_contraception",
    "load_guatemala_prenatal",
    "load_real",
    "load_trump_2016",
    "make_two_bags",
    "natural_bags",
    "random_bags",
]
