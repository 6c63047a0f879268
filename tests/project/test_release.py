"""What a release says of itself: one version, one list of requirements, true rows in the README."""

import re
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path
from pkgutil import iter_modules

import pytest
import yaml

import propcvx

ROOT = Path(__file__).resolve().parents[2]
SETUP = ConfigParser()
SETUP.read(ROOT / "setup.cfg", encoding="utf-8")
RECIPE = yaml.safe_load((ROOT / ".ci/recipe.yaml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def test_a_version_has_one_number():
    assert RECIPE["context"]["version"] == propcvx.__version__


def test_the_recipe_requires_what_the_package_requires():
    listed = {}
    for entry in RECIPE["requirements"]["run"]:
        name, _, bound = (entry["then"] if isinstance(entry, dict) else entry).partition(" ")
        listed[name.removesuffix("-base")] = bound
    assert listed.pop("python") == ""
    always = [line for line in SETUP["options"]["install_requires"].splitlines() if line]
    outside = [line for line in always if '== "emscripten"' not in line]
    assert listed == dict(re.match(r"([\w-]+)(>=[\d.]+)", line).groups() for line in outside)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_workflow_pins_actions_by_hash(workflow):
    text = workflow.read_text(encoding="utf-8")
    uses = re.findall(r"uses: (.*)", text)
    assert uses
    assert [
        each for each in uses if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", each)
    ] == []
    assert yaml.safe_load(text)["permissions"] == {}


def test_the_readme_compares_what_the_package_has():
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Related packages")[2]
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| ")][1:]
    ours = {row[0].strip("| "): row[1] for row in rows if len(row) == 5}
    named = re.findall(r"`(\w+)`", "".join(ours.values()))
    classifiers = {"MeanMap", "InvCal", "AlterPropSVM", "ConvPropSVM"}
    assert classifiers < set(named)
    assert [name for name in named if name != "y" and not hasattr(propcvx, name)] == []
    requirements = SETUP["options"]["install_requires"]
    assert all(name.lower() in requirements for name in ours["Main dependencies"].split(", "))


def test_names_are_imported_when_they_are_first_used():
    heavy = {"cvxpy", "scipy", "sklearn", "numpy"}
    code = f"import sys, propcvx.__main__; print(*{heavy} & {{*sys.modules}})"
    begun = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert begun.stdout.strip() == b""
    assert all(getattr(propcvx, name).__module__ for name in propcvx.__all__)
    modules = {module.name for module in iter_modules(propcvx.__path__)}
    left_out = {"__main__", "dask"}  # the command, and what needs an extra
    assert {name for name in modules - left_out if not hasattr(propcvx, name)} == set()
