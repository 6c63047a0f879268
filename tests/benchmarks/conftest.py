"""What benchmarks share: `make bench` times them, and the test suite runs each once, tiny."""

from functools import cache, partial

import pytest
from threadpoolctl import threadpool_limits

from benchmarks.bench_data import generated
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
    """The instances and labels of a real set; a few generated ones where it is to be quick."""

    def load(name):
        return generated(80, 8) if quick else (loaded(name).X, loaded(name).y)

    return load
