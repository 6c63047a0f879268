"""What can be reproduced, as lists of cells: Tables 2, 3 and 4, Figure 1, Sections 7.1 and 7.2."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from types import MappingProxyType
from typing import Any

from propcvx.checks import check_choice
from propcvx.errors import InputError
from propcvx.experiments.methods import (
    AVERAGED,
    ECOLOGICAL,
    FROM_INV_CAL,
    LLP_LEARN,
    PAPER,
    SEARCHED,
    SUPERVISED,
)
from propcvx.experiments.reproduce.cells import Cell
from propcvx.experiments.reproduce.protocol import Protocol
from propcvx.text import text_table

TABLE_DATA = ("heart", "vote", "australian", "colic", "dna-1", "dna-2", "satimage-2")
UNPRINTED = ("credit-a", "a1a")
"""Two sets of Table 1 without accuracies in print: they confirm what was put together on others."""
NATURAL = ("contraception", "ballots-groups")
TABLE_SIZES = (2, 4, 8, 16, 32, 64)
LARGE_SIZES = (2048, 4096, 8192)
WITH_OTHERS = (*PAPER, SUPERVISED, ECOLOGICAL)
OWN = (0,)
"""In place of bag sizes where data have bags of their own."""
WIDE = {"InvCal_C_p": (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)}
"""The printed range of C_p in smaller steps, on which InvCal depends where bags are large."""


FIGURE = {"bags": "own", "folds": 1, "tuning": "none"}
FEW_STARTS = {"restarts": 3}
FEW_STARTS_OWN = {**FEW_STARTS, "bags": "own"}


@dataclass(frozen=True)
class Block:
    """All combinations of some data, kernels, bag sizes, methods, repetitions and folds.

    Attributes
    ----------
    data : tuple of str
    bag_sizes : tuple of int
    methods, kernels : tuple of str
    repetitions : int
    options : mapping
        Options in which the block differs from the protocol.
    """

    data: tuple[str, ...]
    bag_sizes: tuple[int, ...] = TABLE_SIZES
    methods: tuple[str, ...] = PAPER
    kernels: tuple[str, ...] = ("linear",)
    repetitions: int = 5
    options: Mapping[str, Any] = field(default_factory=dict)

    def cells(self, protocol: Protocol) -> Iterator[Cell]:
        """Its cells, with the protocol where it does not set options itself."""
        own = protocol.with_options(**self.options)
        repetitions, folds = range(self.repetitions), range(own.design.folds)
        parts = (self.data, self.kernels, self.bag_sizes, self.methods, repetitions, folds)
        for place in product(*parts):
            yield Cell(*place, own)


@dataclass(frozen=True)
class Experiment:
    """An experiment by name.

    Attributes
    ----------
    about : str
    blocks : tuple of Block
    """

    about: str
    blocks: tuple[Block, ...]

    @property
    def options(self) -> dict[str, Any]:
        """Options of the protocol that it sets itself."""
        return {name: value for block in self.blocks for name, value in block.options.items()}


_TABLE: dict[str, tuple[str, list[Block]]] = {
    "figure1": (
        "Figure 1: two bags whose means mislead",
        [Block(("figure1",), OWN, options=FIGURE, repetitions=1)],
    ),
    "table-linear": ("Table 2: linear kernel", [Block(TABLE_DATA)]),
    "table-large": (
        "Table 3: cod-rna.t, 271,617 instances in large bags",
        [Block(("cod-rna.t",), LARGE_SIZES)],
    ),
    "table-rbf": ("Table 4: Gaussian kernel", [Block(TABLE_DATA, kernels=("rbf",))]),
    "robustness": (
        "Section 7.1: all bags have the proportion of the whole",
        [Block(("vote",), (8, 32), options={"bags": "equal"})],
    ),
    "timing": (
        "Section 7.2: time of a fit on vote, Gaussian kernel, default parameters",
        [Block(("vote",), kernels=("rbf",), options={"tuning": "none"}, repetitions=1)],
    ),
    "natural": (
        "Women in their districts, and ballots in groups by votes in other contests",
        [Block(NATURAL, OWN, WITH_OTHERS, options={"bags": "own", **WIDE})],
    ),
    "ballots": (
        "Ballots in random bags, 20,480 of them for training",
        [Block(("ballots-sample",), (64, 512), WITH_OTHERS, options=WIDE)],
    ),
    "better": (
        "Better than the paper: what it did not try",
        [
            Block((*TABLE_DATA, *UNPRINTED), methods=(AVERAGED, SUPERVISED)),
            Block(UNPRINTED),
            Block(TABLE_DATA[:4], methods=(SEARCHED,)),
            Block(("cod-rna.t",), LARGE_SIZES, (FROM_INV_CAL,)),
            Block(("ballots-sample",), (512,), (AVERAGED,)),
        ],
    ),
    "other-packages": (
        "A few columns of Table 2 with methods of llp-learn",
        [Block(TABLE_DATA[:2], (8, 64), (*PAPER, *LLP_LEARN), repetitions=1)],
    ),
    "quick": (
        "A few columns of Table 2, and a set with bags of its own",
        [
            Block(TABLE_DATA[:2], (8, 64), WITH_OTHERS, options=FEW_STARTS, repetitions=1),
            Block(NATURAL[:1], OWN, WITH_OTHERS, options=FEW_STARTS_OWN, repetitions=1),
        ],
    ),
}

EXPERIMENTS: Mapping[str, Experiment] = MappingProxyType(
    {name: Experiment(about, tuple(blocks)) for name, (about, blocks) in _TABLE.items()}
)
"""Experiments by name."""


@dataclass(frozen=True)
class Selection:
    """Which cells of an experiment are meant, and in which order; None means all as they come.

    Attributes
    ----------
    data, kernels, methods : sequence of str, optional
    bag_sizes, repetitions : sequence of int, optional
        Repetitions are counted from 0.
    """

    data: Sequence[str] | None = None
    kernels: Sequence[str] | None = None
    bag_sizes: Sequence[int] | None = None
    methods: Sequence[str] | None = None
    repetitions: Sequence[int] | None = None


ORDER = {
    "repetitions": "repetition",
    "data": "data",
    "kernels": "kernel",
    "bag_sizes": "bag_size",
    "methods": "method",
}
"""The parts of a selection, and what they are of a cell; cells are run in the order of these."""


def plan(
    name: str, protocol: Protocol | None = None, selection: Selection | None = None
) -> list[Cell]:
    """The cells of an experiment, in the order in which they are run.

    One repetition after the other; in it one data set, kernel and bag size after the other, so that
    whole columns of a table are finished early.

    Parameters
    ----------
    name : str
        A name in ``EXPERIMENTS``.
    protocol : Protocol, optional
        Options that the experiment sets itself are not taken from it.
    selection : Selection, optional

    Raises
    ------
    InputError
        If the experiment, or something in the selection, is not known, the message lists what is;
        or if nothing of the experiment is selected.

    Examples
    --------
    >>> [cell.name for cell in plan("figure1", selection=Selection(methods=["InvCal"]))]
    ['figure1 linear 0 InvCal repetition 0 fold 0']
    """
    blocks = EXPERIMENTS[check_choice("experiment", name, EXPERIMENTS)].blocks
    cells = [cell for block in blocks for cell in block.cells(protocol or Protocol())]
    selected = vars(selection or Selection())
    wanted = {}
    for part, of_cell in ORDER.items():
        known = list(dict.fromkeys(getattr(cell, of_cell) for cell in cells))
        wanted[of_cell] = known if selected[part] is None else list(selected[part])
        unknown = [value for value in wanted[of_cell] if value not in known]
        if unknown:
            raise InputError(f"{part} of {name} must be among {known}, got {unknown}.")
    kept = [cell for cell in cells if all(getattr(cell, of) in wanted[of] for of in wanted)]
    if not kept:
        given = {part: values for part, values in selected.items() if values is not None}
        raise InputError(f"{name} has no cell with all that is selected: {given}.")
    return sorted(
        kept, key=lambda cell: [*(wanted[of].index(getattr(cell, of)) for of in wanted), cell.fold]
    )


def plan_text(cells: Sequence[Cell], left: Collection[Cell]) -> str:
    """How many cells there are of each data set, kernel and method, and how many are left to do.

    Parameters
    ----------
    cells : sequence of Cell
    left : collection of Cell
        Those of them that a results file does not have.
    """
    groups: dict[tuple[str, ...], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.data, cell.kernel, cell.method), []).append(cell)
    to_do = {cell.key for cell in left}
    rows = [
        {
            **dict(zip(("data", "kernel", "method"), place, strict=True)),
            "cells": str(len(group)),
            "to do": str(sum(cell.key in to_do for cell in group)),
        }
        for place, group in groups.items()
    ]
    return f"{text_table(rows)}\n\n{len(cells)} cells, {len(left)} to do"
