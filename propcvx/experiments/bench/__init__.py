"""Benchmarks: ratios of times taken in one run, of answers whose optimality has been checked."""

from propcvx.experiments.bench.measure import (
    Benchmark,
    Check,
    Measurement,
    Setting,
    at_most,
    interleaved,
    measure,
)
from propcvx.experiments.bench.run import compare_with, run_benchmarks
from propcvx.experiments.bench.table import BENCHMARKS

__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "Check",
    "Measurement",
    "Setting",
    "at_most",
    "compare_with",
    "interleaved",
    "measure",
    "run_benchmarks",
]
