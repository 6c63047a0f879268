"""The paper's experiments, run cell by cell into a results file, and reported beside the paper."""

from propcvx.experiments.reproduce.cells import Cell
from propcvx.experiments.reproduce.experiments import EXPERIMENTS, Experiment, Selection, plan
from propcvx.experiments.reproduce.protocol import PRESETS, Design, MethodOptions, Protocol
from propcvx.experiments.reproduce.run import Summary, run_plan
from propcvx.experiments.reproduce.store import Store

__all__ = [
    "EXPERIMENTS",
    "PRESETS",
    "Cell",
    "Design",
    "Experiment",
    "MethodOptions",
    "Protocol",
    "Selection",
    "Store",
    "Summary",
    "plan",
    "run_plan",
]
