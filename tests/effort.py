"""What `make test` leaves to `make coverage`: most hypothesis examples, and cases of long lists."""

from itertools import chain, repeat

import pytest
from hypothesis import settings

FULL = 40
"""Examples of a property in `make coverage`, where a test asks for no other number."""
LIGHT = 10
"""Examples in `make test`."""


def examples(number):
    """Settings of a property that has this number of examples in `make coverage`.

    Under the profile of `make test` it has a quarter of them.
    """
    share = settings.default.max_examples / FULL
    return settings(max_examples=max(2, round(number * share)))


def first(number, cases):
    """Cases of which `make test` runs this number, and `make coverage` all of them."""
    sets = (case if isinstance(case, tuple) else (case,) for case in cases)
    marks = chain(repeat((), number), repeat(pytest.mark.thorough))
    return [pytest.param(*each, marks=mark) for each, mark in zip(sets, marks, strict=False)]
