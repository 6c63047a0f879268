"""Tables with one row for each bag, and fits to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
from sklearn.utils.validation import validate_data

from propcvx.bags.bags import Bags
from propcvx.bags.targets import as_mapping, some_of
from propcvx.checks import as_vector, check_number, check_proportion, check_same_order
from propcvx.errors import InputError
from propcvx.estimators.ecological import EcologicalRegression
from propcvx.estimators.means import InvCal
from propcvx.estimators.scaling import warn_if_unscaled
from propcvx.svm.kernels import FeatureMap, Kernel

MeansEstimator = TypeVar("MeansEstimator", EcologicalRegression, InvCal)


@dataclass(frozen=True, eq=False)
class BagMeans:
    """A table with one row for each bag, such as a census office publishes.

    Parameters
    ----------
    means : array of shape (n_bags, n_features)
        The mean of the instances of each bag.
    proportions : array of shape (n_bags,), dict or Series
        The proportion of positives in each bag, in [0, 1]; None where it is not known.  An array is
        in the order of the rows; a dict, or a Series indexed by bag, is keyed by ``ids``.
    sizes : array of shape (n_bags,), dict or Series
        The number of instances of each bag.
    ids : sequence of hashable, length n_bags, optional
        The name of each bag, for parameters that are keyed by bag and for messages; by default
        0, 1, ...
    weights : array of shape (n_bags,), dict or Series, optional
        The mean weight of the instances of each bag, above 0, if ``means`` are weighted means;
        otherwise 1.

    Raises
    ------
    InputError
        If the columns do not fit together; values are checked in the fit.

    Examples
    --------
    >>> from propcvx import BagMeans
    >>> table = BagMeans([[0.0], [2.0]], [0.2, 0.9], sizes=[100, 50], ids=["Ely", "Rye"])
    >>> table.bags.sizes
    array([100.,  50.])
    """

    means: Any
    proportions: Any
    sizes: Any
    ids: Sequence[Hashable] | None = None
    weights: Any = None

    def __post_init__(self) -> None:
        check_same_order({"means": self.means, "ids": self.ids})
        check_same_order({name: getattr(self, name) for name in ("means", "proportions", "sizes")})
        sizes = as_vector(self._column("sizes"), len(self.means))
        if sizes is None or (sizes < 1.0).any() or (sizes != np.rint(sizes)).any():
            raise InputError(
                f"sizes must be the number of instances of each of the {len(self.means)} bags, "
                f"whole numbers of at least 1; got {self.sizes!r:.200}."
            )
        weights = as_vector(self._column("weights"), len(sizes))
        if self.weights is not None and (weights is None or not (weights > 0.0).all()):
            raise InputError(
                f"weights must be a finite number above 0 for each of the {len(sizes)} bags; got "
                f"{self.weights!r:.200}."
            )
        for name, column in (("proportions", self._column("proportions")), ("ids", self.ids)):
            if column is not None and len(column) != len(sizes):
                raise InputError(
                    f"{name} must have one entry for each of the {len(sizes)} rows of means; got "
                    f"{len(column)}."
                )
        repeated = [name for name, rows in Counter(self.names).items() if rows > 1]
        if repeated:
            raise InputError(
                f"ids must name each bag once; got several rows of {some_of(repeated)}."
            )

    @classmethod
    def concat(cls, tables: Sequence[BagMeans]) -> BagMeans:
        """Join the tables of several groupings of the same instances, such as precinct and age.

        Bags of different tables stay separate.  The id of a bag is the pair of the number of its
        table and its id in that table.

        Parameters
        ----------
        tables : sequence of BagMeans
            Tables with the same columns of means.

        Raises
        ------
        InputError
            If there is no table, or the columns differ in number, names or order.

        Examples
        --------
        >>> from propcvx import BagMeans
        >>> precinct = BagMeans([[1.0], [3.0]], {"a": 0.2, "b": 0.8}, [20, 20], ids=["a", "b"])
        >>> age = BagMeans([[1.5], [2.5]], {"old": 0.4, "young": 0.6}, [20, 20], ["old", "young"])
        >>> BagMeans.concat([precinct, age]).names
        [(0, 'a'), (0, 'b'), (1, 'old'), (1, 'young')]
        """
        widths = {np.shape(table.means)[1] for table in tables}
        named = [list(table.means.columns) for table in tables if hasattr(table.means, "columns")]
        if len(widths) != 1 or any(names != named[0] for names in named):
            raise InputError(
                "tables must be one or more BagMeans with the same columns of means, in the same "
                f"order; got {named or widths}."
            )
        all_bags = [table.bags for table in tables]
        means: Any = np.vstack([np.asarray(table.means) for table in tables])
        if hasattr(tables[0].means, "columns"):
            means = type(tables[0].means)(means, columns=tables[0].means.columns)
        proportions = np.concatenate([bags.proportions for bags in all_bags])
        return cls(
            means,
            [None if np.isnan(p) else p for p in proportions],
            np.concatenate([bags.sizes for bags in all_bags]),
            [(place, name) for place, table in enumerate(tables) for name in table.names],
            np.concatenate([bags.mean_weight * bags.weights_of_bags for bags in all_bags]),
        )

    @property
    def names(self) -> list[Hashable]:
        """The name of each bag."""
        return list(range(len(self.means)) if self.ids is None else self.ids)

    @cached_property
    def bags(self) -> Bags:
        """The bags, in the order of the rows."""
        pairs = zip(self._column("proportions"), map(repr, self.names), strict=True)
        proportions = [np.nan if p is None else check_proportion(p, bag) for p, bag in pairs]
        sizes = np.asarray(self._column("sizes"), dtype=np.float64)
        if self.weights is None:
            return Bags.from_rows(self.names, np.array(proportions), sizes, sizes)
        masses = sizes * np.asarray(self._column("weights"), dtype=np.float64)
        mean = float(masses.sum() / sizes.sum())
        bags = Bags.from_rows(self.names, np.array(proportions), sizes, masses / mean)
        return replace(bags, mean_weight=mean)

    def _column(self, argument: str) -> Any:
        """Return a column in the order of the rows, also if it is keyed by bag."""
        column = getattr(self, argument)
        mapping = None if self._is_by_row(column) else as_mapping(argument, column)
        if mapping is None:
            return column
        if self.ids is None and set(mapping) != set(self.names):
            raise InputError(
                f"{argument} must be in the order of the rows of means where no ids are given; got "
                f"the keys {some_of(list(mapping))}; ids=[...] names the bag of each row."
            )
        missing = [name for name in self.names if name not in mapping]
        if missing:
            raise InputError(
                f"{argument} must name every bag of ids; missing: {some_of(missing)}; "
                f"list({argument}) of a Series is in the order of its rows."
            )
        return [mapping[name] for name in self.names]

    def _is_by_row(self, column: Any) -> bool:
        """Return whether the index of a Series numbers rows of a table, and not bags."""
        if not hasattr(column, "iloc"):
            return False
        index, others = column.index, (self.means, cast("Any", self.ids))
        of_rows = [other.index for other in others if hasattr(other, "iloc")]
        numbered = getattr(index, "start", None) == 0 and not set(index) >= set(self.names)
        return numbered or any(map(index.equals, of_rows))


def fit_means(estimator: MeansEstimator, table: BagMeans) -> MeansEstimator:
    r"""Fit EcologicalRegression or InvCal to the means of bags, without their instances.

    Both methods use the means alone, so the weights and the bias equal those of a fit to the
    instances.  There is no ``transduction_``, and for InvCal no ``predict_proba``, which is
    calibrated on instances.

    Parameters
    ----------
    estimator : EcologicalRegression or InvCal
        An estimator with the linear kernel.
    table : BagMeans

    Returns
    -------
    EcologicalRegression or InvCal
        ``estimator`` itself, fitted in place.

    Raises
    ------
    InputError
        For any other method or kernel, as it needs the instances.  The mean operator of MeanMap is
        in such a table, but not the rest of its likelihood, :math:`\sum_i \log(e^{f_i} +
        e^{-f_i})`: data with the same means, and even the same second moments, have other fits.

    Warns
    -----
    UnscaledWarning
        If columns of the means have very different ranges.

    Examples
    --------
    >>> from propcvx import BagMeans, EcologicalRegression, fit_means
    >>> table = BagMeans([[0.0], [1.0], [2.0]], [0.2, 0.5, 0.8], sizes=[100, 50, 200])
    >>> fit_means(EcologicalRegression(), table).predict([[0.5], [1.5]])
    array([-1,  1])
    """
    if not isinstance(estimator, EcologicalRegression | InvCal):
        raise InputError(
            "fit_means needs EcologicalRegression or InvCal, which see of a bag its mean alone; "
            f"{type(estimator).__name__} needs the instances: fit it to them, or to a sample of "
            "whole bags (propcvx.dask.sample_bags) if they do not fit into memory."
        )
    if not isinstance(table, BagMeans):
        raise InputError(
            f"table must be a BagMeans(means, proportions, sizes); got {type(table).__name__}."
        )
    means = validate_data(estimator, table.means, dtype=np.float64, ensure_min_samples=2)
    check_number("solver_tol", estimator.solver_tol, low=0.0)
    if estimator.kernel != "linear":
        raise InputError(
            f"kernel must be 'linear' where the instances are not all in memory; got "
            f"{estimator.kernel!r}. Put a feature map before it "
            "(sklearn.kernel_approximation.Nystroem, RBFSampler)."
        )
    warn_if_unscaled(means)
    result = estimator._run(FeatureMap(Kernel(), means), table.bags.round_proportions())
    estimator._store_plane(np.array([-1, 1]), result)
    estimator._warn_if_inaccurate(means)
    if result.exception is not None:
        raise result.exception
    return estimator
