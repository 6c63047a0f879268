"""The section of a report on where its numbers come from: the file, the machine, the commands."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from propcvx.experiments.reproduce.store import Store
from propcvx.experiments.tables import markdown_table


def origin(store: Store, content: str, rows: Sequence[Mapping[str, Any]], shown: set[str]) -> str:
    """The file and its hash, what failed, versions, machine and commands.

    Parameters
    ----------
    store : Store
    content : str
        As :func:`content_hash` gave it when the results were read.
    rows : sequence of mapping
        All its results.
    shown : set of str
        Keys of the cells that the report knows.
    """
    other = sum(row["key"] not in shown for row in rows)
    failed = [
        f"{row['data']} {row['kernel']} {row['bag_size']} {row['method']}: {row['error']}"
        for row in rows
        if row["error"]
    ]
    environments = store.environments()
    commands = list(dict.fromkeys(one["command"] for one in environments))
    parts = [
        "## The file",
        f"{store.file.name}, {content}: {len(rows)} results, {other} of them of other options or "
        "versions"
        + (", which `propcvx report` shows with the options of their commands." if other else "."),
        *(["Failed:", _verbatim(failed)] if failed else []),
        *(["Commands:", _verbatim(commands), _machines(environments)] if environments else []),
    ]
    return "\n\n".join(parts)


def content_hash(file: Path) -> str:
    """The hash, unless a run has commits beside the file that are not yet in it."""
    journal = file.with_name(f"{file.name}-wal")
    if journal.is_file() and journal.stat().st_size:
        return "in use by a run, so without a hash"
    with file.open("rb") as content:
        return f"sha256 `{hashlib.file_digest(content, 'sha256').hexdigest()}`"


def _machines(environments: Sequence[Mapping[str, str]]) -> str:
    """Versions and machines of the runs, equal ones once."""
    kinds: list[dict[str, str]] = []
    for one in environments:
        kind = {name: value for name, value in one.items() if name != "command"}
        if kind not in kinds:
            kinds.append(kind)
    names = dict.fromkeys(name for kind in kinds for name in kind)
    head = ["", *(f"environment {number}" for number in range(1, len(kinds) + 1))]
    return markdown_table(
        head, [[name, *(kind.get(name, "not kept") for kind in kinds)] for name in names]
    )


def _verbatim(lines: Sequence[str]) -> str:
    return "\n".join(["~~~~", *lines, "~~~~"])
