"""AlterPropSVM, InvCal and MeanMap on Dask collections, in the manner of LightGBM's estimators.

The partitions stay with the workers of a ``dask.distributed`` cluster, and so do the labels.  What
travels are sums over partitions, as in :func:`propcvx.large.fit_chunks`, whose code this is.  It
needs the extra ``propcvx[dask]``.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from operator import itemgetter
from sys import version_info
from typing import Any

import numpy as np

from propcvx import __version__, estimators
from propcvx.bags.targets import bag_target, known_labels
from propcvx.errors import InputError
from propcvx.large.fit import fit_parts
from propcvx.large.parts import Kept, OnPart

try:
    import distributed
    from distributed import Client
except ImportError as error:
    raise InputError(
        f"propcvx.dask needs dask.distributed: pip install 'propcvx[dask]' ({error})."
    ) from error


@dataclass
class Partitions:
    """Parts that stay on a cluster, see ``propcvx.large.parts.Parts``.

    Attributes
    ----------
    client : distributed.Client
    futures : list
        The parts.
    numbers : list of int
        Their partitions, in the collection that they are of.
    passes : int
        Number of passes so far.
    received : int
        Bytes of what has come back from the workers.
    """

    client: Any
    futures: list[Any]
    numbers: list[int]
    passes: int = 0
    received: int = 0

    def each(self, function: OnPart, kept: Kept | None, *arguments: Any) -> list[Any]:
        """See ``propcvx.large.parts.Parts``."""
        return self._gathered(self._sent(function, kept, arguments))

    def keep(self, function: OnPart, kept: Kept | None, *arguments: Any) -> tuple[Kept, list[Any]]:
        """See ``propcvx.large.parts.Parts``."""
        pairs = self._sent(function, kept, arguments)
        stay, travel = (
            [self.client.submit(itemgetter(half), pair, pure=False) for pair in pairs]
            for half in (0, 1)
        )
        return stay, self._gathered(travel)

    def _sent(self, function: OnPart, kept: Kept | None, arguments: tuple[Any, ...]) -> list[Any]:
        return [
            self.client.submit(_in_partition, number, function, part, own, *arguments, pure=False)
            for number, part, own in zip(
                self.numbers, self.futures, kept or [None] * len(self.futures), strict=True
            )
        ]

    def _gathered(self, futures: list[Any]) -> list[Any]:
        found: list[Any] = self.client.gather(futures)
        self.passes, self.received = self.passes + 1, self.received + len(pickle.dumps(found))
        return found


def _in_partition(number: int, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns; an error in the data names the partition, counted from 0."""
    try:
        return function(*arguments)
    except ValueError as error:
        raise InputError(f"partition {number}: {error}") from error


def _part(X: Any, bags: Any) -> tuple[Any, ...]:
    """A part, of a block of instances and a frame with their bags."""
    known = known_labels(bags["label"], len(bags)) if "label" in bags else None
    shares = bags["share"].astype(object).where(bags["share"].notna(), None)
    y = bag_target(bags["bag"].tolist(), dict(zip(bags["bag"], shares, strict=True)), labels=known)
    return (X, y, bags["weight"].to_numpy()) if "weight" in bags else (X, y)


def _versions() -> tuple[str, str, str]:
    return f"{version_info[0]}.{version_info[1]}", np.__version__, __version__


@dataclass(eq=False, init=False)
class _OnCluster:
    """Base of the estimators on Dask collections.

    Parameters
    ----------
    client : distributed.Client, optional
        The cluster; the client that was made last without it.
    **parameters
        Those of the estimator of the same name.

    Attributes
    ----------
    parts_ : Partitions
        Its ``passes`` and ``received`` say how often the data were gone through, and how many bytes
        came back from the workers.

    Notes
    -----
    After ``fit`` it has the attributes of the estimator, but for ``labeling_``.
    """

    def __init__(self, client: Client | None = None, **parameters: Any) -> None:
        self.client = client
        self._local: Any = getattr(estimators, type(self).__name__)(**parameters)

    def fit(self, features: Any, bags: Any) -> Any:
        """Fit to collections with the same partitions, which hold whole bags or are empty.

        Parameters
        ----------
        features : Dask DataFrame or Array of shape (n_instances, n_features)
        bags : Dask DataFrame
            With the columns ``bag`` and ``share``, and where there are any ``label`` (-1, +1, or 0
            where unknown) and ``weight``.

        Returns
        -------
        self

        Raises
        ------
        InputError
            As :func:`propcvx.large.fit_chunks` does; if the partitions differ; if there are no
            workers, or some with other versions of Python, NumPy or propcvx.
        """
        client = self.client or distributed.default_client()
        _check_workers(client)
        blocks, frames = _delayed(features), _delayed(bags)
        if len(blocks) != len(frames):
            raise InputError(
                f"features and bags must have the same partitions, got {len(blocks)} and "
                f"{len(frames)}; take both from one collection, frame[columns] and "
                "frame[['bag', 'share']]."
            )
        missing = {"bag", "share"} - set(bags.columns)
        if missing:
            raise InputError(
                f"bags must have the columns 'bag' and 'share', got {[*bags.columns]}."
            )
        own = client.compute([*blocks, *frames])
        pairs = list(zip(own[: len(blocks)], own[len(blocks) :], strict=True))
        sizes = client.gather([client.submit(len, frame, pure=False) for _, frame in pairs])
        full = {number: pairs[number] for number in np.flatnonzero(sizes).tolist()}
        if not full:
            raise InputError(f"features and bags have no rows in their {len(pairs)} partitions.")
        parts = [
            client.submit(_in_partition, number, _part, *pair, pure=False)
            for number, pair in full.items()
        ]
        self.parts_ = Partitions(client, parts, [*full])
        try:
            fit_parts(self._local, self.parts_)
        finally:
            self.parts_.futures = []
        return self

    def predict(self, features: Any) -> Any:
        """The labels of a Dask DataFrame or Array, as a Dask Array."""
        local = self.to_local()
        if hasattr(features, "to_dask_array"):
            meta = np.empty(0, dtype=local.classes_.dtype)
            return features.map_partitions(local.predict, meta=meta)
        return features.map_blocks(local.predict, drop_axis=1, dtype=local.classes_.dtype)

    def to_local(self) -> Any:
        """The estimator of this name, fitted, for data in memory."""
        return deepcopy(self._local)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, the client among them."""
        return {"client": self.client, **self._local.get_params(deep)}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._local, name)


def _delayed(collection: Any) -> list[Any]:
    """The partitions of a collection, by rows."""
    if not hasattr(collection, "to_delayed"):
        raise InputError(
            "features and bags must be Dask collections, got "
            f"{type(collection).__name__}; what is in memory is for the estimators of propcvx."
        )
    if getattr(collection, "ndim", 2) == 2 and getattr(collection, "numblocks", (1, 1))[1] > 1:
        collection = collection.rechunk({1: -1})
    return list(np.ravel(collection.to_delayed()))


def _check_workers(client: Any) -> None:
    """Raise where there are no workers, or some with other versions."""
    ours, workers = _versions(), client.run(_versions)
    if not workers:
        raise InputError("the cluster has no workers; start some, or wait for them.")
    other = {name: theirs for name, theirs in workers.items() if theirs != ours}
    if other:
        raise InputError(
            f"workers must have Python, NumPy and propcvx in the versions {ours} of the client, "
            f"got {other}; install the same ones there."
        )


class AlterPropSVM(_OnCluster):
    """:class:`propcvx.AlterPropSVM` on Dask collections: ``client`` and the same parameters."""


class InvCal(_OnCluster):
    """:class:`propcvx.InvCal` on Dask collections: ``client`` and the same parameters."""


class MeanMap(_OnCluster):
    """:class:`propcvx.MeanMap` on Dask collections: ``client`` and the same parameters."""
