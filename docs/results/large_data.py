"""Time and memory of fits to chunks, beside reading them: ``python large_data.py FOLDER``.

The chunks are files of 100,000 rows with 20 features, in bags of 1,000, which are made in FOLDER
first.  Each row is measured in a process of its own.  "disk" drops the files from the system's
memory before every pass, so that they are read from the disk.
"""

import os
import resource
import subprocess
import sys
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pandas as pd

from propcvx import AlterPropSVM, InvCal, MeanMap, MethodStart, bag_target, fit_chunks

HERE = Path(__file__).parent
ROWS, FEATURES, BAG = 100_000, 20, 1_000
MODELS = {
    "InvCal": InvCal(),
    "MeanMap": MeanMap(),
    "alter-pSVM": AlterPropSVM(init=MethodStart("inv_cal", annealing=False)),
}
CASES = [
    (what, million, where)
    for where, million in (("memory", 10), ("disk", 10), ("disk", 100))
    for what in ("reading", *MODELS)
    if million == 10 or what in ("reading", "InvCal")
]


def labels_of(number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The bags of a file, their shares, and the labels."""
    shares = np.random.default_rng(number).beta(2, 3, ROWS // BAG).round(3)
    inside = np.tile(np.arange(BAG), ROWS // BAG)
    labels = np.where(inside < np.rint(np.repeat(shares, BAG) * BAG), 1, -1)
    return np.arange(ROWS) // BAG + number * (ROWS // BAG), shares, labels


def make(folder: Path, number: int) -> None:
    """Write one file, unless it is there."""
    path = folder / f"{number}.npy"
    if not path.exists():
        noise = np.random.default_rng([1, number]).normal(size=(ROWS, FEATURES))
        np.save(path, noise + 0.3 * labels_of(number)[2][:, None])


def chunks(folder: Path, million: int, where: str) -> object:
    """The chunks (X, y) of so many millions of rows."""

    def read() -> object:
        for number in range(million * 1_000_000 // ROWS):
            with (folder / f"{number}.npy").open("rb") as file:
                if where == "disk":
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                X = np.load(file)
            bags, shares, _ = labels_of(number)
            yield X, bag_target(bags, dict(zip(np.unique(bags).tolist(), shares, strict=True)))

    return read


def measure(folder: Path, what: str, million: int, where: str) -> dict[str, object]:
    """One row of the table."""
    passes = []

    def counted() -> object:
        passes.append(1)
        return chunks(folder, million, where)()

    started, worked = perf_counter(), process_time()
    if what == "reading":
        total = sum(X.sum() for X, _ in counted())
        found = {"answer": total}
    else:
        model = fit_chunks(MODELS[what], counted)
        found = {"answer": model.objective_, "rounds": len(model.history_)}
    seconds, work = perf_counter() - started, process_time() - worked
    row = {"what": what, "million": million, "where": where, "passes": len(passes), **found}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # Linux has kilobytes
    return row | {"seconds": seconds, "processor": work, "peak_mb": peak}


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    if len(sys.argv) > 2:
        what, million, where = sys.argv[2:]
        print(pd.DataFrame([measure(folder, what, int(million), where)]).to_json(orient="records"))
    else:
        for number in range(1000):
            make(folder, number)
        for case in CASES:
            subprocess.run([sys.executable, __file__, folder, *map(str, case)], check=True)
