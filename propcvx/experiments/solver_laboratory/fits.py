"""Whole fits of alter-pSVM and conv-pSVM by several solvers, to see whether the answer changes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import groupby, product
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from tqdm import tqdm

from propcvx.errors import InputError, PropCVXError
from propcvx.estimators import AlterPropSVM
from propcvx.experiments.laboratory.data import sample_in_bags
from propcvx.experiments.methods import paper_conv
from propcvx.experiments.solver_laboratory.compare import others
from propcvx.experiments.solver_laboratory.isolated import Limits, run_isolated
from propcvx.experiments.solver_laboratory.measure import REFUSALS
from propcvx.experiments.solver_laboratory.nursery import Tell
from propcvx.experiments.solver_laboratory.rows_file import Row, append_row, key_of, read_rows
from propcvx.experiments.solver_laboratory.working_time import working_seconds
from propcvx.model_selection import BagShuffleSplit
from propcvx.solvers import SOLVERS
from propcvx.solvers.rows import COMMERCIAL, CORE, FURTHER
from propcvx.solvers.table import suggestion

METHODS: Mapping[str, Callable[[FitAt], Any]] = MappingProxyType(
    {
        "alter-pSVM": lambda fit: AlterPropSVM(
            fit.C, 10.0 * fit.C, n_init=3, random_state=fit.seed, **fit.by
        ),
        "conv-pSVM": lambda fit: paper_conv(fit.C, max_cuts=MAX_CUTS, **fit.by),
    }
)
"""The two methods by name."""

MAX_CUTS = 10
"""Cuts of conv-pSVM: so many that a master that errs can choose another one."""

HELD_OUT = 0.3
"""Share of the bags whose instances are predicted and not fitted."""


@dataclass(frozen=True)
class FitAt:
    """A fit: the task of one process.

    Attributes
    ----------
    method : str
        A name in ``METHODS``.
    solver : str
        Who solves all its programs; ``"auto"`` is the default.
    tol : float
        ``solver_tol`` of the estimator.
    data : str
        A real set by name, or ``"generated"``.
    instances : int
        How many are drawn, of which ``HELD_OUT`` of the bags are for the test.
    C : float
    bag_size : int
    seed : int
        Of instances, bags, the split and the starts.
    """

    method: str
    solver: str
    tol: float
    data: str = "generated"
    instances: int = 100
    C: float = 1.0
    bag_size: int = 8
    seed: int = 0

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InputError(f"method must be one of {list(METHODS)}, got {self.method!r}.")
        if self.solver != "auto" and self.solver not in SOLVERS:
            raise InputError(
                f"solver must be 'auto' or one of {sorted(SOLVERS)}, got {self.solver!r}"
                f"{suggestion(self.solver)}."
            )

    @property
    def by(self) -> dict[str, Any]:
        """The estimator's parameters on its solver."""
        return {"solver": self.solver, "solver_tol": self.tol}

    def __call__(self, tell: Tell) -> None:
        """Fit, and tell labels, predictions and their quality."""
        try:
            tell(self._fitted())
        except PropCVXError as error:
            status = next(name for kind, name in REFUSALS if isinstance(error, kind))
            tell({"status": status, "reason": str(error)})

    def _fitted(self) -> Row:
        sample = sample_in_bags(self.data, self.instances, self.bag_size, self.seed)
        splitter = BagShuffleSplit(1, test_size=HELD_OUT, random_state=self.seed)
        train, test = next(splitter.split(sample.X, sample.y))
        start = working_seconds()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = METHODS[self.method](self).fit(sample.X[train], sample.y[train])
        seconds = working_seconds() - start
        predicted = model.predict(sample.X[test])
        return {
            "status": "done",
            "reason": "; ".join(sorted({str(one.message) for one in caught})) or None,
            "objective": float(model.objective_),
            "accuracy": float(np.mean(predicted == sample.labels[test])),
            "labels": [int(label) for label in model.labeling_],
            "predictions": [int(label) for label in predicted],
            "seconds": seconds,
        }


KEY = tuple(field.name for field in fields(FitAt))
"""The columns that say which fit a row is of."""


def compare_fits(
    file: Path,
    solvers: Sequence[str] = ("auto", "clarabel", "osqp", "scs"),
    tols: Sequence[float] = (1e-2, 1e-4, 1e-6, 1e-8, 1e-10),
    methods: Sequence[str] = tuple(METHODS),
    limits: Limits | None = None,
    **where: Any,
) -> list[Row]:
    """Fit with each solver at each tolerance, in a process each, and compare what comes out.

    Parameters
    ----------
    file : Path
        JSON lines, added to as fits end; what is there is not run again.
    solvers : sequence of str
        Names in ``SOLVERS``, or ``"auto"``.
    tols : sequence of float
        ``solver_tol`` of the estimators.
    methods : sequence of str
        Names in ``METHODS``.
    limits : Limits, optional
    **where
        Other fields of ``FitAt``: the data, their number, C, bags, the seed.

    Returns
    -------
    list of dict
        The fields of ``FitAt``; ``status``, as in :func:`compare_solvers` or "done", with the
        ``reason`` or the warnings; ``objective``, ``accuracy`` on held-out bags, ``seconds``,
        ``peak_memory_mb``.  Beside the first solver at its smallest tolerance: the relative
        ``difference`` of the objective; ``labels_agree`` and ``predictions_agree``, the shares of
        instances with the same label, and predicted alike.
    """
    limits = limits or Limits()
    fits = [FitAt(m, s, float(t), **where) for m, s, t in product(methods, solvers, tols)]
    rows = {key_of(row, KEY): row for row in read_rows(file, KEY)}
    missing = [fit for fit in fits if key_of(asdict(fit), KEY) not in rows]
    for fit in tqdm(sorted(missing, key=lambda fit: fit.solver), desc="fits"):
        outcome = run_isolated(fit, limits, _without(fit.solver))
        failed = {"status": outcome.failure, "reason": outcome.reason} if outcome.failure else {}
        row = {**dict.fromkeys(COLUMNS), **outcome.found, **failed, **asdict(fit)}
        append_row(file, row)
        rows[key_of(row, KEY)] = row
    return with_agreement([rows[key_of(asdict(fit), KEY)] for fit in fits])


def _without(solver: str) -> list[str]:
    """Modules of solvers that a fit does not ask."""
    if solver in SOLVERS:
        return others(SOLVERS[solver])
    core = {row.module for row in CORE}
    return sorted({row.module for row in (*FURTHER, *COMMERCIAL)} - core)


COLUMNS = (
    *("status", "reason", "objective", "accuracy", "labels", "predictions", "seconds"),
    "peak_memory_mb",
)
"""The columns beside those of ``FitAt``."""


def with_agreement(rows: Sequence[Row]) -> list[Row]:
    """Rows with what they have in common with the reference."""
    compared: list[Row] = []
    for _, group in groupby(rows, lambda row: row["method"]):
        together = list(group)
        done = [row for row in together if row["status"] == "done"]
        first = [row for row in done if row["solver"] == together[0]["solver"]]
        reference = min(first, key=lambda row: float(row["tol"]), default=None)
        compared += [{**row, **_agreement(row, reference)} for row in together]
    return compared


def _agreement(row: Row, reference: Row | None) -> Row:
    names = {"labels": "labels_agree", "predictions": "predictions_agree"}
    if reference is None or row["status"] != "done":
        return dict.fromkeys([*names.values(), "difference"])
    shares = {
        agree: float(np.mean(np.equal(row[name], reference[name]))) for name, agree in names.items()
    }
    return {**shares, "difference": row["objective"] / reference["objective"] - 1.0}
