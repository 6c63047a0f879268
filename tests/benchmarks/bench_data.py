"""Data of benchmarks, and the fit that many are set beside."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from propcvx.bags.targets import bag_proportions, bag_target
from propcvx.datasets import random_bags


def generated(n_instances, n_features):
    """Two overlapping Gaussian classes, and their labels -1 and +1."""
    random = np.random.default_rng(0)
    labels = random.choice((-1.0, 1.0), n_instances)
    X = random.normal(size=(n_instances, n_features)) + labels[:, None] / np.sqrt(n_features)
    return X / np.abs(X).max(axis=0), labels


def in_bags(labels, bag_size):
    """The bag target of random bags of one size, with the proportions of the labels."""
    bags = random_bags(labels, bag_size, random_state=0)
    return bag_target(bags, bag_proportions(labels, bags))


def linear_svc(X, labels):
    """LIBLINEAR's answer, as it is with its default limit of iterations."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LinearSVC(loss="hinge", C=1, dual=True).fit(X, labels)
