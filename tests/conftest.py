"""What the tests share: reproducible hypothesis runs, headless plots, and the real data."""

import os
from pathlib import Path

import pytest
from effort import FULL, LIGHT
from hypothesis import settings

os.environ.setdefault("MPLBACKEND", "Agg")

settings.register_profile("full", deadline=None, derandomize=True, max_examples=FULL)
settings.register_profile("light", settings.get_profile("full"), max_examples=LIGHT)
settings.register_profile("random", settings.get_profile("full"), derandomize=False)
settings.load_profile("light")  # another one by --hypothesis-profile

ROOT = Path(__file__).resolve().parents[1]
OF_THE_PROJECT = ("benchmarks", "project", "reproduction")
"""Folders whose tests start processes, or read pages, notebooks, studies or files of results."""


def pytest_configure(config):
    """Ignore two warnings that many tests cause: names in setup.cfg would be imported too early
    for their coverage to be counted."""
    for name in ("FewBagsWarning", "PoorFitWarning"):
        config.addinivalue_line("filterwarnings", f"ignore::propcvx.errors.{name}")


def pytest_collection_modifyitems(items):
    for item in items:
        reads_data = "data_dir" in getattr(item, "fixturenames", ())
        if reads_data:
            item.add_marker(pytest.mark.data)
        if reads_data or item.path.parent.name in OF_THE_PROJECT:
            item.add_marker(pytest.mark.process)


@pytest.fixture(scope="session")
def data_dir():
    """The folder of the real data sets; a test that asks for it is skipped where there is none."""
    folder = Path(os.environ.get("PROPCVX_DATA", ROOT.parent / "shared" / "data"))
    folder = folder.parent if folder.name == "raw" else folder
    if not folder.is_dir():
        pytest.skip(f"needs the real data sets: set PROPCVX_DATA, looked in {folder}")
    return folder


@pytest.fixture
def data_home(data_dir, monkeypatch):
    """The real data sets are where the package looks for them."""
    monkeypatch.setenv("PROPCVX_DATA", str(data_dir))
