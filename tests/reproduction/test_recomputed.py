"""Three entries of the published tables, computed anew with scikit-learn alone.

Of the package these tests take the splits and their random numbers, and nothing else.
"""

from itertools import product

import numpy as np
import pytest
import report_tables
from reproduction import Selection, plan
from reproduction.methods import ECOLOGICAL, SUPERVISED
from reproduction.tasks import task_of
from scipy.special import logit
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.svm import SVC, SVR

from propcvx.bags.model_selection import BagKFold

pytestmark = pytest.mark.usefixtures("data_home")


def published(experiment, data, bag_size, method):
    """The accuracies of an entry's folds in the first repetition."""
    results = report_tables.results()
    keys = [cell.key for cell in cells_of(experiment, data, bag_size, method)]
    chosen = results[results["chosen"]].set_index("key")
    return chosen.loc[keys, "accuracy"].to_numpy()


def cells_of(experiment, data, bag_size, method):
    selection = Selection([0], [data], bag_sizes=[bag_size], methods=[method])
    return plan(experiment, selection=selection)


def shares_of(bags, labels):
    """Bags, their sizes, and their shares of positives."""
    ids, index, sizes = np.unique(bags, return_inverse=True, return_counts=True)
    return ids, sizes, np.bincount(index, labels > 0) / sizes


def means_of(X, bags):
    return np.array([X[bags == each].mean(axis=0) for each in np.unique(bags)])


def test_ecological_regression_of_women_in_their_districts():
    place = "natural", "contraception", 0, ECOLOGICAL
    answer = []
    for cell in cells_of(*place):
        train, test = (vars(part) for part in vars(task_of(cell)).values())
        bags = train["y"]["bag"]
        _, sizes, shares = shares_of(bags, train["labels"])
        line = LinearRegression().fit(means_of(train["X"], bags), shares, sample_weight=sizes)
        predicted = np.where(line.predict(test["X"]) > 0.5, 1, -1)
        answer.append(np.mean(predicted == test["labels"]))
    assert np.allclose(answer, published(*place), rtol=0.0, atol=1e-12)


def test_the_svm_with_labels_on_vote():
    place, grid = ("better", "vote", 8, SUPERVISED), (0.1, 1.0, 10.0)
    answer = []
    for cell in cells_of(*place):
        train, test = vars(task_of(cell)).values()
        random = cell.random(f"inner folds {cell.fold}")
        folds = StratifiedKFold(5, shuffle=True, random_state=random)
        splits = list(folds.split(train.X, train.labels))
        models = [SVC(kernel="linear", C=C) for C in grid]
        right = [cross_val_predict(m, train.X, train.labels, cv=splits) for m in models]
        best = models[int(np.argmax([(each == train.labels).sum() for each in right]))]
        answer.append(best.fit(train.X, train.labels).score(test.X, test.labels))
    assert np.allclose(answer, published(*place), rtol=0.0, atol=1e-12)


def test_inv_cal_heart_equals_svr_on_means():
    place = "table-linear", "heart", 8, "InvCal"
    answer = []
    for cell in cells_of(*place):
        task = task_of(cell)
        X, bags, labels = task.train.X, task.train.y["bag"], task.train.labels
        folds = BagKFold(5, random_state=cell.random(f"inner folds {cell.fold}"))
        splits = list(folds.split(X, task.train.y))
        grid = list(product((0.1, 1.0, 10.0), (0.0, 0.01, 0.1)))
        errors = [
            sum(
                bag_errors(inv_cal(X[a], bags[a], labels[a], *each)(X[b]), bags[b], labels[b])
                for a, b in splits
            )
            for each in grid
        ]
        chosen = grid[int(np.argmin(np.round(errors, 9)))]
        predicted = inv_cal(X, bags, labels, *chosen)(task.test.X)
        answer.append(np.mean(predicted == task.test.labels))
    assert np.allclose(answer, published(*place), rtol=0.0, atol=1e-12)


def inv_cal(X, bags, labels, C_p, epsilon):
    """eq:rueping_svm: the logits of the shares, clipped by 1 / N, as a regression."""
    _, _, shares = shares_of(bags, labels)
    targets = logit(np.clip(shares, 1.0 / len(X), 1.0 - 1.0 / len(X)))
    model = SVR(kernel="linear", C=C_p, epsilon=epsilon, tol=1e-9)
    model.fit(means_of(X, bags), targets)
    return lambda others: np.where(model.predict(others) > 0.0, 1, -1)


def bag_errors(predicted, bags, labels):
    return np.abs(shares_of(bags, predicted)[2] - shares_of(bags, labels)[2]).sum()
