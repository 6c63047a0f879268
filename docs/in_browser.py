"""The notebooks as JupyterLite takes them: which can run in a browser, and what they run first."""

import json
import re
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZipFile

from student import code_sources, without_outputs

ELSEWHERE = re.compile(
    r'"(ecos|osqp|piqp|scip|scs|mixed_integer)"|MixedIntegerOracle|load_real|compare_(solvers|relaxations)'
)
"""What a notebook names that cannot run in a browser.

Solvers that Pyodide does not have, the oracle that needs SCIP, data sets whose publishers do not
answer other sites' pages, and experiments that run in processes of their own.
"""

FIRST = """\
# In a browser: what the notebook needs is fetched into this page, which takes a while at first.
%pip install -q propcvx pandas{more}
import tqdm
tqdm.tqdm.monitor_interval = 0  # a page has no threads"""

WIDGETS = ("ipywidgets", "jupyterlab_widgets")
"""Packages of the sliders, which Pyodide does not have; they come with the page."""


def can_run(notebook: Path) -> bool:
    """Whether a notebook names nothing that a browser lacks."""
    return not any(ELSEWHERE.search(source) for source in sources(notebook))


def sources(notebook: Path) -> list[str]:
    """The code of a notebook's file, a text a cell."""
    return code_sources(json.loads(notebook.read_text(encoding="utf-8")))


def build(project: Path, folder: Path, site: Path) -> None:
    """Build the site from the notebooks and the project's wheel, with no network.

    jupyterlite-sphinx does much the same, and has every page ask Google for a font.
    """
    for former in (folder, site):
        shutil.rmtree(former, ignore_errors=True)
    write_notebooks(project / "notebooks", folder / "files")
    command = [sys.executable, "-m", "jupyter", "lite", "build", "--apps", "notebooks"]
    command += ["--contents", "files", "--output-dir", str(site)]
    wheels = [write_wheel(project, folder / "wheel")]
    wheels += [repack(name, folder / "wheel") for name in WIDGETS]
    for wheel in wheels:
        command += ["--piplite-wheels", str(wheel)]
    told = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if told.returncode:
        raise RuntimeError(told.stdout + told.stderr)


def write_notebooks(notebooks: Path, folder: Path) -> None:
    """Copy those that can run, without outputs, each with a first cell that installs its needs."""
    folder.mkdir(parents=True)
    for path in filter(can_run, notebooks.glob("*.ipynb")):
        notebook = without_outputs(json.loads(path.read_text(encoding="utf-8")))
        cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
        notebook["cells"].insert(0, {**cell, "id": "in-browser", "source": first_cell(path)})
        notebook["metadata"]["kernelspec"] = {"name": "python", "display_name": "Python"}
        (folder / path.name).write_text(json.dumps(notebook), encoding="utf-8")


def first_cell(notebook: Path) -> str:
    """``FIRST`` with what the notebook imports."""
    sliders = any("ipywidgets" in source for source in sources(notebook))
    return FIRST.format(more=" ipywidgets" if sliders else "")


def repack(name: str, folder: Path) -> Path:
    """Make a wheel of the files of an installed package of pure Python."""
    package = distribution(name)
    wheel = folder / f"{name}-{package.version}-py3-none-any.whl"
    files = [file for file in package.files or () if file.hash and ".." not in file.parts]
    record = next(file for file in package.files or () if file.name == "RECORD")
    lines = [f"{file},{file.hash.mode}={file.hash.value},{file.size}" for file in files]
    with ZipFile(wheel, "w") as packed:
        for file in files:
            packed.write(str(package.locate_file(file)), str(file))
        packed.writestr(str(record), "\n".join([*lines, f"{record},,\n"]))
    return wheel


def write_wheel(project: Path, folder: Path) -> Path:
    """Build the project's wheel from nothing that an earlier build has left."""
    shutil.rmtree(project / "build/lib", ignore_errors=True)
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(project)], check=True)
    return next(folder.glob("*.whl"))
