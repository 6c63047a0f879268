"""Fits to rows in parts, and what is asked of fitted estimators part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from cvxpy import OPTIMAL
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from propcvx.bags.bags import Bags
from propcvx.bags.metrics import proportion_error
from propcvx.bags.model_selection import deal_bags
from propcvx.checks import check_number
from propcvx.errors import InputError
from propcvx.estimators import AlterPropSVM, BagClassifier, InvCal, MeanMap
from propcvx.estimators.training import scaling_advice
from propcvx.large.alter import alter_on_parts
from propcvx.large.means import check_linear, means_on_parts, store
from propcvx.large.parts import Chunks, Parts, Summary, bags_of, extremes, unpacked


def fit_chunks(estimator: BagClassifier, chunks: Any, *, progress: bool = False) -> BagClassifier:
    """Fit AlterPropSVM, InvCal or MeanMap, with the linear kernel, to rows that come in chunks.

    The chunks are read in passes.  What is kept from one pass to the next is a few vectors and
    matrices of the number of features, a row for each bag, and for AlterPropSVM a bit for each
    instance.  The fit is the same however the bags are divided into chunks, up to rounding.  InvCal
    takes one pass, MeanMap some ten more, and AlterPropSVM a few dozen for each value of C*.

    Parameters
    ----------
    estimator : AlterPropSVM, InvCal or MeanMap
        AlterPropSVM takes here the instance losses in ``propcvx.labelings.losses.INSTANCE_LOSSES``.
        Its ``init="mixed"`` is random labelings and the one of InvCal; random labels are a function
        of ``random_state`` and of the instances of the bag alone, so they are other ones than those
        of ``fit``, which depend on all bags.
    chunks : iterable, or function without arguments that returns an iterator
        Of ``(X, y)`` or ``(X, y, sample_weight)``, where y is made by :func:`propcvx.bag_target`
        and holds whole bags.  It must be possible to iterate again, over the same chunks.
        :func:`propcvx.large.parquet_chunks` reads them from Parquet files.
    progress : bool
        Whether to show a bar for every pass.

    Returns
    -------
    estimator
        Fitted: it has ``coef_``, ``intercept_``, ``objective_`` and ``history_``, and AlterPropSVM
        ``labeling_`` in the order of the chunks, as small integers.  There is no
        ``predict_proba``, for which the scores of all instances are needed.

    Raises
    ------
    InputError
        If a bag is cut between chunks, columns differ, chunks change or are empty the second time,
        or a parameter asks for all instances at once; the message names it.
    KeyboardInterrupt
        By Ctrl-C: AlterPropSVM then keeps the best start that is complete, or if none is what the
        first one has reached, and can predict.

    Examples
    --------
    >>> from propcvx import InvCal, bag_target
    >>> def chunks():
    ...     for first in range(0, 100, 20):
    ...         X = np.arange(first, first + 20.0)[:, None]
    ...         bags = np.repeat([first, first + 10], 10)
    ...         yield X, bag_target(bags, {bag: bag / 100 for bag in (first, first + 10)})
    >>> fit_chunks(InvCal(), chunks).predict([[10.0], [90.0]])
    array([-1,  1])
    """
    return fit_parts(estimator, Chunks(chunks, progress))


def fit_parts(estimator: BagClassifier, parts: Parts) -> BagClassifier:
    """The same for any kind of parts."""
    if not isinstance(estimator, AlterPropSVM | InvCal | MeanMap):
        raise InputError(
            "estimator must be AlterPropSVM, InvCal or MeanMap where the instances come in parts, "
            f"got {type(estimator).__name__}, which needs all of them in memory."
        )
    check_linear(estimator)
    check_number("solver_tol", estimator.solver_tol, above=0.0)
    summary = Summary.of(parts)
    validate_data(estimator, _columns_of(summary), dtype=np.float64)
    run: Callable[..., Any] = (
        alter_on_parts if isinstance(estimator, AlterPropSVM) else means_on_parts
    )
    found = run(estimator, parts, summary)
    store(estimator, found, summary.frame.sign)
    if isinstance(estimator, AlterPropSVM) and isinstance(parts, Chunks):
        bits = zip(found.labeling.kept, parts.sizes or [], strict=True)
        signs = [unpacked(own, slice(0, n)).astype(np.int8) for own, n in bits]
        estimator.labeling_ = summary.frame.sign * np.concatenate(signs)
    if any(round_.status != OPTIMAL for round_ in estimator.history_):
        estimator._warn_if_inaccurate(scaling_advice(np.vstack(parts.each(extremes, None))))
    if found.stopped_by is not None:
        raise found.stopped_by
    return estimator


def _columns_of(summary: Summary) -> Any:
    """Two rows with the names of the columns, by which the estimator knows them again."""
    rows = np.tile(summary.frame.mean, (2, 1))
    if summary.names is None:
        return rows
    import pandas as pd  # names come with its frames

    return pd.DataFrame(rows, columns=summary.names)


def predict_chunks(estimator: BagClassifier, chunks: Any) -> Iterator[NDArray[Any]]:
    """Predict the labels of chunk after chunk, each as soon as it is read.

    Parameters
    ----------
    estimator : BagClassifier
        Fitted.
    chunks : iterable, or function that returns one
        Of X, or of ``(X, y)`` of which y is not looked at.

    Yields
    ------
    array of shape (n_instances,)
    """
    for chunk in chunks() if callable(chunks) else chunks:
        yield estimator.predict(chunk[0] if isinstance(chunk, tuple) else chunk)


def score_chunks(estimator: BagClassifier, chunks: Any) -> float:
    """Minus the bag error on bags that come in chunks, see :func:`propcvx.bag_error`.

    Parameters
    ----------
    estimator : BagClassifier
        Fitted.
    chunks : iterable, or function that returns one
        Of ``(X, y)``.
    """
    errors = n_bags = 0.0
    for chunk in chunks() if callable(chunks) else chunks:
        bags, instances = bags_of(chunk[1]).of_shares()
        if bags.n_bags:
            scores = estimator.decision_function(chunk[0])[instances]
            errors += bags.n_bags * proportion_error(bags, scores)
            n_bags += bags.n_bags
    if not n_bags:
        raise InputError("chunks must have a bag with a proportion to be scored by, got none.")
    return -errors / n_bags


def split_chunks(
    chunks: Any, n_splits: int = 5, random_state: Any = None
) -> Iterator[tuple[Callable[[], Iterator[Any]], Callable[[], Iterator[Any]]]]:
    """Folds of whole bags of what comes in chunks: those of :class:`propcvx.BagKFold`.

    Parameters
    ----------
    chunks : iterable, or function without arguments that returns an iterator
        As in :func:`fit_chunks`.
    n_splits : int
    random_state : int, RandomState or None

    Yields
    ------
    train, test : functions without arguments that return an iterator
        Chunks for :func:`fit_chunks`, and for :func:`score_chunks`.
    """
    sizes: dict[Any, int] = {}
    for _, y, *_ in Chunks(chunks):
        bags = bags_of(y)
        sizes.update(zip(bags.names(bags.codes), bags.sizes.tolist(), strict=True))
    names = sorted(sizes)
    dealt = deal_bags(np.array([sizes[name] for name in names]), n_splits, random_state)
    fold_of = dict(zip(names, dealt.tolist(), strict=True))
    for fold in range(n_splits):
        yield (
            partial(_some, chunks, fold_of, fold, False),
            partial(_some, chunks, fold_of, fold, True),
        )


def _some(chunks: Any, fold_of: dict[Any, int], fold: int, inside: bool) -> Iterator[Any]:
    """The chunks with the bags of a fold only, or with all others."""
    for chunk in Chunks(chunks):
        bags: Bags = bags_of(chunk[1])
        wanted = [(fold_of[name] == fold) is inside for name in bags.names(bags.codes)]
        rows = np.flatnonzero(np.array(wanted)[bags.index])
        if len(rows):
            yield tuple(_rows(one, rows) for one in chunk)


def _rows(values: Any, rows: Any) -> Any:
    return values.iloc[rows] if hasattr(values, "iloc") else values[rows]
