"""A first look: the paper's Figure 1, then real data that ships with scikit-learn."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from joblib import parallel_config
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC
from tqdm import tqdm

from propcvx.arrays import Array, Indices
from propcvx.bags.bags import Bags
from propcvx.bags.metrics import bag_error
from propcvx.bags.model_selection import BagKFold
from propcvx.datasets import BaggedData, make_two_bags, random_bags
from propcvx.errors import InputError
from propcvx.estimators import (
    AlterPropSVM,
    ConvPropSVM,
    InvCal,
    MeanMap,
    printed_alter_psvm,
    printed_conv_psvm,
)
from propcvx.plotting import figure_one, method_comparison
from propcvx.relaxation import CuttingPlanes
from propcvx.text import parameter_text, text_table

BAG_SIZE = 16
N_INIT = 3
"""Random labelings that alter-pSVM starts from: the paper's ten take three times as long."""

PROVED = 1e-6
"""Relative gap below which a labeling is called proved optimal."""

SUPERVISED = "SVM with labels"
"""What is possible: it sees the labels of the training instances."""

WEIGHTS = (0.1, 1.0, 10.0)
GRIDS: Mapping[str, Mapping[str, Sequence[float]]] = {
    "MeanMap": {"lam": WEIGHTS},
    "InvCal": {"C_p": WEIGHTS, "epsilon": (0.0, 0.01, 0.1)},
    "alter-pSVM": {"C": WEIGHTS, "C_p": (1.0, 10.0, 100.0)},
    "conv-pSVM": {"C": WEIGHTS, "epsilon": (0.0, 0.01, 0.1)},
    SUPERVISED: {"C": WEIGHTS},
}
"""The grids that the paper prints."""

FORMATS = {"method": "", "accuracy": ".1%", "bag error": ".3f", "parameters": "", "optimality": ""}
"""The columns that are printed, and their formats."""

Row = dict[str, Any]


def run_demo(output: Path, *, seed: int = 0, n_jobs: int = 1, quick: bool = False) -> None:
    """Print both tables and draw both figures.

    Parameters
    ----------
    output : Path
        The folder for the figures, made where it is not there.
    seed : int
        Seeds the data, the bags, the folds and the random labelings.
    n_jobs : int
        Fits at work at once.
    quick : bool
        One value of each parameter and two folds, to see that everything runs.

    Raises
    ------
    InputError
        If ``output`` cannot be written to; nothing has been computed then.
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=output).close()
    except OSError as error:
        raise InputError(f"output must be a folder that can be written to: {error}.") from error
    demo_two_bags(output / "figure1.png", seed)
    demo_breast_cancer(output / "breast_cancer.png", seed, n_jobs=n_jobs, quick=quick)


def demo_two_bags(picture: Path, seed: int) -> None:
    """Figure 1: two bags whose means mislead, with default parameters."""
    data = make_two_bags(random_state=seed)
    models = {
        "MeanMap": MeanMap(),
        "InvCal": InvCal(),
        "alter-pSVM": AlterPropSVM(random_state=seed),
        "conv-pSVM": ConvPropSVM(relaxation=CuttingPlanes(oracle="sweep")),
    }
    print("Figure 1: two bags of 100 points with 60% and 40% positives, linear kernel\n")
    rows = _run(models, data, data)
    titled = [(f"{row['method']}: {row['accuracy']:.0%} right", row["model"]) for row in rows]
    panels = [
        ("from the means of the bags", dict(titled[:2])),
        ("proportion-SVM", dict(titled[2:])),
    ]
    figure_one(data, panels).savefig(picture, dpi=150)
    print(f"\nPicture: {picture}")


def demo_breast_cancer(picture: Path, seed: int, *, n_jobs: int = 1, quick: bool = False) -> None:
    """The paper's protocol on one split of the Wisconsin breast cancer data."""
    X, benign = load_breast_cancer(return_X_y=True)
    train, test = split_into_bags(X, 1 - 2 * benign, seed)
    print(
        f"\nBreast cancer (Wisconsin): {X.shape[0]} instances, {X.shape[1]} features, positive is "
        f"malignant\nfitted to {len(train.X)} instances in random bags of {BAG_SIZE}, "
        "linear kernel, parameters chosen by bag error on\nheld-out bags; judged on "
        f"{len(test.X)} other instances, and on bags of those; alter-pSVM from {N_INIT} "
        "random labelings\n"
    )
    rows = _run(searches(seed, n_jobs=n_jobs, quick=quick), train, test)
    print("\nOne random split: its luck moves an accuracy by two points or so (see other seeds).")
    bags = Bags.from_target(test.y)
    proportions = {
        row["method"]: (bags.proportions, bags.proportions_of(row["model"].predict(test.X)))
        for row in rows
    }
    accuracies = {row["method"]: row["accuracy"] for row in rows}
    ceiling = (SUPERVISED, accuracies.pop(SUPERVISED))
    title = f"Breast cancer, random bags of {BAG_SIZE}, linear kernel"
    figure = method_comparison(accuracies, ceiling, proportions, len(test.X), title)
    figure.savefig(picture, dpi=150)
    print(f"\nPicture: {picture}")


def split_into_bags(X: Array, labels: Indices, seed: int) -> list[BaggedData]:
    """Two thirds of the instances to fit to and a third to judge by, each in random bags."""
    parts = train_test_split(X, labels, test_size=1 / 3, stratify=labels, random_state=seed)
    return [
        BaggedData.of(features, known, random_bags(known, BAG_SIZE, seed))
        for features, known in zip(parts[:2], parts[2:], strict=True)
    ]


def searches(seed: int, *, n_jobs: int = 1, quick: bool = False) -> dict[str, GridSearchCV]:
    """The methods, each with a search over the grid of the paper; of one value where quick."""
    estimators = {
        "MeanMap": MeanMap(),
        "InvCal": InvCal(),
        "alter-pSVM": printed_alter_psvm(n_init=N_INIT, random_state=seed),
        "conv-pSVM": printed_conv_psvm(),
        SUPERVISED: SVC(kernel="linear"),
    }
    folds = BagKFold(2 if quick else 3, random_state=seed)
    return {
        name: GridSearchCV(
            Pipeline([("scaler", MinMaxScaler((-1, 1))), ("classifier", estimator)]),
            {f"classifier__{key}": v[1:2] if quick else v for key, v in GRIDS[name].items()},
            cv=3 if name == SUPERVISED else folds,
            n_jobs=n_jobs,
        )
        for name, estimator in estimators.items()
    }


def _run(models: Mapping[str, Any], train: BaggedData, test: BaggedData) -> list[Row]:
    """Fit and judge each method; those that ended are printed in any case."""
    rows: list[Row] = []
    try:
        for name, model in tqdm(models.items(), desc="methods", mininterval=0):
            rows.append(_outcome(name, model, train, test))
    finally:
        print(text_table(rows, FORMATS))
        for row in rows:
            for category, message in row["warnings"].items():
                print(f"{row['method']} warned: {category}: {message}", flush=True)
    return rows


def _outcome(name: str, model: Any, train: BaggedData, test: BaggedData) -> Row:
    """A fitted method, how good it is on the test instances, and one warning of each category."""
    with (
        warnings.catch_warnings(record=True, action="always") as caught,
        parallel_config(backend="threading"),  # other processes would print their warnings
    ):
        model.fit(train.X, train.labels if name == SUPERVISED else train.y)
        predicted = model.predict(test.X)
    return {
        "method": name,
        "model": model,
        "accuracy": float(np.mean(predicted == test.labels)),
        "bag error": bag_error(test.y, predicted),
        "parameters": parameter_text(getattr(model, "best_params_", {})) or "default",
        "optimality": _optimality(model),
        "warnings": {
            warning.category.__name__: str(warning.message).splitlines()[0]
            for warning in reversed(caught)
        },
    }


def _optimality(model: Any) -> str:
    """How far the labeling is from the best one, where the method bounds that."""
    classifier = getattr(model, "best_estimator_", [model])[-1]
    bounds = getattr(classifier, "bounds_", None)
    if bounds is None:
        return ""
    return "proved optimal" if bounds.gap <= PROVED else f"within {bounds.gap:.2g} of optimal"
