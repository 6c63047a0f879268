"""What fits to the same instances and bags have in common."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class Shared:
    """Parts that several fits to the same instances and bags have in common, each built once.

    Parameters
    ----------
    several : bool
        Whether there are several fits, so that remembering answers is worth its memory.
    """

    def __init__(self, *, several: bool = False) -> None:
        self.several = several
        self._parts: dict[Hashable, Any] = {}

    def part(self, key: Hashable, build: Callable[[], T]) -> T:
        """The part of that name, built where it is not there yet."""
        if key not in self._parts:
            self._parts[key] = build()
        part: T = self._parts[key]
        return part
