"""Benchmark of what ``import propcvx`` costs beyond the packages it is made of."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from statistics import median

from propcvx.experiments.bench.measure import (
    Benchmark,
    Check,
    Measurement,
    Setting,
    Timing,
    certified,
)

HEAVY = {"matplotlib", "pandas", "pyscipopt"}
"""Modules that ``import propcvx`` must not add."""

FRESH = """
import json, sys, time
start = time.process_time()
import cvxpy, sklearn
middle, before = time.process_time(), set(sys.modules)
import propcvx
end = time.process_time()
print(json.dumps([end - middle, middle - start, sorted(set(sys.modules) - before)]))
"""


def import_time(setting: Setting) -> Iterator[Measurement]:
    """``import propcvx`` over the ``import cvxpy, sklearn`` before it, in fresh interpreters.

    The ratio to reach is 0.3 s on a machine that imports cvxpy and sklearn in 0.9 s.
    """
    runs = [_import() for _ in range(1 + min(setting.repeats, 7))][1:]  # the first reads disks
    further, base, modules = zip(*runs, strict=True)
    added = HEAVY & set(modules[0])
    text = f"adds {', '.join(sorted(added)) or 'none'} of {', '.join(sorted(HEAVY))}"
    yield certified(
        "import",
        "import propcvx / import cvxpy, sklearn, which came before",
        Timing(1e3 * median(further), 1e3 * median(base), None, None),
        Check(not added, text),
        reach=0.33,
    )


def _import() -> tuple[float, float, list[str]]:
    """Seconds of processor time of both imports, and the modules the further one added."""
    answer = subprocess.run(
        [sys.executable, "-c", FRESH],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    further, base, added = json.loads(answer.stdout)
    return further, base, added


ROWS = (Benchmark("import", "import propcvx over import cvxpy, sklearn", import_time),)
