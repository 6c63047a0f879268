"""Groups of instances, their cells in the bags, and what published shares alone say of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from propcvx.arrays import Array, Indices
from propcvx.bags import Bags
from propcvx.errors import InputError
from propcvx.programs import Program, group_count
from propcvx.solvers import solve

WHOLE = 1e-6
"""A bound that is above an integer by no more than this may be that integer, but for rounding."""


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
    of_groups, of_cells : sparse arrays of shape (n_groups, n_instances), (n_cells, n_instances)
        1 for the instances of a group, and of a cell.
    group, bag : int arrays of shape (n_cells,)
        The group and the bag of each cell.
    """

    names: Any
    code: Indices
    bags: Bags
    of_groups: sp.csr_array
    of_cells: sp.csr_array
    group: Indices
    bag: Indices

    @classmethod
    def of(cls, groups: Any, X: Any, bags: Bags) -> Cells:
        """Read groups: a column, several columns, or a function of X."""
        names, code = read_groups(groups, X, bags.n_instances)
        instance, bag = bags.pairs
        cells, place = np.unique(code[instance] * bags.n_bags + bag, return_inverse=True)
        n = bags.n_instances
        of_cells = sp.csr_array((np.ones(len(place)), (place, instance)), shape=(len(cells), n))
        of_groups = sp.csr_array((np.ones(n), (code, np.arange(n))), shape=(len(names), n))
        return cls(names, code, bags, of_groups, of_cells, *np.divmod(cells, bags.n_bags))

    def index(self) -> Any:
        """The names of the cells: those of their groups, and the bag."""
        from pandas import MultiIndex, Series

        inside = self.names[self.group]
        levels = [inside.get_level_values(level) for level in range(inside.nlevels)]
        bags = Series(self.bags.names(self.bags.codes[self.bag]), dtype=object).infer_objects()
        return MultiIndex.from_arrays([*levels, bags], names=[*inside.names, "bag"])

    def of_group(self, counts: Any) -> Any:
        """Sums over the cells of each group where bags do not cross; cells are the last axis."""
        whole = sp.csr_array((np.ones(len(self.group)), (self.group, np.arange(len(self.group)))))
        return (whole @ counts.T).T

    def sharp(self, lower: Indices, upper: Indices) -> tuple[tuple[Array, Array], ...]:
        """Least and largest count of positives, first of the groups and then of the cells.

        Parameters
        ----------
        lower, upper : int arrays of shape (n_bags,)
            Range of the number of positives in each bag.
        """
        if self.bags.crossing:
            program, sort = self._program(lower, upper)
            return tuple(_proved(program, sort, sets) for sets in (self.of_groups, self.of_cells))
        labels = self.bags.labels
        positive, free = self.of_cells @ (labels > 0), self.of_cells @ (labels == 0)
        known, left = (self.bags.membership @ each for each in (labels > 0, labels == 0))
        others = left[self.bag] - free
        least = positive + np.maximum(0.0, (lower - known)[self.bag] - others)
        most = positive + np.minimum(free, (upper - known)[self.bag])
        return (self.of_group(least), self.of_group(most)), (least, most)

    def _program(self, lower: Indices, upper: Indices) -> tuple[Program, Indices]:
        """The linear program, and the sort of each instance."""
        bags = self.bags
        of_instance = bags.pairs[1].reshape(bags.n_instances, -1)
        rows = np.column_stack([self.code, of_instance])
        _, first, sort = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        n = np.bincount(sort)
        positive, negative = (np.bincount(sort, sign * bags.labels > 0) for sign in (1, -1))
        return group_count(bags.membership[:, first], positive, n - negative, lower, upper), sort


def _proved(program: Program, sort: Indices, sets: sp.csr_array) -> tuple[Array, Array]:
    """Bounds on the counts of sets, which hold whatever the error of the solver."""
    _, first = np.unique(sort, return_index=True)
    inside = sets[:, first].toarray()
    least = [_least(program, row) for row in inside]
    return np.array(least), -np.array([_least(program, -row) for row in inside])


def _least(program: Program, inside: Array) -> float:
    r"""The least count, from the duals: any prices of the bags bound it.

    With prices u and :math:`r = c - B^\top u` it is :math:`u^\top B t + r^\top t`, and both terms
    are at least what the ranges of :math:`B t` and t allow.
    """
    duals = solve(program.set(inside=inside), residuals=False, quiet=True).duals
    named = {constant.name(): constant.value for constant in program.problem.constants()}
    prices = np.round(duals["lower"] - duals["upper"], 6)
    reduced = inside - named["B"].T @ prices
    ranges = ((prices, "l", "u"), (reduced, "f", "n"))
    bound = sum(np.minimum(each * named[a], each * named[b]).sum() for each, a, b in ranges)
    return float(np.ceil(bound - WHOLE))


def read_groups(groups: Any, X: Any, n_instances: int) -> tuple[Any, Indices]:
    """The groups, and the position of each instance's group among them.

    Raises
    ------
    InputError
        If a group has no instance, or a value is missing or not there for every instance.
    """
    from pandas import Index, MultiIndex, Series

    if callable(groups):
        if X is None:
            raise InputError("groups is a function of X, so X must be given, got None.")
        groups = groups(X)
    several = isinstance(groups, Mapping) or getattr(groups, "ndim", 1) == 2
    columns = dict(groups) if several and hasattr(groups, "keys") else {_name_of(groups): groups}
    read = {}
    for name, column in columns.items():
        shape = np.shape(column)
        if shape != (n_instances,):
            raise InputError(
                f"groups must have one group for each of the {n_instances} instances, got shape "
                f"{shape} in {name!r}; several columns are a DataFrame, or a dict of arrays."
            )
        series = Series(column).reset_index(drop=True)
        if series.isna().any():
            row = int(series.isna().argmax())
            raise InputError(f"groups must not be missing, got {series[row]} at row {row}.")
        empty = _without_instance(series)
        if empty:
            raise InputError(f"groups must have an instance each, got none of {empty} in {name!r}.")
        read[name] = series
    if not read:
        raise InputError("groups must have a column, got none.")
    if len(read) > 1:
        index = MultiIndex.from_arrays(list(read.values()), names=list(read))
    else:
        index = Index(*read.values(), name=next(iter(read)))
    code, names = index.factorize(sort=True)
    return names.rename(list(read) if len(read) > 1 else index.name), code


def _name_of(groups: Any) -> Any:
    """The name of a single column."""
    name = getattr(groups, "name", None)
    return "group" if name is None else name


def _without_instance(series: Any) -> list[Any]:
    """Groups that a column announces, and no instance is in: categories; True of a predicate."""
    if series.dtype == bool:
        return [] if series.any() else [True]
    categories = getattr(series.dtype, "categories", ())
    return [one for one in categories if not (series == one).any()]
