"""Benchmark of what is called before a fit: bags into a target and out of it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propcvx.datasets import random_bags
from propcvx.experiments.bench.frame import Case, Check, at_most, benchmark
from propcvx.targets import bag_target, proportions_of


@benchmark("bag-target")
def target(quick: bool) -> Iterator[Case]:
    """The bag target of many small bags over one sort of their ids."""
    n = 2**10 if quick else 10**6
    labels = np.random.default_rng(0).choice((-1, 1), n)
    numbers = random_bags(labels, 8, random_state=0)
    for kind, ids in (("numbers", numbers), ("words", np.char.add("ward ", numbers.astype(str)))):
        shares = proportions_of(labels, ids)
        yield Case(
            f"bag_target / numpy.unique, N={n:,}, {len(shares):,} bags with {kind} for ids, a dict",
            partial(bag_target, ids, shares),
            partial(np.unique, numbers, return_inverse=True),
            partial(_wrong_proportions, labels),
            reach=3.0 if kind == "numbers" else 30.0,
        )


def _wrong_proportions(labels: NDArray[Any], y: NDArray[np.void], _: Any) -> Check:
    """By how much the positives of a bag differ from what the target says of it."""
    positives = np.bincount(y["bag"], weights=labels > 0) - np.bincount(
        y["bag"], weights=y["proportion"]
    )
    return at_most("positives too many or few in a bag", float(np.abs(positives).max()), 1e-9)
