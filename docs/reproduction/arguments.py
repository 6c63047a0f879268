"""Types of arguments of the commands."""

from __future__ import annotations

from argparse import ArgumentTypeError
from ast import literal_eval
from collections.abc import Callable
from typing import Any


def several(kind: Callable[[str], Any]) -> Callable[[str], list[Any]]:
    """Values of that type, between commas."""

    def values(text: str) -> list[Any]:
        return [kind(word) for word in text.split(",")]

    values.__name__ = f"list of {kind.__name__}"
    return values


def literal(text: str) -> Any:
    """A number, truth value or tuple of numbers; anything else is a word."""
    try:
        return literal_eval(text)
    except (ValueError, SyntaxError, TypeError):
        return text


def accuracy(text: str) -> str | float:
    """A tolerance, or a name of one."""
    return text if text.isalpha() else float(text)


def seed(text: str, least: int = 0) -> int:
    """A whole number that a random generator takes."""
    if not least <= int(text) < 2**32:
        raise ArgumentTypeError(f"must be from {least} to 2**32 - 1, got {text}")
    return int(text)


def count(text: str) -> int:
    """A whole number, at least 1."""
    return seed(text, least=1)
