"""What can be reproduced, as lists of cells: Tables 2, 3 and 4, Figure 1, Sections 7.1 and 7.2."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from operator import attrgetter
from typing import Any

from propcvx.checks import check_choice
from propcvx.errors import InputError
from propcvx.text import text_table
from reproduction.cells import Cell
from reproduction.methods import (
    BY_DEFAULT,
    ECOLOGICAL,
    FROM_INV_CAL,
    KERNELS,
    LLP_LEARN,
    PAPER,
    SUPERVISED,
    UNTUNED,
)
from reproduction.protocol import Protocol

TABLE_DATA = ("heart", "vote", "australian", "colic", "dna-1", "dna-2", "satimage-2")
NATURAL = ("contraception", "ballots-groups", "trump-2016", "guatemala-prenatal")
TABLE_SIZES = (2, 4, 8, 16, 32, 64)
LARGE_SIZES = (2048, 4096, 8192)
WITH_OTHERS = (*PAPER, SUPERVISED, ECOLOGICAL)
SMALL = TABLE_DATA[:4]
AS_THEY_ARE = {"tuning": "none"}
NO_SIZE = (0,)
"""Instead of bag sizes, for data that come with bags."""
WIDE = {"InvCal_C_p": (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)}
"""The printed range of C_p in smaller steps, on which InvCal depends where bags are large."""
FIGURE = {"bags": "own", "folds": 1, "tuning": "none"}
FEW_STARTS = {"restarts": 3}
FEW_STARTS_GIVEN = {**FEW_STARTS, "bags": "own"}


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
        """Its cells; options that the block does not set are those of the protocol."""
        protocol = protocol.with_options(**self.options)
        repetitions, folds = range(self.repetitions), range(protocol.folds)
        parts = (self.data, self.kernels, self.bag_sizes, self.methods, repetitions, folds)
        for place in product(*parts):
            yield Cell(*place, protocol)


@dataclass(frozen=True)
class Experiment:
    """An experiment: what it is about, and the blocks of its cells.

    Attributes
    ----------
    about : str
    blocks : sequence of Block
    """

    about: str
    blocks: Sequence[Block]

    @property
    def options(self) -> dict[str, Any]:
        """Options of the protocol that it sets itself."""
        return {name: value for block in self.blocks for name, value in block.options.items()}


EXPERIMENTS: Mapping[str, Experiment] = {
    "figure1": Experiment(
        "Figure 1: two bags whose means mislead",
        [Block(("figure1",), NO_SIZE, options=FIGURE, repetitions=1)],
    ),
    "table-linear": Experiment("Table 2: linear kernel", [Block(TABLE_DATA)]),
    "table-large": Experiment(
        "Table 3: cod-rna.t, 271,617 instances in large bags", [Block(("cod-rna.t",), LARGE_SIZES)]
    ),
    "table-rbf": Experiment("Table 4: Gaussian kernel", [Block(TABLE_DATA, kernels=("rbf",))]),
    "robustness": Experiment(
        "Section 7.1: all bags have the proportion of the whole",
        [Block(("vote",), (8, 32), options={"bags": "equal"})],
    ),
    "assignments": Experiment(
        "Tables 2 and 4, large bags: twenty assignments to bags, of which the tables have five",
        [
            Block(SMALL, (32, 64), kernels=KERNELS, repetitions=20),
            Block(SMALL, (32, 64), UNTUNED, KERNELS, 20, AS_THEY_ARE),
        ],
    ),
    "untuned": Experiment(
        "Fixed parameters, and defaults: nothing is chosen",
        [
            Block(TABLE_DATA, TABLE_SIZES, UNTUNED, KERNELS, options=AS_THEY_ARE),
            Block(("cod-rna.t",), LARGE_SIZES, UNTUNED, options=AS_THEY_ARE),
            Block(TABLE_DATA, methods=BY_DEFAULT, options=AS_THEY_ARE),
        ],
    ),
    "timing": Experiment(
        "Section 7.2: time of a fit on vote, Gaussian kernel, default parameters",
        [Block(("vote",), kernels=("rbf",), options=AS_THEY_ARE, repetitions=1)],
    ),
    "natural": Experiment(
        "People in their districts, states and communities, and ballots in groups by other votes",
        [Block(NATURAL, NO_SIZE, WITH_OTHERS, options={"bags": "own", **WIDE})],
    ),
    "better": Experiment(
        "Better than the paper: what it did not try",
        [
            Block(TABLE_DATA, methods=(SUPERVISED,)),
            Block(("cod-rna.t",), LARGE_SIZES, (FROM_INV_CAL,)),
        ],
    ),
    "other-packages": Experiment(
        "A few columns of Table 2 with methods of llp-learn",
        [Block(SMALL, (8, 32, 64), (*PAPER, *LLP_LEARN), repetitions=1)],
    ),
    "quick": Experiment(
        "A few columns of Table 2, and a set with bags of its own",
        [
            Block(TABLE_DATA[:2], (8, 64), WITH_OTHERS, options=FEW_STARTS, repetitions=1),
            Block(NATURAL[:1], NO_SIZE, WITH_OTHERS, options=FEW_STARTS_GIVEN, repetitions=1),
        ],
    ),
}
"""Experiments by name."""


@dataclass(frozen=True)
class Selection:
    """Which cells of an experiment are meant, and in which order; None means all in their order.

    The names are those of the attributes of a cell, in the plural, and in the order in which the
    cells are run.

    Attributes
    ----------
    repetitions : sequence of int, optional
        Counted from 0.
    data, kernels : sequence of str, optional
    bag_sizes : sequence of int, optional
    methods : sequence of str, optional
    """

    repetitions: Sequence[int] | None = None
    data: Sequence[str] | None = None
    kernels: Sequence[str] | None = None
    bag_sizes: Sequence[int] | None = None
    methods: Sequence[str] | None = None


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
    everything = [cell for block in blocks for cell in block.cells(protocol or Protocol())]
    cells = everything
    for part, values in reversed(vars(selection or Selection()).items()):
        value_of = attrgetter(part.removesuffix("s"))
        known = list(dict.fromkeys(map(value_of, everything)))
        order = known if values is None else list(dict.fromkeys(values))
        if unknown := [value for value in order if value not in known]:
            raise InputError(f"{part} of {name} must be among {known}, got {unknown}.")
        cells = [cell for value in order for cell in cells if value_of(cell) == value]
    if not cells:
        raise InputError(f"{name} has no cell with all that is selected: {selection}.")
    return cells


def plan_text(cells: Iterable[Cell], left: Iterable[Cell]) -> str:
    """How many cells there are of each data set, kernel and method, and how many are left to do.

    Parameters
    ----------
    cells : iterable of Cell
    left : iterable of Cell
        Those of them that a results file does not have.
    """
    parts = ("data", "kernel", "method")
    planned, to_do = (Counter(map(attrgetter(*parts), some)) for some in (cells, left))
    rows = [
        dict(zip(parts, group, strict=True)) | {"cells": count, "to do": to_do[group]}
        for group, count in planned.items()
    ]
    return f"{text_table(rows)}\n\n{planned.total()} cells, {to_do.total()} to do"
