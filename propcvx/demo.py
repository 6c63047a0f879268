"""A first look: the paper's Figure 1, then real data that ships with scikit-learn."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from propcvx.arrays import Array, Indices
from propcvx.bags.metrics import bag_error
from propcvx.datasets import BaggedData, make_two_bags, random_bags
from propcvx.errors import InputError
from propcvx.estimators import AlterPropSVM, ConvPropSVM, EcologicalRegression, InvCal, MeanMap
from propcvx.plotting import figure_one
from propcvx.relaxation import CuttingPlanes
from propcvx.text import text_table

BAG_SIZE = 16
"""Instances of a bag of the breast cancer data."""

PROVED = 1e-6
"""Relative gap below which a labeling is called proved optimal."""

SUPERVISED = "SVM with labels"
"""The fully supervised method, a ceiling for the others."""

FORMATS = {"method": "", "accuracy": ".1%", "bag error": ".3f", "optimality": ""}
"""The columns that are printed, and their formats."""

Row = dict[str, Any]


def run_demo(output: Path, *, seed: int = 0) -> None:
    """Print both tables and draw both figures.

    Parameters
    ----------
    output : Path
        The folder for the figures, made if it is missing.
    seed : int
        Seeds the data, the bags and the splits.

    Raises
    ------
    InputError
        If ``output`` cannot be written to; the check comes first.
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=output).close()
    except OSError as error:
        raise InputError(f"output must be a folder that can be written to: {error}.") from error
    demo_two_bags(output / "figure1.png", seed)
    demo_breast_cancer(seed)


def demo_two_bags(picture: Path, seed: int) -> None:
    """Run Figure 1: two bags whose means mislead, with default parameters."""
    data = make_two_bags(random_state=seed)
    models = {
        "MeanMap": MeanMap(),
        "InvCal": InvCal(),
        "alter-pSVM": AlterPropSVM(random_state=seed),
        "conv-pSVM": ConvPropSVM(relaxation=CuttingPlanes(oracle="sweep")),
    }
    print("Figure 1: two bags of 100 points with 60% and 40% positives, linear kernel\n")
    rows = _run(models, data, data)
    titled = [(f"{row['method']}: accuracy {row['accuracy']:.0%}", row["model"]) for row in rows]
    panels = [
        ("from the means of the bags", dict(titled[:2])),
        ("alter-pSVM and conv-pSVM", dict(titled[2:])),
    ]
    figure_one(data, panels).savefig(picture, dpi=150)
    print(f"\nPicture: {picture}")


def demo_breast_cancer(seed: int) -> None:
    """Run all methods with default parameters on one split of the Wisconsin breast cancer data."""
    X, benign = load_breast_cancer(return_X_y=True)
    train, test = split_into_bags(X, 1 - 2 * benign, seed)
    print(
        f"\nBreast cancer (Wisconsin): {X.shape[0]} instances, {X.shape[1]} features, positive is "
        f"malignant\nfitted to {len(train.X)} instances in random bags of {BAG_SIZE}, "
        f"standardized, linear kernel, nothing tuned;\njudged on {len(test.X)} other instances, "
        "and on bags of those\n"
    )
    estimators = {
        "EcologicalRegression": EcologicalRegression(),
        "MeanMap": MeanMap(),
        "InvCal": InvCal(),
        "alter-pSVM": AlterPropSVM(),
        "conv-pSVM": ConvPropSVM(),
        SUPERVISED: SVC(kernel="linear"),
    }
    models = {name: make_pipeline(StandardScaler(), est) for name, est in estimators.items()}
    _run(models, train, test)
    print("\nOne random split: its luck moves an accuracy by two points or so (see other seeds).")


def split_into_bags(X: Array, labels: Indices, seed: int) -> list[BaggedData]:
    """Split into two thirds of the instances to fit to and a third to test, in random bags."""
    parts = train_test_split(X, labels, test_size=1 / 3, stratify=labels, random_state=seed)
    return [
        BaggedData.from_labels(features, classes, random_bags(classes, BAG_SIZE, seed))
        for features, classes in zip(parts[:2], parts[2:], strict=True)
    ]


def _run(models: Mapping[str, Any], train: BaggedData, test: BaggedData) -> list[Row]:
    """Fit and evaluate each method, and print the results."""
    rows = [_outcome(name, model, train, test) for name, model in models.items()]
    print(text_table(rows, FORMATS))
    for row in rows:
        for category, message in row["warnings"].items():
            print(f"{row['method']} warned: {category}: {message}")
    return rows


def _outcome(name: str, model: Any, train: BaggedData, test: BaggedData) -> Row:
    """Fit a method; return it with its test results and one warning of each category."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        model.fit(train.X, train.labels if name == SUPERVISED else train.y)
        predicted = model.predict(test.X)
    return {
        "method": name,
        "model": model,
        "accuracy": float(np.mean(predicted == test.labels)),
        "bag error": bag_error(test.y, predicted),
        "optimality": _optimality(model),
        "warnings": {
            warning.category.__name__: str(warning.message).splitlines()[0]
            for warning in reversed(caught)
        },
    }


def _optimality(model: Any) -> str:
    """Format the optimality gap of the labeling, if the method bounds it."""
    classifier = model[-1] if isinstance(model, Pipeline) else model
    bounds = getattr(classifier, "bounds_", None)
    if bounds is None:
        return ""
    return "proved optimal" if bounds.gap <= PROVED else f"within {bounds.gap:.2g} of optimal"
