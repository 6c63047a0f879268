"""Groups of instances, their cells in the bags, and bounds from published proportions alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from propcvx.arrays import Array, Indices
from propcvx.bags.bags import Bags
from propcvx.checks import as_vector
from propcvx.errors import InputError


@dataclass(frozen=True, eq=False)
class Cells:
    """Groups, and cells: the instances of a group that are in one bag.

    Attributes
    ----------
    names : pandas Index
        The groups; a MultiIndex where they are combinations of several columns.
    code : int array of shape (n_instances,)
        The group of each instance.
    bags : Bags
    group, bag : int arrays of shape (n_cells,)
        The group and the bag of each cell.
    of_cells : sparse array of shape (n_cells, n_instances)
        1 for the instances of a cell.
    weights : array of shape (n_instances,)
        The weight of each instance in its group.
    """

    names: Any
    code: Indices
    bags: Bags
    group: Indices
    bag: Indices
    of_cells: sp.csr_array
    weights: Array

    @classmethod
    def from_groups(cls, groups: Any, X: Any, bags: Bags, sample_weight: Any = None) -> Cells:
        """Read groups: a column, several columns, or a function of X; and weights, if any."""
        n = bags.n_instances
        weights = np.ones(n) if sample_weight is None else as_vector(sample_weight, n)
        if weights is None or weights.min() <= 0.0:
            raise InputError(
                f"sample_weight must be one number above 0 for each of the {n} instances; got "
                f"{sample_weight!r}."
            )
        names, code = read_groups(groups, X, n)
        cells, place = np.unique(code * bags.n_bags + bags.index, return_inverse=True)
        of_cells = sp.csr_array((np.ones(n), (place, np.arange(n))))
        return cls(names, code, bags, *np.divmod(cells, bags.n_bags), of_cells, weights)

    @property
    def sets(self) -> sp.csr_array:
        """Sparse membership of the instances in each group, then in each cell."""
        places = self.code, np.arange(len(self.code))
        return sp.csr_array(
            sp.vstack([sp.csr_array((np.ones(len(self.code)), places)), self.of_cells])
        )

    def with_groups(self, counts: NDArray[Any]) -> Array:
        """Prepend the sums over the groups to the weights of cells (last axis)."""
        indicators = np.eye(len(self.names))[self.group]
        return np.concatenate([counts @ indicators, counts], axis=-1)

    def sharp_bounds(self, lower: Indices, upper: Indices) -> tuple[Array, Array]:
        """Compute the least and largest weight of the positives of each group, then of each cell.

        Parameters
        ----------
        lower, upper : int arrays of shape (n_bags,)
            Range of the number of positives in each bag.
        """
        positive, free = (self.of_cells @ mask for mask in self._label_masks)
        n_positive, n_free = (self.bags.membership @ mask for mask in self._label_masks)
        lowest = positive + np.maximum(0.0, (lower - n_positive - n_free)[self.bag] + free)
        highest = positive + np.minimum(free, (upper - n_positive)[self.bag])
        bounds = self.weigh(self.of_cells, lowest, 1), self.weigh(self.of_cells, highest, -1)
        return self.with_groups(bounds[0]), self.with_groups(bounds[1])

    def weigh(self, sets: sp.csr_array, counts: NDArray[Any], sign: int) -> Array:
        """Compute the least weight of given counts of positives, or with sign -1 the largest.

        Instances known to be positive are among them.
        """
        of_set = np.repeat(np.arange(len(counts)), np.diff(sets.indptr))
        weights, labels = self.weights[sets.indices], self.bags.labels[sets.indices]
        order = np.lexsort((sign * weights, -labels, of_set))
        first = np.arange(len(order)) - sets.indptr[of_set] < counts[of_set]
        return np.asarray(np.bincount(of_set, weights[order] * first, len(counts)), dtype=float)

    @property
    def _label_masks(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Masks of the instances known to be positive, and of those without a known label."""
        return self.bags.labels > 0, self.bags.labels == 0

    def index(self) -> Any:
        """Return the index of the cells: the names of their groups, and the bag."""
        from pandas import MultiIndex, Series

        groups = self.names[self.group]
        levels = [groups.get_level_values(level) for level in range(groups.nlevels)]
        bags = Series(self.bags.names(self.bags.codes[self.bag]), dtype=object).infer_objects()
        return MultiIndex.from_arrays([*levels, bags], names=[*groups.names, "bag"])


def read_groups(groups: Any, X: Any, n_instances: int) -> tuple[Any, Indices]:
    """Read the groups in their order, and the position of each instance's group among them.

    Raises
    ------
    InputError
        If a group has no instance, or a value is missing or not there for every instance.
    """
    from pandas import DataFrame, Series

    if callable(groups):
        if X is None:
            raise InputError("groups is a function of X, so X must be given; got None.")
        groups = groups(X)
    if getattr(groups, "nlevels", 1) > 1:
        groups = groups.to_frame(index=False)  # a MultiIndex
    name = getattr(groups, "name", None)
    several = isinstance(groups, Mapping | DataFrame)
    columns = dict(groups) if several else {"group" if name is None else name: groups}
    for name, column in columns.items():
        if np.shape(column) != (n_instances,):
            raise InputError(
                f"groups must have one group for each of the {n_instances} instances; got shape "
                f"{np.shape(column)} in {name!r}; several columns are a DataFrame or a dict."
            )
    if not columns:
        raise InputError("groups must have a column; got none.")
    frame = DataFrame({name: Series(column).array for name, column in columns.items()})
    if frame.isna().any(axis=None):
        row = int(frame.isna().any(axis=1).argmax())
        raise InputError(f"groups must not be missing; got {frame.loc[row].tolist()} at row {row}.")
    empty = [
        group
        for name in frame
        for group in _announced(frame[name])
        if not (frame[name] == group).any()
    ]
    if empty:
        raise InputError(f"every group must have an instance; empty: {empty}.")
    halves = frame.columns[frame.dtypes == "float16"]  # by which pandas does not group
    grouping = frame.astype(dict.fromkeys(halves, "float32")).groupby(list(frame), observed=True)
    return grouping.size().index, grouping.ngroup().to_numpy()


def _announced(column: Any) -> list[Any]:
    """Return the groups that the type of a column announces: True of a predicate, categories."""
    return [True] if column.dtype == bool else list(getattr(column.dtype, "categories", ()))
