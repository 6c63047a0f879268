"""What the studies share: cells whose rows are kept in a CSV file, labeled sets, lines."""

import warnings
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from time import process_time

import numpy as np
import pandas as pd
from scipy.stats import norm
from sklearn.preprocessing import minmax_scale
from tqdm import tqdm

from propcvx import AlterPropSVM, bag_error
from propcvx.datasets import load_real
from propcvx.datasets.real import LabeledData

HERE = Path(__file__).parent

REAL = ("heart", "vote", "australian")

OVERLAPS = {"gaussians 1%": 0.01, "gaussians 10%": 0.1, "gaussians 25%": 0.25}
"""Generated sets by name, and the error of the best classifier there is."""


def mixed_psvm(**parameters):
    """alter-pSVM from random labelings and two methods, with C = 1: what the studies are about."""
    mixed = {"C": 1.0, "C_p": 10.0, "init": "mixed", "annealing": True, "init_weight": 0.0}
    return AlterPropSVM(**{**mixed, **parameters})


def complete(path, cells, measure):
    """All rows of some cells: what the CSV file has is not measured again.

    ``cells`` are dicts with the same keys, the first columns of the file; ``measure(**cell)`` gives
    the further columns, in rows that are added at once when the cell is done.
    """
    names = list(cells[0])
    there = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=names)
    measured = set(there[names].itertuples(index=False, name=None))
    for cell in tqdm(cells, desc=path.stem, unit="cell"):
        if tuple(cell.values()) not in measured:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                rows = pd.DataFrame([{**cell, **row} for row in measure(**cell)])
            new = not path.exists()
            if path.exists():  # some files have further columns, of earlier versions
                rows = rows.reindex(columns=pd.read_csv(path, nrows=0).columns)
            rows.to_csv(path, mode="a", header=new, index=False, float_format="%.6g")
    wanted = pd.DataFrame(cells)
    return pd.read_csv(path).merge(wanted, on=names)


def judged(model, X, y, X_test, y_test, labels):
    """Accuracy in percent and bag error on a test set, and seconds of processor time of the fit."""
    start = seconds_used()
    model.fit(X, y)
    seconds = seconds_used() - start
    predicted = model.predict(X_test)
    return {
        "accuracy": 100.0 * np.mean(predicted == labels),
        "bag_error": bag_error(y_test, predicted),
        "seconds": seconds,
    }


def seconds_used():
    """Processor time so far, that of ended processes which this one started included."""
    others = getrusage(RUSAGE_CHILDREN)
    return process_time() + others.ru_utime + others.ru_stime


def labeled(name):
    """A set by name, a real one or one of ``OVERLAPS``, each attribute scaled to [-1, 1]."""
    return gaussians(OVERLAPS[name]) if name in OVERLAPS else load_real(name, download=False)


def gaussians(error):
    """Two Gaussian classes of unit covariance that the best classifier confuses at this rate."""
    random = np.random.default_rng(0)
    labels = random.choice((-1.0, 1.0), 500)
    X = random.normal(size=(500, 5))
    X[:, 0] += norm.isf(error) * labels
    return LabeledData(minmax_scale(X, (-1, 1)), labels)


def line(rows, x, y):
    """Mean of a column and its standard error, against another."""
    of = rows.groupby(x)[y]
    error = of.std(ddof=0) / np.sqrt(of.size())
    return of.mean().index.to_numpy(float), of.mean().to_numpy(), error.to_numpy()


def lines(rows, by, x, y):
    """A line for each value of a column, in the order of the file."""
    return {name: line(group, x, y) for name, group in rows.groupby(by, sort=False)}
