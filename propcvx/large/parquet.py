"""Chunks from Parquet files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from propcvx.bags.targets import bag_target
from propcvx.errors import InputError


def parquet_chunks(
    path: Any,
    *,
    bag: str = "bag",
    share: str = "share",
    features: Sequence[str] | None = None,
    label: str | None = None,
    weight: str | None = None,
    rows: int = 100_000,
) -> Callable[[], Iterator[Any]]:
    """Chunks of whole bags from a Parquet file, or a folder of them, by pyarrow.

    The rows of a bag must follow each other, also from file to file: a file is sorted by
    ``duckdb.sql("COPY (FROM 'in.parquet' ORDER BY bag) TO 'out.parquet'")``.

    Parameters
    ----------
    path : str, path or list of them
        What ``pyarrow.dataset.dataset`` reads.
    bag, share : str
        The columns with the id of the bag, and with its share of positives, which is null where it
        is not known.
    features : sequence of str, optional
        The columns of X; all others of numbers without it.
    label, weight : str, optional
        Columns with known labels -1, +1 or 0, and with weights of instances.
    rows : int
        About how many rows a chunk has: it ends with a bag.

    Returns
    -------
    function
        Without arguments, returns an iterator over ``(X, y)`` or ``(X, y, sample_weight)``: what
        :func:`propcvx.large.fit_chunks` takes.
    """
    try:
        import pyarrow as pa
        import pyarrow.dataset as ds
    except ImportError as error:
        raise InputError("parquet_chunks needs pyarrow: pip install pyarrow.") from error
    data = ds.dataset(path, format="parquet")
    extra = [name for name in (label, weight) if name is not None]
    columns = list(features or [n for n in data.schema.names if n not in (bag, share, *extra)])
    missing = [name for name in (bag, share, *columns, *extra) if name not in data.schema.names]
    if missing:
        raise InputError(f"path has no columns {missing}; it has {data.schema.names}.")

    def chunk(table: Any) -> Any:
        X = np.column_stack([table[name].to_numpy() for name in columns])
        ids, shares = (table[name].to_numpy() for name in (bag, share))
        first = np.flatnonzero(np.append(True, ids[1:] != ids[:-1]))
        own = np.repeat(shares[first], np.diff(np.append(first, len(ids))))
        if not np.array_equal(own, shares, equal_nan=True):
            wrong = int(np.argmax((own != shares) & ~(np.isnan(own) & np.isnan(shares))))
            raise InputError(
                f"share must be the same in all rows of a bag, got two for {ids[wrong]!r}."
            )
        told = [None if np.isnan(one) else one for one in shares[first]]
        known = None if label is None else table[label].to_numpy()
        y = bag_target(ids, dict(zip(ids[first].tolist(), told, strict=True)), labels=known)
        return (X, y) if weight is None else (X, y, table[weight].to_numpy())

    def chunks() -> Iterator[Any]:
        rest = None
        for batch in data.to_batches(columns=[bag, share, *columns, *extra], batch_size=rows):
            new = pa.Table.from_batches([batch])
            table = new if rest is None else pa.concat_tables([rest, new])
            ids = table[bag].to_numpy()
            last = len(ids) - int(np.argmax(ids[::-1] != ids[-1])) if len(ids) else 0
            if len(ids) >= rows and ids[0] != ids[-1]:
                yield chunk(table.slice(0, last))
                table = table.slice(last)
            rest = table
        if rest is not None and len(rest):
            yield chunk(rest)

    return chunks
