"""Which solver is the fastest, from kept rows: python solvers.py FILE.

Prints it for each accuracy, and after it the runs without an answer.  The rows are of generated
data, two Gaussian classes that overlap in five features, and of heart, with bags of 8, C = 1, and
eight cuts in the masters; of Linux 6.18 and Python 3.11 on two shared cores of an AMD EPYC, one
thread each.  Times are by the clock, less what the thread waited for a processor that others used:
differences of a few tenths mean nothing.  Limits of time are short, so that a solver without a row
may only be slow.  ``logistic``, ``libsvm`` and ``mkl_interior_point`` were simplified afterwards;
``logistic`` takes about 3 ms at each size since.  The rows were made by
the command `propcvx solvers compare` of an earlier version (commit 7f2e7af3).
"""

import sys

import pandas as pd

GOALS = {"low": 1e-2, "default": 1e-4, "high": 1e-6}
"""What the relative difference from the reference and the violation have to reach."""

PROBLEM = ["data", "program", "instances"]


def fastest(rows: pd.DataFrame, accuracy: str = "high") -> pd.DataFrame:
    """The fastest solver of each problem, and those that take at most twice as long.

    ``ms`` is the time in the solver alone, ``first_ms`` that of the first call with compiling,
    which another solver may win.
    """
    rows = rows[(rows.accuracy == accuracy) & rows.canon_backend.isna() & rows.objective.notna()]
    best = rows.assign(error=rows[["primal_residual", "dual_residual", "duality_gap"]].max(axis=1))
    reference = best.sort_values("error").groupby(PROBLEM).objective.first().rename("best")
    rows = rows.join(reference, on=PROBLEM)
    off = (rows.objective - rows.best).abs() / rows.best.abs().clip(lower=1e-12)
    missed = pd.concat([off, rows.primal_residual.fillna(0.0)], axis=1).max(axis=1)
    right = rows[missed <= GOALS[accuracy]].copy()
    right["ms"] = right.resolve_cold_ms.fillna(right.solve_ms)
    right = right.sort_values("ms")
    least = right.groupby(PROBLEM).ms.transform("min")
    near = right[right.ms <= 2.0 * least].groupby(PROBLEM)
    table = near.agg(fastest=("solver", "first"), ms=("ms", "first"), near=("solver", list))
    first = right.assign(first_ms=right.compile_ms + right.solve_ms).sort_values("first_ms")
    table[["first", "first_ms"]] = first.groupby(PROBLEM)[["solver", "first_ms"]].first()
    table["at most twice as long"] = [", ".join(names[1:]) for names in table.pop("near")]
    return table.reset_index()


if __name__ == "__main__":
    measured = pd.read_json(sys.argv[1], lines=True)
    for goal in GOALS:
        print(
            f"accuracy {goal}",
            fastest(measured, goal).to_string(index=False),
            sep="\n\n",
            end="\n\n",
        )
    failed = measured[measured.objective.isna()]
    print(failed[[*PROBLEM, "solver", "accuracy", "status", "reason"]].to_string(index=False))
