"""What the public entry points answer on fixed seeds, to be compared before and after a change.

``python tests/answers.py before.json`` writes the answers; run it again after the change with
another name, and ``python tests/answers.py before.json after.json`` lists what differs.  It uses
the names of ``propcvx`` and ``propcvx.programs`` alone, so it runs on both sides of a move.  The
real sets are left out where their folder (``PROPCVX_DATA``, see CONTRIBUTING.md) is missing.
"""

import csv
import inspect
import json
import os
import re
import sys
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.base import clone

import propcvx
from propcvx import programs

SEEDS = (0, 1)
ORACLES = ("coordinate", "coordinate_features", "ascent", "several", "eigenvalue", "sweep")
ROUNDINGS = ("mean", "best", "polished")
METHODS = {
    "MeanMap": propcvx.MeanMap(),
    "InvCal": propcvx.InvCal(),
    "InvCal, scaled epsilon": propcvx.InvCal(epsilon="sampling", scaled_epsilon=True),
    "AggregateLogisticRegression": propcvx.AggregateLogisticRegression(),
    "EcologicalRegression": propcvx.EcologicalRegression(),
    "SecondMoments": propcvx.SecondMoments(),
    "alter-pSVM": propcvx.AlterPropSVM(n_init=2, random_state=0),
    "alter-pSVM, logistic": propcvx.AlterPropSVM(
        init="inv_cal", instance_loss="logistic", random_state=0
    ),
    "conv-pSVM": propcvx.ConvPropSVM(epsilon="rounding"),
    "conv-pSVM, five cuts": propcvx.ConvPropSVM(
        epsilon="rounding", relaxation=propcvx.CuttingPlanes(max_cuts=5)
    ),
}
FURTHER = {
    "alter-pSVM, mixed": propcvx.AlterPropSVM(init="mixed", n_init=2, random_state=0),
    "alter-pSVM, as in the paper": propcvx.AlterPropSVM(
        init="random", n_init=3, init_weight=0.0, bag_weights="uniform", random_state=0
    ),
    "alter-pSVM, squares": propcvx.AlterPropSVM(
        instance_loss="squared_hinge", proportion_loss="squared", n_init=1, random_state=0
    ),
    **{
        f"conv-pSVM, {master}": propcvx.ConvPropSVM(
            epsilon="rounding", relaxation=propcvx.CuttingPlanes(max_cuts=3, master=master)
        )
        for master in ("epigraph", "group", "reduced_gradient")
    },
    **{
        f"conv-pSVM, {oracle}": propcvx.ConvPropSVM(
            epsilon="rounding", relaxation=propcvx.CuttingPlanes(max_cuts=3, oracle=oracle)
        )
        for oracle in ORACLES
    },
    **{
        f"conv-pSVM, {rounding}": propcvx.ConvPropSVM(
            epsilon="rounding", rounding=rounding, relaxation=propcvx.CuttingPlanes(max_cuts=5)
        )
        for rounding in ROUNDINGS
    },
    "conv-pSVM, lifted": propcvx.ConvPropSVM(epsilon="rounding", relaxation="lifted"),
    "conv-pSVM, diffrac": propcvx.ConvPropSVM(epsilon="rounding", relaxation="diffrac"),
}
"""Methods of which one problem of each form is enough."""
KERNELS = ("linear", "rbf", "poly")
ROOT = Path(__file__).resolve().parents[1]
FORMS = ("plain", "known labels", "missing shares", "weights", "three classes")


def problem(seed, form):
    """Instances, target and weights in a form of what can be known."""
    random = np.random.RandomState(seed)
    bags = random.permutation(np.repeat(np.arange(6), 5))
    labels = random.choice((-1, 1), size=30)
    X = random.normal(size=(30, 3)) + 1.5 * labels[:, None] * np.array([1.0, 0.5, 0.0])
    shares = propcvx.bag_proportions(labels, bags)
    weights = random.uniform(0.2, 2.0, size=30) if form == "weights" else None
    if form == "three classes":
        names = np.where(labels > 0, "a", np.where(X[:, 2] > 0, "b", "c"))
        return X, propcvx.bag_target(bags, propcvx.bag_proportions(names, bags)), weights
    known = np.where(random.uniform(size=30) < 0.2, labels, 0) if form == "known labels" else None
    given = {bag: None if form == "missing shares" and bag == 0 else p for bag, p in shares.items()}
    return X, propcvx.bag_target(bags, given, known), weights


def answer(method, kernel, form, seed):
    """The outcome of a method on a problem."""
    X, y, weights = problem(seed, form)
    return outcome(clone({**METHODS, **FURTHER}[method]).set_params(kernel=kernel), X, y, weights)


def outcome(model, X, y, weights=None):
    """Everything that a fit tells, or the error that it raises."""
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        try:
            model.fit(X, y, sample_weight=weights)
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"}
    bounds = getattr(model, "bounds_", None)
    return {
        "scores": model.decision_function(X).round(12).tolist(),
        "labels": model.transduction_.tolist(),
        "objective": float(model.objective_),
        "rounds": len(model.history_),
        "stop": model.stop_reason_.name,
        "bounds": None if bounds is None else [bounds.lower, bounds.upper],
        "warnings": sorted({each.category.__name__ for each in record}),
    }


def real_sets():
    """X and bag target of heart and vote in random bags of eight, and of the referendum."""
    folder = Path(os.environ.get("PROPCVX_DATA", ROOT.parent / "shared" / "data"))
    for name in ("heart", "vote") if folder.is_dir() else ():
        X, labels = propcvx.datasets.load_real(name, data_home=folder, download=False)
        bags = np.random.RandomState(0).permutation(len(X)) // 8
        yield name, X, propcvx.bag_target(bags, propcvx.bag_proportions(labels, bags))
    people = list(csv.DictReader((ROOT / "docs/referendum/people.csv").open()))
    rows = csv.DictReader((ROOT / "docs/referendum/shares.csv").open())
    shares = {row["district"]: float(row["share_yes"]) for row in rows}
    numbers = [[float(row["age"] or 50), float(row["income"] or 3e4)] for row in people]
    words = np.array(
        [[row[name] for name in ("region", "education", "newspaper")] for row in people]
    )
    dummies = [words[:, [k]] == np.unique(words[:, k])[1:] for k in range(words.shape[1])]
    numbers = np.array(numbers)
    X = np.column_stack([(numbers - numbers.mean(axis=0)) / numbers.std(axis=0), *dummies])
    yield "referendum", X, propcvx.bag_target([row["district"] for row in people], shares)


def real_answers():
    """Every method as it comes, on the real sets"""
    kernels = {"heart": KERNELS, "vote": ("linear",), "referendum": ("linear",)}
    methods = {
        "MeanMap": propcvx.MeanMap(),
        "InvCal": propcvx.InvCal(),
        "AggregateLogisticRegression": propcvx.AggregateLogisticRegression(),
        "EcologicalRegression": propcvx.EcologicalRegression(),
        "SecondMoments": propcvx.SecondMoments(),
        "alter-pSVM": propcvx.AlterPropSVM(random_state=0),
        "alter-pSVM, random": propcvx.AlterPropSVM(init="random", n_init=2, random_state=0),
        "conv-pSVM": propcvx.ConvPropSVM(epsilon="rounding"),
        "conv-pSVM, five cuts": propcvx.ConvPropSVM(
            epsilon="rounding", relaxation=propcvx.CuttingPlanes(max_cuts=5)
        ),
    }
    for name, X, y in real_sets():
        for (method, model), kernel in product(methods.items(), kernels[name]):
            yield (
                f"{name}, {method}, {kernel}",
                outcome(clone(model).set_params(kernel=kernel), X, y),
            )


def certified(seed):
    """The interval of a small problem,"""
    X = problem(seed, "plain")[0][:20]
    bags, labels = np.repeat(np.arange(4), 5), np.where(X[:, 0] > 0, 1, -1)
    y = propcvx.bag_target(bags, propcvx.bag_proportions(labels, bags))
    result = propcvx.certify(X, y, C=0.1)
    return {"bounds": [result.lower, result.upper], "labeling": result.labeling.tolist()}


def signatures():
    """The public names with their parameters."""
    names = {name: getattr(propcvx, name) for name in propcvx.__all__}
    stated = {name: str(inspect.signature(of)) for name, of in names.items() if callable(of)}
    return {name: re.sub(" at 0x[0-9a-f]+", "", text) for name, text in stated.items()}


def texts():
    """The names of all programs, and how one of each kind prints."""
    X, y = np.arange(6.0).reshape(3, 2), np.array([1.0, -1.0, 1.0])
    shown = {
        "svm_dual": programs.svm_dual(X).set(**programs.svm_dual_parameters(y, 1.0)),
        "inv_cal_dual": programs.inv_cal_dual(X),
        "mkl_epigraph": programs.mkl_epigraph(X, y[None], 1.0),
        "mkl_group": programs.mkl_group(X, y[None], 1.0),
    }
    return {"all": sorted(programs.__all__), **{name: str(of) for name, of in shown.items()}}


def answers():
    """All of them by name."""
    fits = [*product(METHODS, KERNELS, FORMS, SEEDS), *product(FURTHER, KERNELS[:2], FORMS, [0])]
    result = {", ".join(map(str, key)): answer(*key) for key in fits}
    result |= dict(real_answers())
    result |= {f"certify, {seed}": certified(seed) for seed in SEEDS}
    return result | {"signatures": signatures(), "programs": texts()}


def differences(before, after):
    """What is not the same, with the largest difference of numbers."""
    for name in [*before, *(name for name in after if name not in before)]:
        first, other = before.get(name), after.get(name)
        if first == other:
            continue
        if not isinstance(first, dict) or not isinstance(other, dict):
            yield f"{name}: only {'before' if other is None else 'after'}"
            continue
        for part in {**first, **other}:
            if first.get(part) != other.get(part):
                yield f"{name}, {part}: {difference(first.get(part), other.get(part))}"


def difference(first, other):
    """A number for numbers of one shape, else both."""
    try:
        gap = np.abs(np.subtract(np.array(first, float), np.array(other, float))).max()
    except (TypeError, ValueError):
        return f"{first} -> {other}"
    return f"{gap:.2g}, of {np.abs(np.array(first, float)).max():.3g}"


if __name__ == "__main__":
    paths = list(map(Path, sys.argv[1:]))
    if len(paths) == 1:
        paths[0].write_text(json.dumps(answers(), indent=0))
    else:
        print("\n".join(differences(*(json.loads(path.read_text()) for path in paths))) or "equal")
