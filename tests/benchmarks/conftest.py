"""What benchmarks share: `make bench` times them, and the test suite runs each once, tiny."""

from functools import cache, partial

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from propcvx.datasets import load_real


@pytest.fixture
def quick(benchmark):
    """Whether it is only to be seen that the benchmark runs and its answer is right."""
    with threadpool_limits(1):
        yield benchmark.disabled


@pytest.fixture(scope="session")
def loaded(data_dir):
    """Real sets by name, each read once."""
    return cache(partial(load_real, data_home=data_dir, download=False))


@pytest.fixture
def real(quick, loaded):
    """The instances and labels of a real set; a few of them where it is to be quick."""

    def load(name):
        data = loaded(name)
        rows = np.arange(0, len(data.y), len(data.y) // 80 if quick else 1)
        return data.X[rows], data.y[rows]

    return load
