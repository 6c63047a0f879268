"""Time and memory of fits to chunks, beside reading them: ``python large_data.py FOLDER``.

The chunks are files of 100,000 rows with 20 features, in bags of 1,000, which are made in FOLDER
first.  Each row is measured in a process of its own.  "disk" drops the files from the system's
memory before every pass, so that they are read from the disk.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pandas as pd

from propcvx import AlterPropSVM, InvCal, MeanMap, MethodStart, bag_target, fit_chunks
from propcvx.text import markdown_table

HERE = Path(__file__).parent
ROWS, FEATURES, BAG = 100_000, 20, 1_000
MODELS = {
    "InvCal": InvCal(C_p=1.0),
    "MeanMap": MeanMap(lam=1.0),
    "alter-pSVM": AlterPropSVM(init=MethodStart(InvCal(C_p=1.0), annealing=False)),
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


def chunks(folder: Path, million: int, where: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The chunks (X, y) of so many millions of rows."""
    for number in range(million * 1_000_000 // ROWS):
        with (folder / f"{number}.npy").open("rb") as file:
            if where == "disk":
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            X = np.load(file)
        bags, shares, _ = labels_of(number)
        yield X, bag_target(bags, dict(zip(np.unique(bags).tolist(), shares, strict=True)))


def measure(folder: Path, what: str, million: int, where: str) -> dict[str, object]:
    """One row of the table."""
    import resource  # not on Windows

    passes = []

    def counted() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        passes.append(1)
        return chunks(folder, million, where)

    started, worked = perf_counter(), process_time()
    if what == "reading":
        found = {"answer": sum(X.sum() for X, _ in counted())}
    else:
        model = fit_chunks(MODELS[what], counted)
        found = {"answer": model.objective_, "rounds": len(model.history_)}
    seconds, work = perf_counter() - started, process_time() - worked
    row = {"what": what, "million": million, "where": where, "passes": len(passes), **found}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # Linux has kilobytes
    return row | {"seconds": seconds, "processor": work, "peak_mb": peak}


def table() -> str:
    """What was measured, with the time of a pass beside that of reading alone."""
    rows = pd.read_csv(HERE / "large_data.csv")
    rows["each"] = rows["seconds"] / rows["passes"]
    reading = rows[rows["what"] == "reading"].set_index(["million", "where"])["each"]
    return markdown_table(
        ["", "rows", "files in", "passes", "seconds", "a pass / reading", "processor", "memory"],
        (
            [
                row.what,
                f"$10^{{{6 + int(np.log10(row.million))}}}$",
                row.where,
                str(row.passes),
                f"{row.seconds:.1f}",
                f"{row.each / reading[row.million, row.where]:.2f}",
                f"{row.processor:.1f}",
                f"{row.peak_mb / 1024:.2f} GB",
            ]
            for row in rows.itertuples()
        ),
    )


def pages() -> dict[str, str]:
    """What the page on large data shows."""
    return {"large_data": table()}


def measured(folder: Path, case: tuple[str, int, str]) -> dict[str, object]:
    """The row of a case, from a process of its own."""
    command = [sys.executable, __file__, folder, *map(str, case)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    if len(sys.argv) > 2:
        what, million, where = sys.argv[2:]
        print(json.dumps(measure(folder, what, int(million), where)))
    else:
        for number in range(max(million for _, million, _ in CASES) * 1_000_000 // ROWS):
            make(folder, number)
        rows = [measured(folder, case) for case in CASES]
        pd.DataFrame(rows).to_csv(HERE / "large_data.csv", index=False, float_format="%.6g")
        print(table())
