"""Rates of groups: bounds that always hold, estimates with intervals."""

from propcvx.groups.rates import GroupRates, group_rates

__all__ = ["GroupRates", "group_rates"]
