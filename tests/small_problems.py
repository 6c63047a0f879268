"""Small random problems for the tests of the loops and the estimators."""

from dataclasses import dataclass, replace

import cvxpy as cp
import numpy as np

from propcvx import Bags, bag_target
from propcvx.labelings.losses import InstanceLoss, best_offset
from propcvx.relaxation import labeling_upper_bound

SQUARED_HINGE = InstanceLoss(
    "squared hinge", lambda m: np.maximum(0.0, 1.0 - m) ** 2, lambda m: cp.square(cp.pos(1.0 - m))
)


@dataclass(frozen=True)
class SmallProblem:
    """Instances, their bag target, and the labels behind its proportions."""

    X: np.ndarray
    y: np.ndarray
    labels: np.ndarray

    @property
    def bags(self):
        return Bags.from_target(self.y)


def small_problem(seed, sizes=(4, 4), n_features=2, known=0.0, noise=1.0):
    """Two noisy classes in shuffled bags; each label is known with probability ``known``."""
    random = np.random.RandomState(seed)
    index = random.permutation(np.repeat(np.arange(len(sizes)), sizes))
    labels = random.choice((-1, 1), size=len(index))
    direction = random.randn(n_features)
    X = noise * random.randn(len(index), n_features)
    X += np.outer(labels, direction / np.linalg.norm(direction))
    shares = np.bincount(index, weights=labels > 0) / np.bincount(index)
    given = np.where(random.uniform(size=len(index)) < known, labels, 0)
    return SmallProblem(X, bag_target(index, shares, given), labels)


def small_problems(max_size=5, max_bags=4, max_features=4):
    """Hypothesis strategy of problems with 2 to ``max_size * max_bags`` instances."""
    from hypothesis import strategies as st  # the documentation uses the rest without it

    sizes = st.lists(st.integers(1, max_size), min_size=1, max_size=max_bags)
    return st.builds(
        small_problem,
        seed=st.integers(0, 2**32 - 1),
        sizes=sizes.filter(lambda sizes: sum(sizes) >= 2),
        n_features=st.integers(1, max_features),
        known=st.sampled_from([0.0, 0.3]),
        noise=st.sampled_from([0.3, 1.0, 3.0]),
    )


def without_a_share(bags):
    """The same bags, but the proportion of the first is not known."""
    return replace(bags, proportions=np.append(np.nan, bags.proportions[1:]))


def all_labelings(feasible):
    """Every feasible labeling, in rows."""
    return np.array(list(feasible.enumerate()))


def best_value(features, feasible, C):
    """The least SVM value of all feasible labelings."""
    return labeling_upper_bound(features, all_labelings(feasible), C)


def svm_values(features, labelings, C):
    """SVM values of labelings, without a bias, from above."""
    return piqp_values(features, labelings, C)[:, 1]


def piqp_values(features, labelings, C):
    """SVM values of labelings, without a bias, from below and above, by PIQP and not CVXPY."""
    import piqp  # a browser has it not

    values = []
    for labeling in labelings:
        solver = piqp.DenseSolver()
        solver.settings.eps_abs = solver.settings.eps_rel = 1e-11
        box = np.minimum(0.0, labeling), np.maximum(0.0, labeling)
        solver.setup(C * features @ features.T, -labeling, x_l=box[0], x_u=box[1])
        solver.solve()
        duals = C * np.clip(solver.result.x, *box)
        weights = features.T @ duals
        losses = np.maximum(0.0, 1.0 - labeling * (features @ weights))
        half = 0.5 * weights @ weights
        values.append((labeling @ duals - half, half + C * losses.sum()))
    return np.array(values)


def best_bias(labeling, scores):
    """Bias of the least sum of hinge losses."""
    lower, upper = np.minimum(0.0, labeling), np.maximum(0.0, labeling)
    return best_offset(labeling - scores, lower, upper)
