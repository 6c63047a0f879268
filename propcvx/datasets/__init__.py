"""Bags for studies: data with bags of their own, and ways to put data into bags."""

from propcvx.datasets.bag_generators import proportions_of, random_bags
from propcvx.datasets.real import load_real
from propcvx.datasets.toy import BaggedData, make_two_bags

__all__ = ["BaggedData", "load_real", "make_two_bags", "proportions_of", "random_bags"]
