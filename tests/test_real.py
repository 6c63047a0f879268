"""Real data sets: read as published, checked, fetched, and clear messages where they are not."""

import bz2
import hashlib
from functools import partial
from itertools import repeat
from pathlib import Path
from unittest.mock import Mock, call

import numpy as np
import pytest

from propcvx.datasets import files, load_ballots, load_contraception, load_real, real
from propcvx.datasets.files import DataFile, MissingDataError, data_file, data_folder
from propcvx.datasets.readers import read_arff
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
}
"""Instances and attributes of each set, and how many instances each class has; of two, class 1."""

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


@pytest.mark.parametrize("name", REAL_SETS)
def test_real_sets_are_as_published(name, data_dir):
    X, y = load_real(name, data_home=data_dir, download=False)
    varies = np.ptp(X, axis=0) > 0
    shape, counts = PUBLISHED[name]
    assert X.shape == shape
    assert np.allclose(X[:, varies].min(axis=0), -1.0)
    assert np.allclose(X[:, varies].max(axis=0), 1.0)
    assert not X[:, ~varies].any()
    assert {label: (y == label).sum() for label in counts} == counts
    assert set(y) == ({-1, 1} if len(counts) == 1 else set(counts))


@pytest.mark.parametrize("name", ["dna-1", "dna-3", "satimage-2"])
def test_one_class_against_as_many_of_the_rest(name, data_dir):
    load = partial(load_real, name, data_home=data_dir, download=False)
    base, _, k = name.partition("-")
    first, again, other = (load(random_state=seed) for seed in (0, 0, 1))
    (size, _), counts = PUBLISHED[base]
    count = counts[int(k)]
    assert (first.y == 1).sum() == count
    assert (first.y == -1).sum() == min(count, size - count)
    assert np.array_equal(first.X, again.X)
    assert np.array_equal(first.X, other.X) == (name == "dna-3")  # all 949 others are drawn there


def test_negatives_are_drawn_from_all_other_classes():
    data = LabeledData(np.arange(30.0)[:, None], np.repeat([1.0, 2.0, 3.0], 10))
    drawn = [one_versus_rest(data, 2.0, seed) for seed in range(20)]
    assert all((X[y > 0, 0] == np.arange(10, 20)).all() for X, y in drawn)
    assert {x for X, y in drawn for x in X[y < 0, 0]} == {*range(10), *range(20, 30)}


def test_districts_are_bags(data_dir):
    women = load_contraception(data_home=data_dir, download=False)
    assert len(women.proportions) == 60
    assert np.bincount(women.bags).max() == 118


BALLOTS = """cd,voteday,PRS,Nvoters,v_TAX,v_USH
FL-19,E.D.,Democrat,2,1,2
FL-19,E.D.,Republican,1,2,0
FL-16,Abs.,Republican,1,2,2
FL-16,E.D.,Nader,3,1,1
"""


def test_ballots_that_share_what_is_asked_for_are_bags(tmp_path, monkeypatch):
    (tmp_path / "ballots.csv").write_text(BALLOTS)
    monkeypatch.setattr(real, "data_file", lambda *args, **options: tmp_path / "ballots.csv")
    data = load_ballots(("cd", "v_TAX"))
    assert data.X.tolist() == [[-1, 1], [-1, 1], [1, -1], [-1, 1]]  # v_USH alone is a feature
    assert data.labels.tolist() == [-1, -1, 1, 1]
    assert data.bags.tolist() == [1, 1, 2, 0]
    assert data.proportions == {0: 1.0, 1: 0.0, 2: 1.0}
    with pytest.raises(InputError, match=r"by must be one or several of \['cd', 'voteday'"):
        load_ballots(("precinct",))


def test_nominal_values_are_codes_and_missing_ones_are_filled(tmp_path):
    (tmp_path / "small.arff").write_text(ARFF)
    X, y = read_arff(tmp_path / "small.arff", "Class", "republican")
    assert X.tolist() == [[1, 1], [1, 3], [1, 3], [0, 5]]
    assert y.tolist() == [-1, 1, 1, -1]


def test_the_folder_is_the_argument_or_the_variable_or_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PROPCVX_DATA", str(tmp_path))
    with pytest.raises(MissingDataError, match=f"heart_scale is not in {tmp_path}, nor"):
        load_real("heart", download=False)
    assert data_folder(tmp_path / "here") == tmp_path / "here"
    monkeypatch.delenv("PROPCVX_DATA")
    assert data_folder().name == "propcvx"
    with pytest.raises(InputError, match="data_home must be the path of a folder, got 5"):
        load_real("heart", data_home=5)


@pytest.mark.parametrize("name", ["hart", "dna-4", "heart-1", ["heart"], None])
def test_of_an_unknown_set_the_message_lists_the_known_ones(name):
    with pytest.raises(InputError, match=r"name must be one of .*'heart'.*'dna-3'"):
        load_real(name)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("cod-rna.t.bz2", b"no archive at all", "cannot be read: .*; remove it"),
        ("cod-rna.t.bz2", bz2.compress(b"-1 1:0.5\n")[:-4], "cannot be read: .*; remove it"),
        ("cod-rna.t", b"+1 1:0.5 2:1\n", "is not the file that was published"),
    ],
)
def test_a_file_of_another_content_is_refused(tmp_path, name, content, message):
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
    asked = Mock()
    monkeypatch.setattr(
        "pooch.HTTPDownloader.__call__",
        lambda self, url, path, keeper: Path(path).write_bytes(asked(url)),
    )
    return asked


@pytest.mark.parametrize("answers", [[CONTENT], [CONTENT[:100], b"", CONTENT]])
def test_a_file_is_fetched_until_it_is_whole_and_then_kept(answers, publisher, tmp_path):
    publisher.side_effect = answers
    for _ in range(2):
        assert data_file("small", tmp_path).read_bytes() == CONTENT
    assert publisher.call_args_list == [call("https://example.org/small")] * len(answers)
    assert [found.name for found in tmp_path.iterdir()] == ["small"]


@pytest.mark.parametrize("answer", [CONTENT[:100], CONTENT[::-1], OSError("no network")])
def test_a_file_that_is_not_whole_never_appears(publisher, tmp_path, answer):
    publisher.side_effect = repeat(answer)
    with pytest.raises(MissingDataError, match=r"small is not in .* could not be fetched from"):
        data_file("small", tmp_path)
    assert list(tmp_path.iterdir()) == []
