"""The command `propcvx report`: equal to its script, and what it refuses."""

import re
import runpy
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from propcvx import EcologicalRegression, bag_target, group_rates
from propcvx.__main__ import main

DOCS = Path(__file__).resolve().parents[2] / "docs/referendum"
PEOPLE, SHARES = pd.read_csv(DOCS / "people.csv"), pd.read_csv(DOCS / "shares.csv")
OPTIONS = {"--bag": "district", "--proportion": "share_yes", "--by": "education", "--draws": "20"}


def report(folder, people=PEOPLE, shares=SHARES, options=OPTIONS, flags=(), **settings):
    """Write two tables and run the command on them."""
    for name, table in (("people.csv", people), ("shares.csv", shares)):
        if isinstance(table, bytes):
            (folder / name).write_bytes(table)
        elif table is not None:
            table.to_csv(folder / name, index=False, **settings)
    words = [word for option in options.items() if option[1] is not None for word in option]
    files = [str(folder / name) for name in ("people.csv", "shares.csv")]
    return main(["report", *files, *words, *flags, "--output", str(folder / "out")])


def test_report_has_numbers_of_its_script(tmp_path):
    assert report(tmp_path, options=OPTIONS | {"--by": "age>60"}) == 0
    out = tmp_path / "out"
    groups, people = (pd.read_csv(out / name) for name in ("groups.csv", "people.csv"))
    shutil.copy(out / "report.py", tmp_path / "again.py")
    names = runpy.run_path(str(tmp_path / "again.py"), run_name="again")
    rates = names["rates"]["age>60"].groups.reset_index(drop=True)
    pd.testing.assert_frame_equal(groups[rates.columns], rates, atol=1e-4, check_dtype=False)
    assert names["people"]["probability"].to_numpy() == pytest.approx(people["probability"])
    page = (out / "report.html").read_text()
    for shown in (str(names["check"]).split("\n")[0], f"{rates['estimate'][1]:.1%}", "not checked"):
        assert shown in page
    assert not re.search(r"(src|href)=\"(?!#)|url\((?!#)", page)  # no network
    assert len(page) < 500_000


def test_report_numbers_equal_python_numbers(tmp_path):
    options = OPTIONS | {"--features": "age", "--by": "age>60"}
    assert report(tmp_path, options=options) == 0
    y = bag_target(PEOPLE["district"], SHARES.set_index("district")["share_yes"])
    X = (PEOPLE[["age"]] - PEOPLE["age"].mean()) / PEOPLE["age"].std(ddof=0)
    model = EcologicalRegression().fit(X, y)
    table = group_rates(y, PEOPLE["age"] > 60, model, X, epsilon=0.0005).groups
    groups = pd.read_csv(tmp_path / "out/groups.csv")
    for column in ("lower_bound", "upper_bound", "estimate"):
        assert groups[column].to_numpy() == pytest.approx(table[column].to_numpy(), abs=1e-4)


def test_percentages_with_decimal_commas_equal_fractions(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert report(tmp_path / "a") == 0
    percent = SHARES.assign(share_yes=100 * SHARES["share_yes"])
    windows = {"sep": ";", "decimal": ",", "encoding": "utf-8-sig", "lineterminator": "\r\n"}
    assert report(tmp_path / "b", shares=percent.round(1), **windows) == 0
    one, other = (pd.read_csv(tmp_path / name / "out/groups.csv") for name in "ab")
    pd.testing.assert_frame_equal(one, other)
    page = (tmp_path / "b/out/report.html").read_text()
    assert "decimal commas" in page
    assert "has percentages" in page


@pytest.mark.parametrize("kind", [int, float, "{:.0f}%".format])
def test_whole_percentages_are_rounded_to_hundredths(kind, tmp_path):
    percent = SHARES.assign(share_yes=(100 * SHARES["share_yes"]).round().map(kind))
    assert report(tmp_path, shares=percent, options=OPTIONS | {"--by": None}) == 0
    assert not (tmp_path / "out/groups.csv").exists()
    assert "rounded to 2 decimals of a proportion" in (tmp_path / "out/report.html").read_text()


def test_proportions_of_zero_and_one_are_exact(tmp_path):
    certain = SHARES.assign(share_yes=(SHARES["share_yes"] > 0.5).astype(float))
    own = PEOPLE["age"].gt(60).astype(object).where(PEOPLE["income"] > PEOPLE["income"].median())
    options = OPTIONS | {"--by": "own"}
    assert report(tmp_path, PEOPLE.assign(own=own), certain, options) == 0
    groups = pd.read_csv(tmp_path / "out/groups.csv")
    assert groups["group"].tolist() == ["(missing)", "False", "True"]
    yes = PEOPLE["district"].map(certain.set_index("district")["share_yes"])
    expected = yes.groupby(own.fillna("(missing)").astype(str)).mean()
    for column in ("lower_bound", "upper_bound"):
        assert groups[column].to_numpy() == pytest.approx(expected.to_numpy(), abs=1e-4)


def test_proportions_from_counts_need_no_tolerance(tmp_path):
    sizes = PEOPLE["district"].value_counts()[SHARES["district"]].to_numpy()
    counts = SHARES.assign(yes=(SHARES["share_yes"] * sizes).round().astype(int), n=sizes)
    options = OPTIONS | {"--proportion": None, "--count": "yes", "--total": "n"}
    assert report(tmp_path, shares=counts, options=options) == 0
    assert "epsilon=0.0," in (tmp_path / "out/report.py").read_text()


def test_names_in_report_are_escaped(tmp_path):
    groups = PEOPLE["education"].replace("school", "<script>alert(1)</script>")
    people = PEOPLE.assign(education=groups, code=range(len(PEOPLE)), same=1)
    assert report(tmp_path, people) == 0
    page = (tmp_path / "out/report.html").read_text()
    assert "<script" not in page
    assert "Omitted, because constant or different for each person: code, same." in page
    assert "Constant within each district, and kept: region." in page


FIRST = SHARES["district"].iloc[0]
ZEROS = {name: f"0{k}" for k, name in enumerate(SHARES["district"])}
PLAIN = {name: str(k) for k, name in enumerate(SHARES["district"])}


def first_of(name):
    return {"people": PEOPLE.assign(district=[name, *PEOPLE["district"][1:]])}


IN_FIRST = PEOPLE["district"] == FIRST
COUNTS = {"proportion": None, "count": "yes", "total": "n"}


def shares(*first, factor=1):
    values = [*first, *factor * SHARES["share_yes"][len(first) :]]
    return {"shares": SHARES.assign(share_yes=values)}


def options(**given):
    return {"options": OPTIONS | {f"--{name}": value for name, value in given.items()}}


MISTAKES = {
    "no people": ({"people": None}, "people.csv must be a file"),
    "empty file": ({"people": b""}, "people.csv must be a table with a header"),
    "no rows": ({"people": PEOPLE[:0]}, "people.csv has no rows"),
    "Latin-1": (
        {"people": "district,a\nK\xf6ln,1\n".encode("latin-1")},
        "encoded as UTF-8; byte 12",
    ),
    "ragged": ({"people": b"district,a\nx,1\ny,2,3\n"}, "people.csv must be a table"),
    "bag of people": (options(bag="ward"), "--bag .* people.csv has no 'ward'"),
    "proportion": (options(proportion="yes"), "--proportion must be a column of shares.csv"),
    "added": (
        {"people": PEOPLE.rename(columns={"age": "probability"})},
        "people.csv must have no column 'probability'",
    ),
    "infinite": ({"people": PEOPLE.replace({"age": {60: np.inf}})}, "'inf' is no finite age"),
    "number": (options(by="age.max()"), "--by must be a column of people.csv or a condition"),
    "by": (options(by="sex"), "--by must be a column of people.csv or a condition .* 'sex'"),
    "condition": (options(by="age>>"), "--by must be a column .* 'age>>'"),
    "features": (options(features="length"), r"--features must be columns .* \['length'\]"),
    "draws": (options(draws="5"), "n_draws must be .* at least 20"),
    "missing id": (first_of(None), "line 2: 'nan' is no district"),
    "unknown id": (first_of("D99"), "line 2: 'D99' is no district"),
    "leading zeros": (
        {
            "people": PEOPLE.assign(district=PEOPLE["district"].map(ZEROS)),
            "shares": SHARES.assign(district=SHARES["district"].map(PLAIN)),
        },
        "leading zeros",
    ),
    "no features": (
        {"people": PEOPLE[["district"]], **options(by="district")},
        "must have a column",
    ),
    "empty bag": ({"people": PEOPLE[~IN_FIRST]}, f"line 2: '{FIRST}' has no people"),
    "duplicate": ({"shares": pd.concat([SHARES, SHARES[:1]])}, "twice as district"),
    "one bag": ({"people": PEOPLE[IN_FIRST], "shares": SHARES[:1]}, "must have at least 2 bags"),
    "missing proportion": (shares(None), "line 2: 'nan' is no share_yes"),
    "above one": (shares(1.5), "line 2: '1.5' is not from 0 to 1"),
    "negative": (shares(-0.1), "line 2: '-0.1' is not from 0 to 1"),
    "above hundred": (shares(250, factor=100), "'250.0' is not from 0 to 100"),
    "words": (shares("half"), "line 2: 'half' is not a number"),
    "some percent": (shares("5%"), "line 3, .* has no percent sign"),
    "equal": ({"shares": SHARES.assign(share_yes=0.5)}, "two different proportions; all are 0.5"),
    "one class": ({"shares": SHARES.assign(share_yes=1)}, "two different proportions; all are 1"),
    "counts above": (
        {"shares": SHARES.assign(yes=5, n=4), **options(**COUNTS)},
        "line 2, .*: '5' is not from 0 to n",
    ),
    "no total": (
        {"shares": SHARES.assign(yes=5, n=0), **options(**COUNTS)},
        "'0' is no positive n",
    ),
    "sample": ({"people": PEOPLE[:800]}, r"shares.csv: .* 45 of 50 bags .* pass --sampled"),
    "missing total": (options(proportion=None, count="share_yes"), "--count and --total must be"),
    "total alone": (options(total="share_yes"), "--count and --total must be passed together"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake_names_file_and_fix(name, tmp_path, capsys):
    changes, message = MISTAKES[name]
    with pytest.raises(SystemExit, match="2"):
        report(tmp_path, **changes)
    shown = capsys.readouterr().err
    assert re.search(message, " ".join(shown.split())), shown
    assert not (tmp_path / "out").exists()


def test_existing_folder_without_force_raises(tmp_path, capsys):
    (tmp_path / "out").mkdir()
    with pytest.raises(SystemExit, match="2"):
        report(tmp_path)
    assert "--output must be a new folder" in capsys.readouterr().err
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("method", ["aggregate", "alter"])
def test_sample_is_fitted_by_other_methods(method, tmp_path):
    people = PEOPLE.groupby("district").head(8)
    assert report(tmp_path, people, flags=["--sampled", "--method", method]) == 0
    script = (tmp_path / "out/report.py").read_text()
    assert "epsilon='sampling'" in script
    assert "spread" not in script
