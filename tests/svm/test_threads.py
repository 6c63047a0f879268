"""Small fits hold BLAS to one thread, and give back what was there."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from propcvx.svm.threads import SMALL, one_thread


def blas_threads():
    """The most threads of any BLAS that is loaded; some are built for one."""
    return max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(limits=2, user_api="blas"):
        if blas_threads() != 2:
            pytest.skip("BLAS has one thread on this machine")
        yield


def test_small_fits_use_one_thread():
    with one_thread(SMALL):
        assert blas_threads() == 1
    with one_thread(SMALL + 1):
        assert blas_threads() == 2
    with pytest.raises(ZeroDivisionError), one_thread(SMALL):
        _ = 1 / 0
    assert blas_threads() == 2


def test_overlapping_thread_limits_restore_settings():
    entered, first_left = Barrier(2), Barrier(2)

    def work(leaves_first):
        with one_thread(1):
            entered.wait()
            if not leaves_first:
                first_left.wait()
        if leaves_first:
            first_left.wait()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, [True, False]))
    assert blas_threads() == 2
