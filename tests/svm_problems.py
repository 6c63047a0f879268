"""Problems of the SVM step, of eight sorts, for the tests of its solvers."""

import numpy as np

N_INSTANCES = 40


def problems(random):
    """Features and labels of eight sorts."""
    y = random.choice((-1.0, 1.0), N_INSTANCES)
    X = random.normal(size=(N_INSTANCES, 3)) + 0.5 * y[:, None]
    side = np.where(X[:, 0] > 0, 1.0, -1.0)
    return {
        "overlapping": (X, y),
        "separable": (X + side[:, None], side),
        "duplicated": (np.repeat(X[:8], 5, axis=0), y),
        "constant features": (np.where(np.arange(3) > 0, 3.0, X), y),
        "binary": (random.choice((0.0, 1.0), (N_INSTANCES, 4)), y),
        "unbalanced": (X, np.where(np.arange(N_INSTANCES) < 2, 1.0, -1.0)),
        "no signal": (np.zeros((N_INSTANCES, 2)), y),
        "wide": (random.normal(size=(N_INSTANCES, 45)), y),
    }


PROBLEMS = tuple(problems(np.random.default_rng(0)))
