"""What can be reproduced, as lists of cells: Tables 2, 3 and 4, Figure 1, Sections 7.1 and 7.2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from types import MappingProxyType
from typing import Any

from propcvx.errors import InputError
from propcvx.experiments.methods import SUPERVISED
from propcvx.experiments.reproduce.cells import Cell
from propcvx.experiments.reproduce.methods import (
    AVERAGED,
    ECOLOGICAL,
    FROM_INV_CAL,
    LLP_LEARN,
    SEARCHED,
)
from propcvx.experiments.reproduce.protocol import Protocol

METHODS = ("MeanMap", "InvCal", "alter-pSVM", "conv-pSVM")
TABLE_DATA = ("heart", "vote", "australian", "colic", "dna-1", "dna-2", "satimage-2")
UNPRINTED = ("credit-a", "a1a")
"""Two sets of Table 1 without accuracies in print: they confirm what was put together on others."""
TABLE_SIZES = (2, 4, 8, 16, 32, 64)
LARGE_SIZES = (2048, 4096, 8192)
OTHERS = (SUPERVISED, ECOLOGICAL)
OWN = 0
"""In place of a bag size where data have bags of their own."""
WIDE = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""The printed range of C_p in smaller steps, on which InvCal depends where bags are large."""


@dataclass(frozen=True)
class Block:
    """All combinations of some data, kernels, bag sizes, methods, repetitions and folds.

    Attributes
    ----------
    data, kernels, methods : tuple of str
    bag_sizes : tuple of int
    repetitions : int
    options : mapping
        Options in which the block differs from the protocol.
    """

    data: tuple[str, ...]
    kernels: tuple[str, ...] = ("linear",)
    bag_sizes: tuple[int, ...] = TABLE_SIZES
    methods: tuple[str, ...] = METHODS
    repetitions: int = 5
    options: Mapping[str, Any] = field(default_factory=dict)


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


EXPERIMENTS: Mapping[str, Experiment] = MappingProxyType(
    {
        "figure1": Experiment(
            "Figure 1: two bags whose means mislead",
            (
                Block(
                    ("figure1",),
                    bag_sizes=(OWN,),
                    repetitions=1,
                    options={"bags": "own", "folds": 1, "tuning": "none"},
                ),
            ),
        ),
        "table-linear": Experiment("Table 2: linear kernel", (Block(TABLE_DATA),)),
        "table-large": Experiment(
            "Table 3: cod-rna.t, 271,617 instances in large bags",
            (Block(("cod-rna.t",), bag_sizes=LARGE_SIZES),),
        ),
        "table-rbf": Experiment("Table 4: Gaussian kernel", (Block(TABLE_DATA, ("rbf",)),)),
        "robustness": Experiment(
            "Section 7.1: all bags have the proportion of the whole",
            (Block(("vote",), bag_sizes=(8, 32), options={"bags": "equal"}),),
        ),
        "timing": Experiment(
            "Section 7.2: time of a fit on vote, Gaussian kernel, default parameters",
            (Block(("vote",), ("rbf",), options={"tuning": "none"}, repetitions=1),),
        ),
        "natural": Experiment(
            "Women in their districts, and ballots in groups by votes in other contests",
            (
                Block(
                    ("contraception", "ballots-groups"),
                    bag_sizes=(OWN,),
                    methods=(*METHODS, *OTHERS),
                    options={"bags": "own", "InvCal_C_p": WIDE},
                ),
            ),
        ),
        "ballots": Experiment(
            "Ballots in random bags, 20,480 of them for training",
            (
                Block(
                    ("ballots-sample",),
                    bag_sizes=(64, 512),
                    methods=(*METHODS, *OTHERS),
                    options={"InvCal_C_p": WIDE},
                ),
            ),
        ),
        "better": Experiment(
            "Better than the paper: what it did not try",
            (
                Block((*TABLE_DATA, *UNPRINTED), methods=(AVERAGED, SUPERVISED)),
                Block(UNPRINTED),
                Block(TABLE_DATA[:4], methods=(SEARCHED,)),
                Block(("cod-rna.t",), bag_sizes=LARGE_SIZES, methods=(FROM_INV_CAL,)),
                Block(("ballots-sample",), bag_sizes=(512,), methods=(AVERAGED,)),
            ),
        ),
        "other-packages": Experiment(
            "A few columns of Table 2 with methods of llp-learn",
            (
                Block(
                    ("heart", "vote"),
                    bag_sizes=(8, 64),
                    methods=(*METHODS, *LLP_LEARN),
                    repetitions=1,
                ),
            ),
        ),
        "quick": Experiment(
            "A few columns of Table 2, and a set with bags of its own",
            (
                Block(
                    ("heart", "vote"),
                    bag_sizes=(8, 64),
                    methods=(*METHODS, *OTHERS),
                    repetitions=1,
                    options={"restarts": 3},
                ),
                Block(
                    ("contraception",),
                    bag_sizes=(OWN,),
                    methods=(*METHODS, *OTHERS),
                    repetitions=1,
                    options={"restarts": 3, "bags": "own"},
                ),
            ),
        ),
    }
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
    if name not in EXPERIMENTS:
        raise InputError(f"an experiment must be one of {list(EXPERIMENTS)}, got {name!r}.")
    blocks, chosen = EXPERIMENTS[name].blocks, selection or Selection()
    wanted = {
        part: _wanted(name, part, blocks, getattr(chosen, part))
        for part in ("data", "kernels", "bag_sizes", "methods", "repetitions")
    }
    cells = [cell for block in blocks for cell in _cells(block, protocol or Protocol(), wanted)]
    if not cells:
        given = {part: values for part, values in vars(chosen).items() if values is not None}
        raise InputError(f"{name} has no cell with all that is selected: {given}.")
    order = {part: {value: k for k, value in enumerate(values)} for part, values in wanted.items()}
    return sorted(
        cells,
        key=lambda cell: (
            order["repetitions"][cell.repetition],
            order["data"][cell.data],
            order["kernels"][cell.kernel],
            order["bag_sizes"][cell.bag_size],
            order["methods"][cell.method],
            cell.fold,
        ),
    )


def _values(block: Block, part: str) -> tuple[Any, ...]:
    found = getattr(block, part)
    return tuple(range(found)) if part == "repetitions" else found


def _wanted(
    name: str, part: str, blocks: Sequence[Block], values: Sequence[Any] | None
) -> tuple[Any, ...]:
    known = tuple(dict.fromkeys(value for block in blocks for value in _values(block, part)))
    unknown = [value for value in values or () if value not in known]
    if unknown:
        raise InputError(f"{part} of {name} must be among {list(known)}, got {unknown}.")
    return known if values is None else tuple(values)


def _cells(
    block: Block, protocol: Protocol, wanted: Mapping[str, tuple[Any, ...]]
) -> Iterator[Cell]:
    own = protocol.with_options(**block.options)
    parts = ("data", "kernels", "bag_sizes", "methods", "repetitions")
    ranges = [[value for value in _values(block, part) if value in wanted[part]] for part in parts]
    for data, kernel, bag_size, method, repetition in product(*ranges):
        for fold in range(own.design.folds):
            yield Cell(data, kernel, bag_size, method, repetition, fold, own)
