"""Estimates of a classifier for cells, and resamples for their intervals."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from tqdm import tqdm

from propcvx.arrays import Array
from propcvx.bags.bags import Bags
from propcvx.bags.targets import classes_of, known_labels, target_dtype
from propcvx.errors import (
    IllPosedWarning,
    InputError,
    PropCVXWarning,
    UnreliableIntervalWarning,
    suppress_warnings,
    warn,
)
from propcvx.estimators.fit_check import predict_held_out
from propcvx.groups.cells import Cells
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.labelings.given_counts import GivenCounts

FEW = 20
"""With fewer resamples there is no interval."""

TREE_ROWS = 5000
"""Number of rows that the decision tree of :func:`in_columns` is fitted to."""

TREE_SCORE = 0.99
"""Accuracy of the tree above which the columns determine the groups."""


def estimate(estimator: Any, X: Any, y: NDArray[np.void], feasible: FeasibleLabelings) -> Array:
    """Compute the probability of +1 of each instance given the proportions, or its label as 0 or 1.

    The probabilities of a classifier are taken for those of independent labels, conditional on the
    proportions of the bags.

    Parameters
    ----------
    estimator : labeling of shape (n_instances,), or fitted classifier
    X : array, sparse matrix, DataFrame or list of length n_instances, or None
    y : bag target of shape (n_instances,)
    feasible : FeasibleLabelings
        The feasible labelings of its bags, in the order of the rows.
    """
    if isinstance(estimator, type) or not hasattr(estimator, "predict_proba"):
        if hasattr(estimator, "fit"):
            raise InputError(
                f"estimator must be a labeling, or a classifier fitted to bags with predict_proba; "
                f"got {estimator!r:.200}."
            )
        labeling = known_labels(estimator, len(y)).astype(float)
        if fault := feasible.fault_of(labeling):
            raise InputError(
                f"estimator must have the proportions of the bags, and {fault}. Pass the fitted "
                "classifier, not its predictions; it is adjusted to the proportions."
            )
        return (labeling > 0).astype(float)
    if X is None or np.shape(X)[0] != len(y):
        size = "None" if X is None else f"{np.shape(X)[0]}"
        raise InputError(f"X must have the {len(y)} instances of y, for the estimator; got {size}.")
    check_is_fitted(estimator)
    classes, needed = (
        np.asarray(names).tolist() for names in (getattr(estimator, "classes_", ()), classes_of(y))
    )
    if classes != needed:
        raise InputError(
            f"estimator must be a classifier of the classes of y, {needed}, of which the second is "
            f"positive; got one of {classes}."
        )
    probabilities = estimator.predict_proba(X)[:, 1]
    return GivenCounts.from_probabilities(probabilities, feasible).means()


def resample(
    classifier: Any,
    X: Any,
    y: NDArray[np.void],
    cells: Cells,
    feasible: FeasibleLabelings,
    n_draws: int,
    *,
    random_state: Any,
    n_jobs: int | None,
    verbose: bool,
) -> Array:
    """Draw probabilities that the bags allow, then labels, and sum the weights of positives.

    Each repetition draws probabilities for all instances, by ``sample_probabilities`` if the
    classifier has a posterior and otherwise by :func:`refit`.  Then it draws labels with
    these probabilities and with the proportions.

    Returns
    -------
    counts : array of shape (n_done, n_groups + n_cells)
        Weights of groups and cells.  Fewer than ``n_draws`` rows after an interruption by Ctrl-C,
        and no rows, with a warning, if all proportions are equal and there is no posterior.
    """
    classifier = getattr(classifier, "best_estimator_", classifier)
    if not hasattr(classifier, "predict_proba"):
        raise InputError(
            "n_draws must be 0 without predict_proba; got a labeling. Pass the classifier."
        )
    bags = cells.bags
    if not in_columns(cells, X):
        warn(
            "the columns of X do not determine the groups, so the intervals may be too narrow. "
            "Add the columns that define the groups to X, and fit the classifier again.",
            UnreliableIntervalWarning,
        )
    steps = classifier if isinstance(classifier, Pipeline) else make_pipeline(classifier)
    draws: list[Any] = [partial(refit, classifier, X, y, bags)]
    if hasattr(steps[-1], "sample_probabilities"):
        features = steps[:-1].transform(X) if len(steps) > 1 else X
        draw = partial(steps[-1].sample_probabilities, features)
        draws = [draw, partial(draw, logistic=True)] if hasattr(steps[-1], "posterior_") else [draw]
    elif not bags.labels.any() and len(np.unique(bags.proportions[bags.has_proportion])) < 2:
        warn("all bags have the same proportion, so intervals are NaN.", IllPosedWarning)
        n_draws = 0
    seeds = check_random_state(random_state).randint(2**31, size=n_draws)
    counts = [np.empty((0, len(cells.bag)))]
    results = Parallel(n_jobs, return_as="generator")(
        delayed(_resample)(draw, RandomState(seed), cells, feasible)
        for draw, seed in zip(cycle(draws), seeds, strict=False)
    )
    try:
        counts.extend(tqdm(results, desc="resamples", total=n_draws, disable=not verbose))
    except KeyboardInterrupt:
        warn(
            f"interrupted: intervals are from {len(counts) - 1} resamples.",
            UnreliableIntervalWarning,
        )
    return cells.with_groups(np.vstack(counts))


def in_columns(cells: Cells, X: Any) -> bool:
    """Check whether a small decision tree on the columns of X separates the groups."""
    from pandas import DataFrame
    from sklearn.tree import DecisionTreeClassifier

    rows = np.linspace(0, len(cells.code) - 1, min(len(cells.code), TREE_ROWS)).astype(int)
    if issparse(X):
        table = X.tocsr()[rows]
    else:  # ranks are numbers for words, too, and a tree depends on ranks alone
        table = DataFrame(X).infer_objects().iloc[rows].rank(method="dense")
        table = table.to_numpy(float, na_value=np.nan)
    code = cells.code[rows]
    tree = DecisionTreeClassifier(max_leaf_nodes=4 * len(cells.names), random_state=0)
    return bool(tree.fit(table, code).score(table, code) > TREE_SCORE)


def refit(classifier: Any, X: Any, y: NDArray[np.void], bags: Bags, random: RandomState) -> Array:
    """Predict probabilities by a fit to as many bags as there are, drawn with replacement.

    A bag keeps its id if it is drawn several times.  The number of bags with a proportion stays the
    same.
    """
    order = np.argsort([instances[0] for instances in bags.members])  # independent of their names
    kinds = order[bags.has_proportion[order]], order[~bags.has_proportion[order]]
    picks = np.concatenate([random.choice(kind, len(kind)) for kind in kinds if len(kind)])
    members = [bags.members[bag] for bag in picks]
    place = np.repeat(np.arange(len(picks)), list(map(len, members)))
    rows = np.concatenate(members)
    metadata = dict(y.dtype.metadata or {}) | {"ids": bags.names(bags.codes[picks])}
    target = y[rows].astype(target_dtype(classes=y["proportion"].shape[1:], metadata=metadata))
    target["bag"] = place
    return predict_held_out(classifier, X, target, rows, np.arange(len(y)))[1]


def _resample(
    draw: Callable[[RandomState], Array],
    random: RandomState,
    cells: Cells,
    feasible: FeasibleLabelings,
) -> Array:
    """Sum the weights of positives in the cells for one draw."""
    with suppress_warnings(PropCVXWarning):
        positive = GivenCounts.from_probabilities(draw(random), feasible).draw(random)
    return np.asarray(cells.of_cells @ (cells.weights * positive))[None]
