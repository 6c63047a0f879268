"""The quadratic programs of the SVM and of InvCal as a test set for qpbenchmark."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from propcvx.errors import InputError
from propcvx.experiments.solver_laboratory.matrix import cells_of
from propcvx.experiments.solver_laboratory.programs import ProgramAt
from propcvx.programs import Program

NAME = "propcvx_qpbenchmark"
"""Of both files; qpbenchmark takes the name of the class from it."""

QPS = ("svm_dual", "svm_dual_quadratic_form", "svm_primal", "inv_cal_dual", "inv_cal_primal")
"""Programs of the test set."""

SIZES = (50, 100, 270)


def write_qp_test_set(
    folder: Path, sizes: Sequence[int] | None = None, data: str = "generated"
) -> list[str]:
    """Write the test set: a file of problems and the class that reads it.

    ``qpbenchmark --results-path FILE.csv FOLDER/propcvx_qpbenchmark.py run`` runs it.

    Parameters
    ----------
    folder : Path
        It must be there.
    sizes : sequence of int, optional
        Instances; 50, 100 and 270 where not given.
    data : str
        A real set by name, or ``"generated"``.

    Returns
    -------
    list of str
        Names of the problems.

    Raises
    ------
    InputError
        If the folder is not there, or pandas or pyarrow are not installed.
    """
    missing = [name for name in ("pandas", "pyarrow") if find_spec(name) is None]
    if missing:
        raise InputError(
            f"the test set takes {' and '.join(missing)}, not installed: "
            "pip install 'propcvx[experiments]'."
        )
    if not folder.is_dir():
        raise InputError(f"the folder {folder} is not there.")
    import pandas

    cells = cells_of(QPS, sizes or SIZES, data)
    frame = pandas.DataFrame([_flat(cell) for cell in cells])
    frame.to_parquet(folder / f"{NAME}.parquet", engine="pyarrow", index=False)
    source = files(__package__).joinpath("qpbenchmark_class.txt").read_text(encoding="utf-8")
    (folder / f"{NAME}.py").write_text(source, encoding="utf-8")
    return list(frame["name"])


def qp_of(program: Program) -> dict[str, Any]:
    r"""A quadratic program as matrices, as CVXPY hands it to solvers.

    .. math::

        \min_x \tfrac12 x^\top P x + q^\top x \quad \text{s.t. } G x \le h, \; A x = b

    Parameters
    ----------
    program : Program
        Its parameters set.  Of one that is maximised, the negative is minimised.

    Returns
    -------
    dict of str to array
        ``P``, ``q``, ``G``, ``h``, ``A``, ``b``, dense; None for constraints that it has not.
    """
    found, _, _ = program.problem.get_problem_data("OSQP")
    parts = {"P": found["P"].toarray(), "q": np.asarray(found["q"])}
    for matrix, side, names in (("F", "G", ("G", "h")), ("A", "b", ("A", "b"))):
        there = found[matrix].shape[0] > 0
        values = (found[matrix].toarray(), np.asarray(found[side])) if there else (None, None)
        parts |= dict(zip(names, values, strict=True))
    return parts


def _flat(cell: ProgramAt) -> dict[str, Any]:
    """The row of a problem, its arrays flat as Parquet has them."""
    arrays = {name: None if a is None else a.ravel() for name, a in qp_of(cell()).items()}
    return {**arrays, "lb": None, "ub": None, "name": f"{cell.program}_{cell.instances}"}
