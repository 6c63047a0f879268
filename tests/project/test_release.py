"""What a release says of itself: one version, one list of requirements."""

import re
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path
from pkgutil import iter_modules

import yaml

import propcvx

ROOT = Path(__file__).resolve().parents[2]
SETUP = ConfigParser()
SETUP.read(ROOT / "setup.cfg", encoding="utf-8")
RECIPE = yaml.safe_load((ROOT / ".ci/recipe.yaml").read_text(encoding="utf-8"))


def test_recipe_has_version_and_requirements_of_package():
    assert RECIPE["context"]["version"] == propcvx.__version__
    listed = {}
    for entry in RECIPE["requirements"]["run"]:
        name, _, bound = (entry["then"] if isinstance(entry, dict) else entry).partition(" ")
        listed[name.removesuffix("-base")] = bound
    assert listed.pop("python") == ""
    always = [line for line in SETUP["options"]["install_requires"].splitlines() if line]
    outside = [line for line in always if '== "emscripten"' not in line]
    assert listed == dict(re.match(r"([\w-]+)(>=[\d.]+)", line).groups() for line in outside)


def test_names_are_imported_when_first_used():
    heavy = {"cvxpy", "scipy", "sklearn", "numpy"}
    code = f"import sys, propcvx.__main__; print(*{heavy} & {{*sys.modules}})"
    begun = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert begun.stdout.strip() == b""
    assert all(getattr(propcvx, name).__module__ for name in propcvx.__all__)
    modules = {module.name for module in iter_modules(propcvx.__path__)}
    left_out = {"__main__", "dask", "report"}  # the command, and what needs an extra
    assert {name for name in modules - left_out if not hasattr(propcvx, name)} == set()
