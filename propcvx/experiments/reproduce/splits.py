"""Splits that are fixed by hash: whoever runs the benchmark can see that it is on the same ones."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

PLACE = ("data", "content", "bag_size", "repetition", "fold", "design")
"""The settings of a cell that its split depends on."""


@cache
def fixed_splits() -> dict[str, str]:
    """Of each place, the hash of its training and test data with their bags.

    They are those of the experiment ``"quick"``; hashes as
    :func:`propcvx.experiments.reproduce.tasks.fingerprint` gives them.
    """
    text = files(__package__).joinpath("splits.csv").read_text()
    return {row["place"]: row["split"] for row in csv.DictReader(text.splitlines())}


def place_of(settings: Mapping[str, Any]) -> str:
    """What identifies a split among the settings of a cell."""
    part = {name: settings[name] for name in PLACE}
    return hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()[:16]


def compared(rows: Iterable[Mapping[str, Any]]) -> tuple[int, int]:
    """How many splits of a results file are fixed by hash, and how many of them are the same.

    Parameters
    ----------
    rows : iterable of mapping
        As :meth:`propcvx.experiments.reproduce.store.Store.rows` gives them.
    """
    found = {(place_of(json.loads(row["settings"])), row["split"]) for row in rows if row["split"]}
    known = [(place, split) for place, split in found if place in fixed_splits()]
    return len(known), sum(fixed_splits()[place] == split for place, split in known)
