"""The command ``propcvx relax``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import propcvx
from propcvx.errors import InputError
from propcvx.laboratory.arguments import SEED_HELP, count, literal, seed, several
from propcvx.laboratory.programs import sample_in_bags
from propcvx.laboratory.relaxations import KINDS, Row, compare_relaxations
from propcvx.plotting import bounds_over_time, interval_comparison
from propcvx.text import cell_text, text_table

FORMATS = {
    **{"kind": "", "loss": "", "lower": ".5g", "upper": ".5g", "gap": ".2%", "best_gap": ".2%"},
    **{"seconds": ".1f", "cuts": "d", "rounds": "d", "nodes": "d", "bag_error": ".3f"},
    **{"accuracy": ".1%", "status": ""},
}
"""The columns that are printed, and how."""


def add_relax(commands: Any) -> None:
    """Add the command to those of ``propcvx``."""
    relax = commands.add_parser(
        "relax",
        help="relaxations and bounds side by side: one table",
        description="Values between commas make one comparison each. Kinds: " + ", ".join(KINDS),
    )
    relax.set_defaults(parser=relax, run=_relax)
    add, sets = relax.add_argument, "real sets, as PROPCVX_DATA says, or 'generated' (%(default)s)"
    add("--data", type=several(str), default="generated", help=sets)
    add("--instances", type=several(count), default="48", help="how many are drawn (%(default)s)")
    add("--C", type=several(float), default="0.1", help="weight of the hinge loss (%(default)s)")
    add("--compare", type=several(str), default="all", help="kinds, see above (%(default)s)")
    add("--bag-size", type=count, default=8, help="instances of a bag (%(default)s)")
    add("--epsilon", type=float, default=0.0, help="of the proportions (%(default)s)")
    add("--kernel", default="linear", help="linear, rbf, ... (%(default)s)")
    add("--gamma", type=literal, default="scale", help="of the kernel (%(default)s)")
    add("--time-limit", type=float, default=60.0, help="seconds for each kind (%(default)s)")
    add("--seed", type=seed, default=0, help=SEED_HELP)
    add("--json", type=Path, help="file to keep everything in")
    add("--figure", type=Path, help="file for a picture of the intervals")
    add("--curves", type=Path, help="file for a picture of the lower bounds over time")


def _relax(chosen: argparse.Namespace) -> None:
    """Compare on each problem; print, keep and draw as soon as it is done."""
    kept: Row = {"propcvx": propcvx.__version__, "time_limit": chosen.time_limit, "comparisons": []}
    panels: list[tuple[str, list[Row]]] = []
    for data, instances, C in product(chosen.data, chosen.instances, chosen.C):
        sample = sample_in_bags(data, instances, chosen.bag_size, chosen.seed)
        posed = {name: getattr(chosen, name) for name in ("epsilon", "kernel", "gamma")}
        rows = compare_relaxations(
            sample.X,
            sample.y,
            C,
            labels=sample.labels,
            kinds="all" if chosen.compare == ["all"] else chosen.compare,
            time_limit=chosen.time_limit,
            random_state=chosen.seed,
            verbose=True,
            **posed,
        )
        problem = {"data": data, "instances": instances, "C": C, "bag_size": chosen.bag_size}
        problem |= {**posed, "seed": chosen.seed}
        heading = problem_text(problem)
        print(f"{heading}\n\n{comparison_text(rows)}\n", flush=True)
        kept["comparisons"].append({"problem": problem, "rows": rows})
        panels.append((heading, rows))
        try:
            if chosen.json is not None:
                chosen.json.write_text(json.dumps(kept, indent=1, allow_nan=False) + "\n")
            if chosen.figure is not None:
                interval_comparison(panels).savefig(chosen.figure, dpi=150)
            if chosen.curves is not None:
                bounds_over_time(panels).savefig(chosen.curves, dpi=150)
        except (OSError, ValueError) as error:
            raise InputError(f"the comparison cannot be written: {error}.") from error
        if rows[-1]["status"] == "interrupted":
            raise KeyboardInterrupt


def problem_text(problem: Mapping[str, Any]) -> str:
    """What is compared on: random instances of a data set in random bags."""
    pattern = "{data}, N={instances}, bags of {bag_size}, C={C:g}, epsilon={epsilon:g}"
    if problem["kernel"] != "linear":
        pattern += ", {kernel} kernel, gamma={gamma}"
    return pattern.format(**problem)


def comparison_text(rows: Sequence[Row]) -> str:
    """Rows as text, with the best upper bound and the reasons of those that failed below."""
    lines = [{name: cell_text(row[name], FORMATS[name]) for name in FORMATS} for row in rows]
    best = cell_text(rows[0]["best_upper"], ".6g")
    notes = [f"  {row['kind']}: {row['reason']}" for row in rows if row["reason"]]
    head = f"\nbest upper bound {best}; best_gap is the gap of a lower bound to it"
    return "\n".join([text_table(lines), head, *notes])
