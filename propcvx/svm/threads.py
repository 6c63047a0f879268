"""BLAS held to one thread while small fits run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from threadpoolctl import ThreadpoolController

SMALL = 5000
"""Number of instances up to which BLAS has one thread, as several wait for each other.

On two cores, fits of 2,500 and 4,000 instances with a Gaussian kernel take a quarter to a third
less time with two threads where nothing else runs, and three to eight times as long where another
program has one of the cores, as in a container that may use fewer than the machine has.
"""


class OneThread:
    """Context that holds BLAS to one thread while any thread of this process is inside."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_active = 0
        self._limits: Any = None

    @cached_property
    def _libraries(self) -> ThreadpoolController:
        """Libraries loaded by the first fit; a search each time is a sixth of a small fit."""
        return ThreadpoolController()

    @contextmanager
    def __call__(self, n_instances: int) -> Iterator[None]:
        """Hold BLAS to one thread for work on at most ``SMALL`` instances."""
        if n_instances > SMALL:
            yield
            return
        with self._lock:
            self._n_active += 1
            if self._n_active == 1:
                self._limits = self._libraries.limit(limits=1, user_api="blas")
        try:
            yield
        finally:
            with self._lock:
                self._n_active -= 1
                if self._n_active == 0:
                    self._limits.restore_original_limits()


one_thread = OneThread()
"""The only instance in a process, as BLAS has one number of threads for the whole process."""
