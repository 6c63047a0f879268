"""Does an inaccurate solver change the answer? Fits at many tolerances, kept in a CSV file.

``python solver_fits.py heart.csv heart 270`` prints for each solver the tolerance from which on no
label and no prediction changes; ``generated`` and 100 are the arguments for generated data.  On
heart they are 1e-2 to 1e-3 for alter-pSVM and 1e-2 to 1e-4 for conv-pSVM, on generated data 1e-2
but for SCS with conv-pSVM (1e-3) and ``newton`` (1e-5).
"""

import sys
import warnings
from itertools import product
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from program_examples import sample_in_bags

from propcvx import ConvPropSVM, CuttingPlanes
from propcvx.bags.model_selection import BagShuffleSplit
from propcvx.errors import PropCVXError
from propcvx.estimators import printed_alter_psvm

SOLVERS = ("auto", "clarabel", "osqp", "scs", "piqp", "ecos", "newton", "mkl_interior_point")
TOLS = [10.0**-digits for digits in range(2, 11)]
METHODS = {
    "alter-pSVM": printed_alter_psvm(n_init=3, random_state=0),
    "conv-pSVM": ConvPropSVM(1.0, relaxation=CuttingPlanes(oracle="coordinate", max_cuts=10)),
}


def main(file: Path, data: str, instances: int) -> None:
    """Fit to seven tenths of the bags, predict the others; what the file has is left out."""
    sample = sample_in_bags(data, instances, 8, 0)
    splitter = BagShuffleSplit(1, test_size=0.3, random_state=0)
    train, test = next(splitter.split(sample.X, sample.y))
    done = pd.read_csv(file) if file.exists() else pd.DataFrame(columns=["method", "solver", "tol"])
    there = set(zip(done.method, done.solver, done.tol, strict=True))
    for (name, method), solver, tol in product(METHODS.items(), SOLVERS, TOLS):
        if (name, solver, tol) in there:
            continue
        row, start = {"method": name, "solver": solver, "tol": tol}, process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                method.set_params(solver=solver, solver_tol=tol)
                method.fit(sample.X[train], sample.y[train])
        except PropCVXError as error:
            row |= {"status": str(error)}
        else:
            labels = np.append(method.labeling_, method.predict(sample.X[test]))
            row |= {
                "status": "done",
                "objective": method.objective_,
                "labels": "".join("+" if y > 0 else "-" for y in labels),
            }
        row |= {"seconds": process_time() - start}
        columns = ["method", "solver", "tol", "status", "objective", "labels", "seconds"]
        frame = pd.DataFrame([row], columns=columns)
        frame.to_csv(file, mode="a", header=not file.exists(), index=False)
    rows = pd.read_csv(file).query("status == 'done'").sort_values("tol")
    last = rows.groupby(["method", "solver"]).labels.transform("first")
    same = (rows.labels == last).groupby([rows.method, rows.solver]).cummin()
    unchanged = rows[same & (rows.tol > min(TOLS))].groupby(["method", "solver"]).tol.max()
    print(unchanged.rename("unchanged from").to_string())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
