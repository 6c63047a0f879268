"""joblib's backend for Dask, without its waiting for ever."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from joblib._dask import DaskDistributedBackend


class TellingBackend(DaskDistributedBackend):
    """Tells joblib of tasks that Dask gives up, which joblib 1.6 is not told of and waits for.

    Dask gives up a task under which several workers died, and all tasks when the scheduler is lost.
    """

    def submit(self, func: Any, callback: Callable[[Any], None] | None = None) -> Future[Any]:
        """As there; what became of the task is given to ``callback`` even if it is an error."""
        future: Future[Any] = super().submit(func, callback)
        if callback is not None:
            future.add_done_callback(lambda done: done.exception() and callback(done.exception()))
        return future

    def retrieve_result_callback(self, out: Any) -> Any:
        """As there, or the error."""
        if isinstance(out, BaseException):
            raise out
        return super().retrieve_result_callback(out)
