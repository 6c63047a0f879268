"""The paper's experiments, run cell by cell into a results file, and reported beside the paper."""

from reproduction.cells import Cell
from reproduction.experiments import EXPERIMENTS, Selection, plan, plan_text
from reproduction.protocol import PRESETS, Protocol
from reproduction.results import read_results, unfinished, write_parquet
from reproduction.run import run_plan

__all__ = [
    "EXPERIMENTS",
    "PRESETS",
    "Cell",
    "Protocol",
    "Selection",
    "plan",
    "plan_text",
    "read_results",
    "run_plan",
    "unfinished",
    "write_parquet",
]
