"""Real data sets: read as published, checked, fetched, and told where they were looked for."""

import bz2
import hashlib
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import pytest

from propcvx.datasets import files, load_ballots, load_contraception, load_real
from propcvx.datasets.files import DataFile, MissingDataError, data_file, data_folder
from propcvx.datasets.readers import read_arff
from propcvx.datasets.real import REAL_SETS, LabeledData, one_versus_rest
from propcvx.errors import InputError

COUNTS = {
    "heart": {1: 120},
    "heart-c": {1: 138},
    "colic": {1: 230},
    "vote": {1: 168},
    "breast-cancer": {1: 239},
    "australian": {1: 307},
    "credit-a": {1: 307},
    "breast-w": {1: 241},
    "a1a": {1: 395},
    "dna": {1: 464, 2: 485, 3: 1051},
    "satimage": {1: 1072, 2: 479, 3: 961, 4: 415, 5: 470, 6: 1038},
    "cod-rna.t": {1: 90539},
    "contraception": {1: 759},
    "ballots": {1: 124500},
}

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
    assert X.shape == REAL_SETS[name].shape
    assert np.allclose(X[:, varies].min(axis=0), -1.0)
    assert np.allclose(X[:, varies].max(axis=0), 1.0)
    assert not X[:, ~varies].any()
    assert {label: (y == label).sum() for label in COUNTS[name]} == COUNTS[name]
    assert set(y) == ({-1, 1} if len(COUNTS[name]) == 1 else set(COUNTS[name]))


@pytest.mark.parametrize("name", ["dna-1", "dna-3", "satimage-2"])
def test_one_class_against_as_many_of_the_rest(name, data_dir):
    load = partial(load_real, name, data_home=data_dir, download=False)
    base, _, k = name.partition("-")
    first, again, other = (load(random_state=seed) for seed in (0, 0, 1))
    count = min(COUNTS[base][int(k)], sum(COUNTS[base].values()) - COUNTS[base][int(k)])
    assert (first.y == 1).sum() == COUNTS[base][int(k)]
    assert (first.y == -1).sum() == count
    assert np.array_equal(first.X, again.X)
    assert np.array_equal(first.X, other.X) == (name == "dna-3")  # all 949 others are drawn there


def test_negatives_are_drawn_from_all_other_classes():
    data = LabeledData(np.arange(30.0)[:, None], np.repeat([1.0, 2.0, 3.0], 10))
    drawn = [one_versus_rest(data, 2.0, seed) for seed in range(20)]
    assert all((X[y > 0, 0] == np.arange(10, 20)).all() for X, y in drawn)
    assert {x for X, y in drawn for x in X[y < 0, 0]} == {*range(10), *range(20, 30)}


def test_bags_of_their_own(data_dir):
    women = load_contraception(data_home=data_dir, download=False)
    assert len(women.proportions) == 60
    assert np.bincount(women.bags).max() == 118
    ballots = load_ballots(("cd", "voteday"), data_home=data_dir, download=False)
    assert ballots.X.shape == (335140, 30)
    assert len(ballots.proportions) == 8
    with pytest.raises(InputError, match=r"by must be one or several of \['cd', 'voteday'"):
        load_ballots(("precinct",), data_home=data_dir, download=False)


def test_nominal_values_are_codes_and_missing_ones_are_filled(tmp_path):
    (tmp_path / "small.arff").write_text(ARFF)
    X, y = read_arff(tmp_path / "small.arff", "Class", "republican")
    assert X.tolist() == [[1, 1], [1, 3], [1, 3], [0, 5]]
    assert y.tolist() == [-1, 1, 1, -1]


def test_a_set_that_is_missing_is_told_where_it_was_looked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("PROPCVX_DATA", str(tmp_path))
    with pytest.raises(MissingDataError, match=f"no heart_scale in {tmp_path}"):
        load_real("heart", download=False)
    assert data_folder(tmp_path / "here") == tmp_path / "here"
    monkeypatch.delenv("PROPCVX_DATA")
    assert data_folder().name == "propcvx"


def test_no_folder_is_left_of_a_set_that_could_not_be_fetched(tmp_path, monkeypatch):
    def refuse(*arguments, **options):
        raise OSError("no network")

    monkeypatch.setattr("pooch.HTTPDownloader.__call__", refuse)
    monkeypatch.setattr("propcvx.datasets.files.RETRIES", 0)
    for kept in ("new", "old"):
        folder = tmp_path / kept
        if kept == "old":
            folder.mkdir()
        with pytest.raises(MissingDataError, match="no network"):
            load_real("heart", data_home=folder)
        assert folder.exists() == (kept == "old")


def test_a_folder_that_is_no_path_is_refused():
    with pytest.raises(InputError, match="data_home must be the path of a folder, got 5"):
        load_real("heart", data_home=5)


def test_an_unknown_set_is_told_the_known_ones():
    for name in ("hart", "dna-4", "heart-1", ["heart"], None):
        with pytest.raises(InputError, match="heart"):
            load_real(name)


@pytest.mark.parametrize("content", [b"no archive at all", bz2.compress(b"-1 1:0.5\n")[:-4]])
def test_an_archive_that_cannot_be_read_is_refused(tmp_path, content):
    (tmp_path / "cod-rna.t.bz2").write_bytes(content)
    with pytest.raises(InputError, match=r"cod-rna.t.bz2 cannot be read: .*; remove it"):
        load_real("cod-rna.t", data_home=tmp_path)


def test_a_file_of_another_content_is_refused(tmp_path):
    (tmp_path / "heart_scale").write_text("+1 1:0.5 2:1\n-1 1:0.25 2:0\n")
    with pytest.raises(InputError, match="heart_scale is not the file that was published"):
        load_real("heart", data_home=tmp_path)


CONTENT = b"published " * 5000


class Publisher(ThreadingHTTPServer):
    """Serves one content, after as many failures as asked for."""

    def __init__(self, failures, wrong=False):
        super().__init__(("127.0.0.1", 0), _Answer)
        self.failures, self.wrong, self.asked = failures, wrong, 0
        Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/file"


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked += 1
        cut = self.server.asked <= self.server.failures
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        content = CONTENT[::-1] if self.server.wrong else CONTENT
        self.wfile.write(content[: len(content) // 2] if cut else content)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def published(monkeypatch):
    """A publisher of the file ``small``, on this machine."""
    servers = []
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # between two tries

    def publish(failures=0, wrong=False):
        servers.append(Publisher(failures, wrong))
        row = DataFile(servers[-1].url, hashlib.sha256(CONTENT).hexdigest())
        monkeypatch.setattr(files, "FILES", {"small": row})
        return servers[-1]

    yield publish
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_file_is_fetched_once(published, tmp_path):
    server = published()
    for _ in range(2):
        path = data_file("small", tmp_path)
        assert path.read_bytes() == CONTENT
    assert server.asked == 1
    assert [found.name for found in tmp_path.iterdir()] == ["small"]


def test_a_cut_connection_is_tried_again(published, tmp_path):
    server = published(failures=2)
    assert data_file("small", tmp_path).read_bytes() == CONTENT
    assert server.asked == 3


@pytest.mark.parametrize("trouble", [{"failures": 9}, {"wrong": True}])
def test_a_file_that_is_not_whole_never_appears(published, tmp_path, trouble):
    server = published(**trouble)
    with pytest.raises(MissingDataError, match=r"small is not in .* could not be fetched from"):
        data_file("small", tmp_path)
    assert server.asked == 3
    assert list(tmp_path.iterdir()) == []


def test_without_network_it_is_said_what_to_do(published, tmp_path):
    server = published()
    server.shutdown()
    server.server_close()
    with pytest.raises(MissingDataError, match="Without network, put the file into that folder"):
        data_file("small", tmp_path)
