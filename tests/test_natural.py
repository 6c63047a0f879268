"""Sets outside the paper in its protocol, and splits that are fixed by hash."""

import json

import numpy as np
import pytest

from propcvx.bags import Bags
from propcvx.experiments.reproduce import plan, run_plan
from propcvx.experiments.reproduce.data import n_instances
from propcvx.experiments.reproduce.methods import ECOLOGICAL, METHODS
from propcvx.experiments.reproduce.report import report_text
from propcvx.experiments.reproduce.splits import compared, fixed_splits, place_of
from propcvx.experiments.reproduce.tasks import fingerprint, task_of


@pytest.fixture
def data_home(data_dir, monkeypatch):
    monkeypatch.setenv("PROPCVX_DATA", str(data_dir))


def test_every_split_of_the_benchmark_is_fixed():
    places = {place_of(cell.settings) for cell in plan("quick")}
    assert places == set(fixed_splits())
    assert len(places) == len(set(fixed_splits().values())) == 25


@pytest.mark.filterwarnings("ignore:a split holds out:propcvx.errors.FewBagsWarning")
def test_the_splits_of_the_benchmark_are_those_fixed(data_home):
    cells = {place_of(cell.settings): cell for cell in plan("quick")}
    assert {place: fingerprint(task_of(cell)) for place, cell in cells.items()} == fixed_splits()


def test_a_report_tells_of_splits_that_differ():
    cells = plan("quick")[::7]
    texts = [json.dumps(cell.settings) for cell in cells]
    right = [fixed_splits()[place_of(cell.settings)] for cell in cells]
    rows = [{"settings": t, "split": split} for t, split in zip(texts, right, strict=True)]
    n_places = len({place_of(cell.settings) for cell in cells})
    assert compared(rows) == (n_places, n_places)
    other = json.dumps({**cells[0].settings, "repetition": 3})
    assert compared([{"settings": other, "split": right[0]}]) == (0, 0)
    assert compared([{"settings": texts[0], "split": "another"}]) == (1, 0)


def test_women_are_judged_on_districts_that_no_method_has_seen(data_home, tmp_path):
    cells = [
        cell for cell in plan("quick") if (cell.data, cell.method) == ("contraception", ECOLOGICAL)
    ]
    tasks = [task_of(cell) for cell in cells]
    assert sum(len(task.test.labels) for task in tasks) == n_instances("contraception") == 1934
    assert sum(Bags.from_target(task.test.y).n_bags for task in tasks) == 60
    assert run_plan(cells, tmp_path / "results", progress=False).done == 5
    text = report_text(tmp_path / "results")
    assert f"| {ECOLOGICAL} | " in text
    assert "Of these splits, 5 are among those of the experiment `quick`" in text
    assert "hashes the package has: 5 are the same." in text


@pytest.mark.slow
def test_ballots_in_random_bags_and_in_groups(data_home):
    cells = {cell.data: cell for cell in [*plan("natural"), *plan("ballots")]}
    task = task_of(cells["ballots-sample"])
    bags = Bags.from_target(task.train.y)
    assert (bags.n_bags, set(bags.sizes), len(task.test.labels)) == (40, {512}, 5120)
    assert not np.array_equal(task.train.y, task_of(plan("ballots")[0]).train.y)
    groups = task_of(cells["ballots-groups"])
    assert len(groups.train.labels) + len(groups.test.labels) == n_instances("ballots-groups")
    assert not set(groups.train.y["bag"]) & set(groups.test.y["bag"])


def test_methods_beside_the_papers_are_in_the_plans_of_natural_bags():
    for name in ("natural", "ballots", "quick"):
        assert {cell.method for cell in plan(name)} >= {ECOLOGICAL, *list(METHODS)[:5]}
