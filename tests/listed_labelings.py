"""Bags of every kind with few instances, and all of their labelings, for comparisons by listing."""

from itertools import product

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from propcvx import Bags, bag_target
from propcvx.labelings.losses import HINGE

TIES = [-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0]
"""Scores that are often equal, among them the corners of the hinge; their sums are exact."""

SCALES = st.sampled_from([1e-9, 1e-6, 1e-3, 1.0, 1e3, 1e6])


def arrays(entries, size):
    return st.lists(entries, min_size=size, max_size=size).map(np.array)


@st.composite
def bags_apart(draw, max_bags=3, max_size=4, most=9, unknown=False):
    """Shuffled bags, some labels known, proportions within half an instance of a count or None."""
    sizes = draw(st.lists(st.integers(1, max_size), min_size=1, max_size=max_bags))
    index = draw(st.permutations(np.repeat(np.arange(len(sizes)), sizes).tolist()))
    assume(len(index) <= most)
    truth = draw(arrays(st.sampled_from((-1, 1)), len(index)))
    known = draw(arrays(st.sampled_from((0, 0, 1)), len(index)))
    off = draw(arrays(st.sampled_from((0.0, 0.0, 0.4, -0.4, 0.5)), len(sizes)))
    counts = np.bincount(index, weights=truth > 0)
    shares = np.clip((counts + off) / sizes, 0.0, 1.0).astype(object)
    shares[draw(arrays(st.sampled_from((False, False, unknown)), len(sizes)))] = None
    return Bags.from_target(bag_target(index, shares, truth * known))


bags_of_all_kinds = st.one_of(bags_apart(), bags_apart(unknown=True))


def scores_of(draw, n):
    """Many equal ones; or different ones, of any scale, around a place that may be far larger."""
    if draw(st.booleans()):
        return draw(arrays(st.sampled_from(TIES), n))
    spread = np.random.RandomState(draw(st.integers(0, 2**31 - 1))).normal(size=n)
    return draw(st.sampled_from([0.0, 0.9, -0.9])) + draw(SCALES) * spread


def every_labeling(bags):
    """Every labeling that has the known labels, and its counts of positives in each bag."""
    every = np.array(list(product((-1.0, 1.0), repeat=bags.n_instances)))
    known = bags.labels != 0
    every = every[(every[:, known] == bags.labels[known]).all(axis=1)]
    return every, (every > 0) @ bags.membership.toarray().T.astype(int)


def step_values(rows, counts, scores, bags, loss, weights):
    """The objective of eq:solving_y of labelings; infinite where the loss is."""
    lower, upper = loss.allowed(bags)
    values = HINGE.evaluate(rows, scores).sum(axis=1)
    values += loss.of_differences(bags, bags.gaps(counts)) @ weights
    return np.where(((counts < lower) | (counts > upper)).any(axis=1), np.inf, values)
