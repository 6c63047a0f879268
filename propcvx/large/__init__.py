"""Data that do not fit into memory: tables of means, and what :mod:`propcvx.dask` is made of."""

from propcvx.bags.means import BagMeans
from propcvx.large.means import fit_means

__all__ = ["BagMeans", "fit_means"]
