"""Time of work on a machine that does other things, too."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

SCHEDULED = Path("/proc/thread-self/schedstat")
"""What Linux tells of a thread: nanoseconds on a processor, and waiting for one."""


def working_seconds() -> float:
    """Seconds by the clock on the wall, less those that this thread waited for a processor.

    Of a thread that computes it is the time of the processor.  Sleep, other processes and other
    threads that it waits for are counted in full.  Where the system does not tell how long it
    waited, it is the clock on the wall.
    """
    while True:
        waited, wall = _waited(), perf_counter()
        if waited == _waited():  # it did not wait between the two
            return wall - waited


def _waited() -> float:
    try:
        return 1e-9 * int(SCHEDULED.read_text().split()[1])
    except OSError:
        return 0.0
