"""A first look: the paper's Figure 1, then real data that ships with scikit-learn."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from sklearn.datasets import load_breast_cancer
from tqdm import tqdm

from propcvx.bags import Bags
from propcvx.datasets import make_two_bags
from propcvx.errors import InputError
from propcvx.estimators import AlterPropSVM, ConvPropSVM, InvCal, MeanMap
from propcvx.experiments.evaluation import (
    STEP,
    Method,
    Outcome,
    Sample,
    Task,
    split_into_bags,
    tune_and_evaluate,
)
from propcvx.experiments.methods import PAPER, SUPERVISED, cheaper, printed_method
from propcvx.plotting import figure_one, method_comparison
from propcvx.relaxation import CuttingPlanes
from propcvx.text import parameter_text, text_table

BAG_SIZE = 16
N_INIT = 3
"""Random labelings that alter-pSVM starts from: the paper's ten take three times as long."""

PROVED = 1e-6
"""Relative gap below which a labeling is called proved optimal."""


def run_demo(output: Path, *, seed: int = 0, n_jobs: int = 1, quick: bool = False) -> None:
    """Print both tables and draw both figures.

    Parameters
    ----------
    output : Path
        The folder for the figures, made where it is not there.
    seed : int
        Seeds the data, the bags, the folds and the random labelings.
    n_jobs : int
        Number of methods at work at once.
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
    sample = Sample.in_bags(data.X, data.labels, data.bags)
    methods = [
        Method("MeanMap", MeanMap()),
        Method("InvCal", InvCal()),
        Method("alter-pSVM", AlterPropSVM(random_state=seed)),
        Method("conv-pSVM", ConvPropSVM(relaxation=CuttingPlanes(oracle="sweep"))),
    ]
    print("Figure 1: two bags of 100 points with 60% and 40% positives, linear kernel\n")
    outcomes = _run(methods, Task(sample, sample))
    models = [(f"{one.method}: {one.accuracy:.0%} right", one.model) for one in outcomes]
    panels = [
        ("from the means of the bags", dict(models[:2])),
        ("proportion-SVM", dict(models[2:])),
    ]
    figure_one(data, panels).savefig(picture, dpi=150)
    print(f"\nPicture: {picture}")


def demo_breast_cancer(picture: Path, seed: int, *, n_jobs: int = 1, quick: bool = False) -> None:
    """The paper's protocol on one split of the Wisconsin breast cancer data."""
    X, benign = load_breast_cancer(return_X_y=True)
    task = split_into_bags(X, 1 - 2 * benign, BAG_SIZE, test_size=1 / 3, random_state=seed)
    n_test = len(task.test.labels)
    methods = [printed_method(name, seed) for name in (*PAPER, SUPERVISED)]
    for method in methods:
        if isinstance(method.estimator, AlterPropSVM):
            method.estimator.set_params(n_init=N_INIT)
    methods = [cheaper(method) for method in methods] if quick else methods
    print(
        f"\nBreast cancer (Wisconsin): {X.shape[0]} instances, {X.shape[1]} features, positive is "
        f"malignant\nfitted to {len(task.train.labels)} instances in random bags of {BAG_SIZE}, "
        "linear kernel, parameters chosen by bag error on\nheld-out bags; judged on "
        f"{n_test} other instances, and on bags of those; alter-pSVM from {N_INIT} "
        "random labelings\n"
    )
    outcomes = _run(methods, task, n_jobs=n_jobs, n_splits=2 if quick else 3, random_state=seed)
    print("\nOne random split: its luck moves an accuracy by two points or so (see other seeds).")
    bags = Bags.from_target(task.test.y)
    proportions = {
        one.method: (bags.proportions, bags.proportions_of(one.predictions)) for one in outcomes
    }
    accuracies = {one.method: one.accuracy for one in outcomes}
    ceiling = (SUPERVISED, accuracies.pop(SUPERVISED))
    title = f"Breast cancer, random bags of {BAG_SIZE}, linear kernel"
    figure = method_comparison(accuracies, ceiling, proportions, n_test, title)
    figure.savefig(picture, dpi=150)
    print(f"\nPicture: {picture}")


def _run(
    methods: Sequence[Method], task: Task, *, n_jobs: int = 1, **options: Any
) -> list[Outcome]:
    """Outcomes in the order of the methods; their table is printed even when interrupted.

    alter-pSVM, which takes longest, begins first.
    """
    outcomes: dict[str, Outcome] = {}
    longest_first = sorted(methods, key=lambda one: not isinstance(one.estimator, AlterPropSVM))
    evaluated = delayed(tune_and_evaluate)
    parallel = Parallel(n_jobs, batch_size=1, return_as="generator_unordered")
    try:
        done = parallel(evaluated(method, task, **options) for method in longest_first)
        for outcome in tqdm(done, desc="methods", total=len(methods), mininterval=0):
            outcomes[outcome.method] = outcome
    finally:
        in_order = [outcomes[one.name] for one in methods if one.name in outcomes]
        _print_outcomes(in_order)
    return in_order


def _print_outcomes(outcomes: Sequence[Outcome]) -> None:
    """A table, and the warnings below it."""
    rows = [
        {
            "method": outcome.method,
            "accuracy": f"{outcome.accuracy:.1%}",
            "bag error": f"{outcome.bag_error:.3f}",
            "parameters": parameter_text(outcome.parameters) or "default",
            "optimality": _optimality(outcome),
        }
        for outcome in outcomes
    ]
    print(text_table(rows))
    for outcome in outcomes:
        for warning in outcome.warnings:
            print(f"{outcome.method} warned: {warning}", flush=True)


def _optimality(outcome: Outcome) -> str:
    bounds = getattr(outcome.model[STEP], "bounds_", None)
    if bounds is None:
        return ""
    return "proved optimal" if bounds.gap <= PROVED else f"within {bounds.gap:.2g} of optimal"
