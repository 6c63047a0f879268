"""More than two classes: each against the rest, for methods without a program for several."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from propcvx.bags import Bags
from propcvx.class_bags import ClassBags
from propcvx.history import Fitted, History
from propcvx.kernels import FeatureMap


def one_versus_rest(
    run: Callable[[Bags], Fitted], feature_map: FeatureMap, bags: ClassBags
) -> Fitted:
    """The planes of all classes, each fitted against the rest with its column of shares.

    Parameters
    ----------
    run : callable
        The method, for bags of two classes and the features of the instances.
    feature_map : FeatureMap
        The features.
    bags : ClassBags

    Returns
    -------
    Fitted
        Weights of shape (rank, n_classes) and as many biases.  The labels are those of the largest
        scores, unless they are known; the objective is the sum over the classes, and the history
        has the rounds of all of them.
    """
    ends = []
    for number in bags.label_values:
        ends.append(run(bags.against_rest(number)))
        if ends[-1].stopped_by is not None:
            raise ends[-1].stopped_by
    weights = np.column_stack([end.weights for end in ends])
    bias = np.array([end.bias for end in ends])
    predicted = (feature_map.features @ weights + bias).argmax(axis=1) + 1
    rounds = [record for end in ends for record in end.history]
    return Fitted(
        np.where(bags.labels > 0, bags.labels, predicted),
        weights,
        bias,  # type: ignore[arg-type]
        sum(end.objective for end in ends),
        History(rounds, ends[-1].stop_reason),
        ill_posed=any(end.ill_posed for end in ends),
    )
