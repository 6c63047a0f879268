"""Time and memory of fits with Dask, beside reading alone: ``python large_data.py FOLDER``.

The collections are Parquet files of 100,000 rows with 20 features, in bags of 1,000, which are made
in FOLDER first.  Each row of the table is measured in a process of its own, with as many threads of
Dask as there are cores, and one thread of BLAS in each.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pandas as pd

HERE = Path(__file__).parent
ROWS, FEATURES, BAG = 100_000, 20, 1_000
COLUMNS = [f"x{j}" for j in range(FEATURES)]
CASES = [(what, 1) for what in ("reading", "InvCal", "MeanMap", "AlterPropSVM")]
CASES += [("reading", 10), ("InvCal", 10)]


def make(folder: Path, number: int) -> None:
    """Write one file, unless it is there."""
    path = folder / f"{number:04d}.parquet"
    if not path.exists():
        inside, bags = np.tile(np.arange(BAG), ROWS // BAG), np.arange(ROWS) // BAG
        shares = np.random.default_rng(number).beta(2, 3, ROWS // BAG).round(3)[bags]
        labels = np.where(inside < np.rint(shares * BAG), 1, -1)
        noise = np.random.default_rng([1, number]).normal(size=(ROWS, FEATURES))
        rows = pd.DataFrame(noise + 0.3 * labels[:, None], columns=COLUMNS)
        rows.assign(bag=bags + number * (ROWS // BAG), share=shares).to_parquet(path)


def measure(folder: Path, what: str, million: int) -> dict[str, object]:
    """One row of the table."""
    import resource  # not on Windows

    import dask.dataframe as dd

    import propcvx.dask
    from propcvx import InvCal, MethodStart

    parameters = {
        "InvCal": {"C_p": 1.0},
        "MeanMap": {"lam": 1.0},
        "AlterPropSVM": {"init": MethodStart(InvCal(C_p=1.0), annealing=False)},
    }
    files = sorted(folder.glob("*.parquet"))[: million * 1_000_000 // ROWS]
    frame = dd.read_parquet([str(file) for file in files])
    features, bags = frame[COLUMNS], frame[["bag", "share"]]
    features.sum().compute()  # so that all libraries are loaded, and the files in memory
    started, worked = perf_counter(), process_time()
    if what == "reading":
        sums = [float(features.sum().sum().compute()) for _ in range(5)]
        answers = {"passes": len(sums), "answer": sums[0]}
    else:
        model = getattr(propcvx.dask, what)(**parameters[what]).fit(features, bags)
        rounds = len(model.history_)
        answers = {"passes": model.n_passes_, "answer": model.objective_, "rounds": rounds}
    seconds, work = perf_counter() - started, process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # Linux has kilobytes
    row = {"what": what, "million": million, "partitions": len(files), **answers}
    return row | {"seconds": seconds, "processor": work, "peak_mb": peak}


def table() -> str:
    """What was measured, with the time of a pass beside that of reading alone."""
    from shown import markdown_table  # where pages are made, docs/ is in the path

    rows = pd.read_csv(HERE / "large_data.csv")
    rows["each"] = rows["seconds"] / rows["passes"]
    reading = rows[rows["what"] == "reading"].set_index("million")["each"]
    return markdown_table(
        ["", "rows", "passes", "seconds", "a pass / reading", "processor", "memory"],
        (
            [
                row.what,
                f"$10^{6 + int(np.log10(row.million))}$",
                str(row.passes),
                f"{row.seconds:.1f}",
                f"{row.each / reading[row.million]:.2f}",
                f"{row.processor:.1f}",
                f"{row.peak_mb / 1024:.2f} GB",
            ]
            for row in rows.itertuples()
        ),
    )


def pages() -> dict[str, str]:
    """What the page on large data shows."""
    return {"large_data": table()}


def measured(folder: Path, case: tuple[str, int]) -> dict[str, object]:
    """The row of a case, from a process of its own."""
    command = [sys.executable, __file__, folder, *map(str, case)]
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    answer = subprocess.run(command, check=True, capture_output=True, env=os.environ | threads)
    return json.loads(answer.stdout)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    if len(sys.argv) > 2:
        what, million = sys.argv[2:]
        print(json.dumps(measure(folder, what, int(million))))
    else:
        for number in range(max(million for _, million in CASES) * 1_000_000 // ROWS):
            make(folder, number)
        rows = [measured(folder, case) for case in CASES]
        pd.DataFrame(rows).to_csv(HERE / "large_data.csv", index=False, float_format="%.6g")
        print(table())
