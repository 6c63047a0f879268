"""Worker processes whose first task gets no time to begin, so that one that hangs ends soon."""

from unittest.mock import patch

from propcvx.solvers import comparison


def hurried_once(in_worker):
    """The function, whose first call ends at its time limit even while the worker begins."""
    starts = iter([0.0])

    def hurried(*task, seconds):
        with patch.object(comparison, "START_SECONDS", next(starts, comparison.START_SECONDS)):
            return in_worker(*task, seconds=seconds)

    return hurried
