"""Data that do not fit into memory: tables of means, chunks, and clusters."""

from propcvx.bags.means import BagMeans
from propcvx.large.fit import fit_chunks, predict_chunks, score_chunks, split_chunks
from propcvx.large.means import fit_means
from propcvx.large.parquet import parquet_chunks

__all__ = [
    "BagMeans",
    "fit_chunks",
    "fit_means",
    "parquet_chunks",
    "predict_chunks",
    "score_chunks",
    "split_chunks",
]
