"""An entry of the published tables, computed with scikit-learn alone on the package's splits."""

from itertools import product

import numpy as np
import pytest
import report_tables
from reproduction import Selection, plan
from reproduction.tasks import task_of
from scipy.special import logit
from sklearn.svm import SVR

from propcvx.bags.model_selection import BagKFold


def means_and_shares(X, labels, bags):
    """Mean instance of each bag, and its proportion of positives."""
    member = bags == np.unique(bags)[:, None]
    member = member / member.sum(axis=1, keepdims=True)
    return member @ X, member @ (labels > 0)


def inv_cal(X, labels, bags, C_p, epsilon):
    """eq:rueping_svm: the logits of the shares, clipped by 1 / N, as a regression."""
    means, shares = means_and_shares(X, labels, bags)
    targets = logit(np.clip(shares, 1.0 / len(X), 1.0 - 1.0 / len(X)))
    model = SVR(kernel="linear", C=C_p, epsilon=epsilon, tol=1e-9).fit(means, targets)
    return lambda others: np.where(model.predict(others) > 0.0, 1, -1)


@pytest.mark.usefixtures("data_home")
def test_inv_cal_on_heart_equals_svr_on_means():
    selection = Selection([0], ["heart"], bag_sizes=[8], methods=["InvCal"])
    cells, accuracies = plan("table-linear", selection=selection), []
    for cell in cells:
        train, test = vars(task_of(cell)).values()
        bags, grid = train.y["bag"], list(product((0.1, 1.0, 10.0), (0.0, 0.01, 0.1)))
        folds = BagKFold(5, random_state=cell.random(f"inner folds {cell.fold}"))
        errors = np.zeros(len(grid))
        for a, b in folds.split(train.X, train.y):
            for k, point in enumerate(grid):
                predict = inv_cal(train.X[a], train.labels[a], bags[a], *point)
                _, predicted = means_and_shares(train.X[b], predict(train.X[b]), bags[b])
                _, shares = means_and_shares(train.X[b], train.labels[b], bags[b])
                errors[k] += np.abs(predicted - shares).sum()
        chosen = grid[int(np.argmin(np.round(errors, 9)))]
        predicted = inv_cal(train.X, train.labels, bags, *chosen)(test.X)
        accuracies.append(np.mean(predicted == test.labels))
    results = report_tables.results()
    published = results[results["chosen"]].set_index("key")["accuracy"]
    assert np.allclose(accuracies, published.loc[[cell.key for cell in cells]], atol=1e-12)
