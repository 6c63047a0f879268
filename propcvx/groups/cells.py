"""Groups of instances, their cells in the bags, and what published shares alone say of them."""

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
from propcvx.programs import Program, group_count
from propcvx.solvers import solve

WHOLE = 1e-6
"""A bound that is above an integer by no more than this may be that integer, but for rounding."""

DIGITS = 6
"""Decimals of the prices that a solver finds; those of a vertex are whole."""


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
        In the order of the rows.
    group, bag : int arrays of shape (n_cells,)
        The group and the bag of each cell.
    of_cells : sparse array of shape (n_cells, n_instances)
        1 for the instances of a cell.
    weights : array of shape (n_instances,)
        What each instance counts in a group.
    """

    names: Any
    code: Indices
    bags: Bags
    group: Indices
    bag: Indices
    of_cells: sp.csr_array
    weights: Array

    @classmethod
    def of(cls, groups: Any, X: Any, bags: Bags, sample_weight: Any = None) -> Cells:
        """Read groups: a column, several columns, or a function of X; and weights, if any."""
        n = bags.n_instances
        weights = np.ones(n) if sample_weight is None else as_vector(sample_weight, n)
        if weights is None or weights.min() <= 0.0:
            raise InputError(
                f"sample_weight must be one number above 0 for each of the {n} instances, got "
                f"{sample_weight!r}."
            )
        names, code = read_groups(groups, X, n)
        instance, bag = bags.pairs
        cells, place = np.unique(code[instance] * bags.n_bags + bag, return_inverse=True)
        of_cells = sp.csr_array((np.ones(len(place)), (place, instance)))
        return cls(names, code, bags, *np.divmod(cells, bags.n_bags), of_cells, weights)

    @property
    def sets(self) -> sp.csr_array:
        """1 for the instances of each group, then of each cell."""
        places = self.code, np.arange(len(self.code))
        return sp.csr_array(
            sp.vstack([sp.csr_array((np.ones(len(self.code)), places)), self.of_cells])
        )

    def with_groups(self, counts: NDArray[Any]) -> Array:
        """Weights of cells (last axis) after their sums in the groups, where bags do not cross."""
        whole = np.eye(len(self.names))[self.group]
        return np.concatenate([counts @ whole, counts], axis=-1)

    def sharp(self, lower: Indices, upper: Indices) -> tuple[Array, Array]:
        """Least and largest weight of the positives of each group, then of each cell.

        Parameters
        ----------
        lower, upper : int arrays of shape (n_bags,)
            Range of the number of positives in each bag.
        """
        if self.bags.crossing:
            return self.proved(lower, upper)
        positive, free = (self.of_cells @ some for some in self._known)
        known, left = (self.bags.membership @ some for some in self._known)
        least = positive + np.maximum(0.0, (lower - known - left)[self.bag] + free)
        most = positive + np.minimum(free, (upper - known)[self.bag])
        ends = self.weighed(self.of_cells, least, 1), self.weighed(self.of_cells, most, -1)
        return self.with_groups(ends[0]), self.with_groups(ends[1])

    def weighed(self, sets: sp.csr_array, counts: NDArray[Any], sign: int) -> Array:
        """The weight of so many positives in each set: the lightest, or with sign -1 the heaviest.

        Instances known to be positive are among them.
        """
        of_set = np.repeat(np.arange(len(counts)), np.diff(sets.indptr))
        weights, labels = self.weights[sets.indices], self.bags.labels[sets.indices]
        order = np.lexsort((sign * weights, -labels, of_set))
        first = np.arange(len(order)) - sets.indptr[of_set] < counts[of_set]
        return np.asarray(np.bincount(of_set, weights[order] * first, len(counts)), dtype=float)

    def proved(self, lower: Indices, upper: Indices) -> tuple[Array, Array]:
        """The same by :func:`propcvx.programs.group_count`, also where bags cross."""
        of_instance = self.bags.bags_of_instances
        alike = np.column_stack([self.code, of_instance, self.bags.labels, self.weights])
        _, first, n = np.unique(alike, axis=0, return_index=True, return_counts=True)
        positive, free = (n * some[first] for some in self._known)
        ranges = positive, positive + free, lower, upper
        program = group_count(self.bags.membership[:, first], *ranges)
        inside = self.sets[:, first].toarray() * self.weights[first]
        least, most = ([_least(program, sign * row) for row in inside] for sign in (1, -1))
        return 0.0 + np.array(least), 0.0 - np.array(most)  # no zero is negative

    @property
    def _known(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which instances are known to be positive, and which labels are not known."""
        return self.bags.labels > 0, self.bags.labels == 0

    def index(self) -> Any:
        """The names of the cells: those of their groups, and the bag."""
        from pandas import MultiIndex, Series

        inside = self.names[self.group]
        levels = [inside.get_level_values(level) for level in range(inside.nlevels)]
        bags = Series(self.bags.names(self.bags.codes[self.bag]), dtype=object).infer_objects()
        return MultiIndex.from_arrays([*levels, bags], names=[*inside.names, "bag"])


def _least(program: Program, inside: Array) -> float:
    r"""The least weight, from the duals: any prices of the bags bound it, however inaccurate.

    With prices u and :math:`r = c - B^\top u` it is :math:`u^\top B t + r^\top t`, and both terms
    are at least what the ranges of :math:`B t` and t allow.  Of equal weights it is a whole number.
    """
    unit = np.abs(inside).max()
    goal = inside / unit
    duals = solve(program.set(inside=goal), residuals=False, quiet=True).duals
    named = {constant.name(): constant.value for constant in program.problem.constants()}
    prices = np.round(duals["lower"] - duals["upper"], DIGITS)
    reduced = goal - named["B"].T @ prices
    ranges = ((prices, "l", "u"), (reduced, "f", "n"))
    bound = sum(np.minimum(each * named[a], each * named[b]).sum() for each, a, b in ranges)
    whole = np.isin(goal, (-1.0, 0.0, 1.0)).all()
    return float(unit * (np.ceil(bound - WHOLE) if whole else bound))


def read_groups(groups: Any, X: Any, n_instances: int) -> tuple[Any, Indices]:
    """The groups in their order, and the position of each instance's group among them.

    Raises
    ------
    InputError
        If a group has no instance, or a value is missing or not there for every instance.
    """
    from pandas import DataFrame, Series

    if callable(groups):
        if X is None:
            raise InputError("groups is a function of X, so X must be given, got None.")
        groups = groups(X)
    name = getattr(groups, "name", None)
    several = isinstance(groups, Mapping | DataFrame)
    columns = dict(groups) if several else {"group" if name is None else name: groups}
    for name, column in columns.items():
        if np.shape(column) != (n_instances,):
            raise InputError(
                f"groups must have one group for each of the {n_instances} instances, got shape "
                f"{np.shape(column)} in {name!r}; several columns are a DataFrame or a dict."
            )
    if not columns:
        raise InputError("groups must have a column, got none.")
    frame = DataFrame({name: Series(column).array for name, column in columns.items()})
    if frame.isna().any(axis=None):
        row = int(frame.isna().any(axis=1).argmax())
        raise InputError(f"groups must not be missing, got {frame.loc[row].tolist()} at row {row}.")
    empty = [
        group
        for name in frame
        for group in _announced(frame[name])
        if not (frame[name] == group).any()
    ]
    if empty:
        raise InputError(f"groups must have an instance each, got none of {empty}.")
    by = _single(frame).groupby(list(frame), observed=True)
    return by.size().index, by.ngroup().to_numpy()


def ranks(X: Any) -> Indices:
    """Rank of each row among the distinct ones, column by column, of values of any types."""
    from pandas import DataFrame

    frame = DataFrame(X.toarray() if sp.issparse(X) else X)
    columns = _single(frame.set_axis(range(frame.shape[1]), axis=1))  # names may be repeated
    by = columns.groupby(list(columns), observed=True, dropna=False)
    return by.ngroup().to_numpy()


def _single(frame: Any) -> Any:
    """Convert columns of float16, by which pandas does not group, to float32."""
    halves = frame.columns[frame.dtypes == "float16"]
    return frame.astype(dict.fromkeys(halves, "float32"))


def _announced(column: Any) -> list[Any]:
    """Groups that a column has by its type: True of a predicate, and categories."""
    return [True] if column.dtype == bool else list(getattr(column.dtype, "categories", ()))
