"""Execute the notebooks and store their outputs: ``python docs/stored_outputs.py [NOTEBOOK ...]``.

Without names, those are executed whose code has changed since their outputs were stored.
"""

import base64
import hashlib
import io
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from PIL import Image
from student import NOTEBOOKS, code_sources

HERE = Path(__file__).resolve().parent
SKIPPED = "skip-output"
"""Tag of a cell whose output changes with every run, such as times."""
NOISE = re.compile(r"(?m)^Running HiGHS .*\n.*THIRD_PARTY.*\n|, after [\d.]+ s(?=, as)")
"""What HiGHS prints when it first runs, with any options; and seconds of `certify`."""


def code_hash(notebook: Any) -> str:
    """Hash the code cells, in their order."""
    return hashlib.sha256("\0".join(code_sources(notebook)).encode()).hexdigest()


def execute(path: Path) -> None:
    """Execute a notebook and store the outputs, with nothing that another run would change."""
    import nbclient  # the tests, which compare hashes, do without
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    metadata = {name: notebook.metadata[name] for name in ("kernelspec", "language_info")}
    run = nbclient.NotebookClient(notebook, timeout=600, record_timing=False, coalesce_streams=True)
    run.execute(cwd=str(NOTEBOOKS))
    for cell in notebook.cells:
        if SKIPPED in cell.metadata.get("tags", []):
            cell.outputs = []
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "text" in output:
                output["text"] = NOISE.sub("", output["text"])
            if "image/png" in data:
                data["image/png"] = in_few_colors(data["image/png"])
            if "text/plain" in data:
                data["text/plain"] = re.sub(" at 0x[0-9a-f]+", "", data["text/plain"])
    notebook.metadata = {**metadata, "propcvx": {"code": code_hash(notebook)}}
    nbformat.write(notebook, path)


def in_few_colors(encoded: str) -> str:
    """Reduce a PNG to a palette, which divides its size by three."""
    picture, file = Image.open(io.BytesIO(base64.b64decode(encoded))), io.BytesIO()
    picture.convert("RGB").quantize(128).save(file, "PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode()


def is_stale(notebook: Any) -> bool:
    """Whether the outputs are missing or belong to other code."""
    missing = not any(cell.get("outputs") for cell in notebook["cells"])
    return missing or notebook["metadata"].get("propcvx", {}).get("code") != code_hash(notebook)


if __name__ == "__main__":
    if (data := HERE.parents[1] / "shared/data").is_dir():
        os.environ.setdefault("PROPCVX_DATA", str(data))  # where the tests look, too
    os.environ["OMP_NUM_THREADS"] = "1"
    named = [Path(name) for name in sys.argv[1:]]
    everything = sorted(NOTEBOOKS.glob("*.ipynb"))
    chosen = named or [
        path for path in everything if is_stale(json.loads(path.read_text(encoding="utf-8")))
    ]
    Parallel(-1)(delayed(execute)(path) for path in chosen)
    print("executed:", *([path.stem for path in chosen] or ["none, all are up to date"]))
