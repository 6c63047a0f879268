"""Real data sets: read as published, and told where they were looked for."""

import numpy as np
import pytest

from propcvx.datasets import load_real
from propcvx.datasets.real import REAL_SETS, MissingDataError
from propcvx.errors import InputError
from propcvx.experiments.bench.data import bags_of, real_or_generated

POSITIVES = {"heart": 120, "vote": 168, "australian": 307, "cod-rna.t": 90539}

ARFF = """@relation small
@attribute color {red, green, blue}
@attribute height numeric
@attribute 'Class' {democrat, republican}
@data
green,1.0,democrat
?,?,republican
green,3.0,republican
red,5.0,democrat
"""


@pytest.mark.parametrize("name", REAL_SETS)
def test_real_sets_are_as_published(name, data_dir, monkeypatch):
    raw = data_dir / "raw"
    monkeypatch.setenv("PROPCVX_DATA", str(raw if raw.is_dir() else data_dir))
    X, y = load_real(name)
    assert X.shape == REAL_SETS[name].shape
    assert np.allclose(X.min(axis=0), -1.0)
    assert np.allclose(X.max(axis=0), 1.0)
    assert (y > 0).sum() == POSITIVES[name]
    assert set(y) == {-1.0, 1.0}


def test_nominal_values_are_codes_and_missing_ones_are_filled(tmp_path):
    (tmp_path / "small.arff").write_text(ARFF)
    from propcvx.datasets.real import _read_arff

    X, y = _read_arff(tmp_path / "small.arff", "Class", "republican")
    assert X.tolist() == [[1, 1], [1, 3], [1, 3], [0, 5]]
    assert y.tolist() == [-1, 1, 1, -1]


def test_a_set_that_is_missing_is_told_where_it_was_looked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("PROPCVX_DATA", str(tmp_path))
    with pytest.raises(MissingDataError, match=str(tmp_path / "heart_scale")):
        load_real("heart")
    monkeypatch.delenv("PROPCVX_DATA")
    with pytest.raises(MissingDataError, match="PROPCVX_DATA does not name a folder"):
        load_real("heart")


def test_an_unknown_set_is_told_the_known_ones():
    with pytest.raises(InputError, match="heart"):
        load_real("hart")


def test_a_file_of_another_shape_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("PROPCVX_DATA", str(tmp_path))
    (tmp_path / "heart_scale").write_text("+1 1:0.5 2:1\n-1 1:0.25 2:0\n")
    with pytest.raises(InputError, match="heart_scale should hold"):
        load_real("heart")


def test_a_benchmark_says_that_its_data_were_generated(monkeypatch):
    monkeypatch.delenv("PROPCVX_DATA", raising=False)
    data = real_or_generated("vote", 32)
    assert data.X.shape == (32, 16)
    assert (abs(data.X).max(axis=0) == 1.0).all()
    assert "generated" in data.note
    assert "vote.arff" in data.note
    assert np.bincount(bags_of(data.y, 8).index).tolist() == [8] * 4
