"""Benchmarks: ratios of times taken in one run, of answers whose optimality has been checked."""

from propcvx.experiments.bench import bags, fits, steps
from propcvx.experiments.bench.frame import (
    BENCHMARKS,
    Benchmark,
    Case,
    Check,
    Measurement,
    at_most,
    benchmark,
    measure,
)
from propcvx.experiments.bench.run import compare_with, run_benchmarks

__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "Case",
    "Check",
    "Measurement",
    "at_most",
    "bags",
    "benchmark",
    "compare_with",
    "fits",
    "measure",
    "run_benchmarks",
    "steps",
]
