"""Data that do not fit into memory: tables of means, and what :mod:`propcvx.dask` is made of."""

from propcvx.large.means import BagMeans, fit_means

__all__ = ["BagMeans", "fit_means"]
