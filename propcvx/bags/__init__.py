"""Targets, bags and their proportions, means of bags, splitters of bags, errors of bags."""

from propcvx.bags.bags import Bags, sampling_epsilon
from propcvx.bags.targets import bag_proportions, bag_target

__all__ = ["Bags", "bag_proportions", "bag_target", "sampling_epsilon"]
