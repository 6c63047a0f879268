"""Rates of groups: bounds that always hold, estimates with intervals."""

from propcvx.groups.shares import GroupShares, group_shares

__all__ = ["GroupShares", "group_shares"]
