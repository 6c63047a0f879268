"""A cell is a method on a fold: the smallest piece of an experiment that is run and kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import RandomState, SeedSequence
from sklearn.base import clone

from propcvx.checks import check_choice
from reproduction.data import content_hash
from reproduction.evaluation import Method
from reproduction.methods import METHODS
from reproduction.protocol import Design, Protocol

PARTS = ("data", "kernel", "bag_size", "method", "repetition", "fold")
"""Attributes in which the cells of an experiment differ."""
FORMER = {"seed": 0, "leftover": "keep", "scaling": "set"}
"""Options that have left; the hashes of stored cells have their values."""


def key_of(settings: str) -> str:
    """Hash of the settings of a cell, as JSON with sorted keys."""
    return hashlib.sha256(settings.encode()).hexdigest()


@dataclass(frozen=True)
class Cell:
    """A method on a fold of a repetition.

    Attributes
    ----------
    data : str
        A name as :func:`reproduction.data.load` takes it.
    kernel : "linear" or "rbf"
    bag_size : int
    method : str
        A name in ``METHODS``.
    repetition, fold : int
        From 0.
    protocol : Protocol
    """

    data: str
    kernel: str
    bag_size: int
    method: str
    repetition: int
    fold: int
    protocol: Protocol = field(default_factory=Protocol)

    def __post_init__(self) -> None:
        check_choice("method", self.method, METHODS)
        check_choice("kernel", self.kernel, METHODS[self.method].kernels)

    @property
    def name(self) -> str:
        """The cell in words."""
        return (
            f"{self.data} {self.kernel} {self.bag_size} {self.method} "
            f"repetition {self.repetition} fold {self.fold}"
        )

    def random(self, purpose: str, *, of_bags: bool = True) -> RandomState:
        """Random numbers for one purpose, the same for all methods, kernels and folds.

        Parameters
        ----------
        purpose : str
        of_bags : bool
            Whether they differ between bag sizes.
        """
        words = [purpose, self.data, self.repetition, self.bag_size if of_bags else 0]
        digest = hashlib.sha256(json.dumps(words).encode()).digest()
        entropy = [0, int.from_bytes(digest[:16], "big")]
        return RandomState(np.random.MT19937(SeedSequence(entropy)))

    @cached_property
    def configured(self) -> Method:
        """The method with the options of the protocol, and the grid that it is tuned over."""
        entry = METHODS[self.method]
        seed = int(self.random(f"labelings of fold {self.fold}").randint(2**31))
        estimator = clone(entry.estimator(seed)).set_params(**self._parameters)
        return Method(self.method, estimator, self._grid, entry.supervised)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """All that the result depends on."""
        return {
            **{part: getattr(self, part) for part in PARTS},
            "content": content_hash(self.data),
            "design": FORMER
            | {option.name: getattr(self.protocol, option.name) for option in fields(Design)},
            "version": METHODS[self.method].version,
            "parameters": self._parameters,
            "grid": {name: list(values) for name, values in self._grid.items()},
        }

    @cached_property
    def key(self) -> str:
        """Hash of the settings: equal keys, equal results."""
        return key_of(json.dumps(self.settings, sort_keys=True))

    @property
    def _parameters(self) -> dict[str, Any]:
        """The parameters of the estimator that the protocol sets."""
        options, entry = self.protocol, METHODS[self.method]
        parameters = {name: getattr(options, option) for name, option in entry.options.items()}
        if len(entry.kernels) == 1:
            return parameters
        gaussian = "rbf" if entry.supervised else options.gaussian
        return {"kernel": gaussian if self.kernel == "rbf" else self.kernel, **parameters}

    @property
    def _grid(self) -> dict[str, Sequence[Any]]:
        if self.protocol.tuning == "none":
            return {}
        options, entry = self.protocol, METHODS[self.method]
        grid = {name: getattr(options, option) for name, option in entry.grid_options.items()}
        if self.kernel == "rbf":
            grid["gamma"] = options.gammas
        return {**entry.grid, **grid}
