"""The table of benchmarks: one row each, in the file of its group."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from propcvx.experiments.bench import alter, labelings, svm_many
from propcvx.experiments.bench.measure import Benchmark

BENCHMARKS: Mapping[str, Benchmark] = MappingProxyType(
    {row.name: row for row in (*labelings.ROWS, *svm_many.ROWS, *alter.ROWS)}
)
"""Benchmarks by name."""
