"""The paper's experiments, run cell by cell into a results file, and reported beside the paper."""

from propcvx.experiments.reproduce.cells import Cell
from propcvx.experiments.reproduce.experiments import EXPERIMENTS, Selection, plan, plan_text
from propcvx.experiments.reproduce.protocol import PRESETS, Protocol
from propcvx.experiments.reproduce.results import read_results, unfinished, write_parquet
from propcvx.experiments.reproduce.run import run_plan

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
