"""Voters in their states: single votes, and rates of groups; see rates.md."""

from functools import cache
from itertools import product

import numpy as np
import pandas as pd
from reproduction.evaluation import Sample
from reproduction.other_methods import GoodmanRegression
from reproduction.report import rows_table
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from study import HERE, complete

from propcvx import InvCal, MeanMap
from propcvx.datasets import TRUMP_FEATURES, load_trump_2016

METHODS = {
    "ecological regression": GoodmanRegression,
    "MeanMap": MeanMap,
    "InvCal": InvCal,
    "all labels": LogisticRegression,
}
"""With their default parameters; nothing is chosen."""
ALL = "everybody"
RACES = ("White", "Black", "Hispanic", "Asian")
GROUPS = [*RACES, "other race", "born again", "not born again", "college", "no college"]


@cache
def loaded():
    """The voters in their states, and a mask of each group."""
    X, labels, bags, _ = load_trump_2016(download=False)
    column = dict(zip(TRUMP_FEATURES, X.T > 0.0, strict=True))
    masks = [column[race] for race in RACES]
    masks.append(~np.any(masks, axis=0))
    for name in ("bornagain", "collegeed"):
        masks += [column[name], ~column[name]]
    groups = {ALL: np.ones(len(labels), bool), **dict(zip(GROUPS, masks, strict=True))}
    return Sample.in_bags(X, labels, bags), groups


def measure(draw, fold, data, method):
    """Count instances, correct labels, true and predicted positives of each group in a fold."""
    sample, groups = loaded()
    folds = GroupKFold(5, shuffle=True, random_state=draw)
    inside, outside = list(folds.split(sample.X, groups=sample.y["bag"]))[fold]
    train = sample.take(inside)
    model = METHODS[method]().fit(train.X, train.labels if method == "all labels" else train.y)
    predicted, truth = model.predict(sample.X[outside]), sample.labels[outside]
    for name, mask in groups.items():
        of = mask[outside]
        yield {
            "group": name,
            "instances": of.sum(),
            "right": (predicted[of] == truth[of]).sum(),
            "positive": (truth[of] > 0).sum(),
            "predicted": (predicted[of] > 0).sum(),
        }


def percentages():
    """Sums over folds as percentages of the instances, means over draws; and the instances."""
    rows = pd.read_csv(HERE / "real_bags.csv").query("data == 'trump-2016'")
    rows = rows[rows["method"].isin(METHODS)]
    sums = rows.groupby(["method", "group", "draw"], sort=False).sum(numeric_only=True)
    rates = 100.0 * sums[["right", "positive", "predicted"]].div(sums["instances"], axis=0)
    sizes = sums["instances"].xs("InvCal").xs(0, level="draw")
    return rates.groupby(level=["method", "group"], sort=False).mean(), sizes


def rates_of_groups():
    """Percentage of each group that voted for Trump, true and by each method, with its size."""
    rates, sizes = percentages()
    by_method = rates["predicted"].unstack("method")[list(METHODS)]
    table = pd.concat([sizes.rename("voters"), rates["positive"].xs("InvCal"), by_method], axis=1)
    return table.rename(columns={"positive": "truth"}).loc[[ALL, *GROUPS]]


def pages():
    """The rates of groups, by the name that the page uses."""
    table = rates_of_groups()
    texts = table.map("{:.1f}".format).assign(voters=table["voters"].map("{:,}".format))
    return {"real_bags_groups": rows_table(texts.rename_axis("group").reset_index())}


if __name__ == "__main__":
    grid = product(range(3), range(5), ["trump-2016"], METHODS)
    names = ("draw", "fold", "data", "method")
    cells = [dict(zip(names, values, strict=True)) for values in grid]
    complete(HERE / "real_bags.csv", cells, measure)
    print(percentages()[0].xs(ALL, level="group").round(1).to_string())
    print(pages()["real_bags_groups"])
