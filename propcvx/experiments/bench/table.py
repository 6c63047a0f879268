"""The table of benchmarks: one row each, in the file of its group."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from propcvx.experiments.bench import (
    alter,
    grid,
    imports,
    labelings,
    relaxation,
    svm,
    svm_many,
)
from propcvx.experiments.bench.measure import Benchmark

_GROUPS = (labelings, svm, svm_many, alter, grid, relaxation, imports)

BENCHMARKS: Mapping[str, Benchmark] = MappingProxyType(
    {row.name: row for group in _GROUPS for row in group.ROWS}
)
"""Benchmarks by name."""
