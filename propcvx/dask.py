"""AlterPropSVM and the methods of bag means on Dask collections, with any scheduler of Dask.

The threads of one process are enough for a file that is larger than the memory; a
``dask.distributed`` cluster reaches further.  A fit goes through the collections in passes: InvCal
and EcologicalRegression in one, MeanMap in about ten, AlterPropSVM in a few dozen for each round.
A pass returns sums over partitions; between passes Dask keeps a bit for each row.  This needs the
extra ``propcvx[dask]``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from propcvx import estimators
from propcvx.errors import needing
from propcvx.large.means import check_parameters, store

with needing("dask", "propcvx.dask"):
    import dask.dataframe as dd
    from pandas import Series

    from propcvx.large.methods import fit_alter, fit_bag_means
    from propcvx.large.partitions import survey


class _OnDask(estimators.BagClassifier):
    """Base of the estimators on Dask collections.

    Attributes
    ----------
    n_passes_ : int
        How often the fit went through the collections.
    """

    def fit(self, features: Any, bags: Any) -> Any:  # type: ignore[override]
        """Fit to collections with the same partitions, each of which holds whole bags or is empty.

        Every pass computes the collections.  Where they fit into the memory of the cluster, pass
        the results of ``persist()``, so that they are computed once.

        Parameters
        ----------
        features : Dask DataFrame or Array of shape (n_instances, n_features)
        bags : Dask DataFrame
            With the columns ``bag`` and ``share``, which is missing where it is not known, and
            where there are any ``label`` (-1, +1, or 0 where unknown) and ``weight``.

        Returns
        -------
        self
            With the attributes of a fit in memory, without those that need all rows:
            ``labeling_``, and ``predict_proba`` except of EcologicalRegression.

        Raises
        ------
        InputError
            If a bag is cut between partitions or has several shares, the partitions differ, or a
            parameter needs all rows at once; an error in the data names the partition, from 0 on.
        KeyboardInterrupt
            By Ctrl-C: AlterPropSVM then keeps the best start that is complete, or if there is none,
            what the first one has reached, and can predict.
        """
        check_parameters(self)
        partitions = survey(features, bags)
        validate_data(self, getattr(features, "_meta_nonempty", features), skip_check_array=True)
        fit: Any = fit_alter if isinstance(self, estimators.AlterPropSVM) else fit_bag_means
        end = fit(self, partitions)
        self.n_passes_ = partitions.passes
        store(self, end, partitions.frame.sign, partitions.extremes)
        return self

    def predict(self, X: Any) -> Any:
        """Label of each instance; of a Dask DataFrame as a Dask Series, of an Array as an Array."""
        local, label_type = self.to_local(), self.classes_.dtype
        if isinstance(X, dd.DataFrame):
            return X.map_partitions(_labels, local, meta=("label", label_type))
        if hasattr(X, "map_blocks"):
            whole_rows = X.rechunk({1: -1})
            return whole_rows.map_blocks(_labels, local, drop_axis=1, dtype=label_type)
        return local.predict(X)

    def to_local(self) -> Any:
        """The estimator of :mod:`propcvx.estimators` with this name, fitted, without Dask."""
        local = getattr(estimators, type(self).__name__)()
        vars(local).update(vars(self))
        return local


def _labels(part: Any, local: Any) -> Any:
    """Labels of the rows of a partition, which may be empty; of a DataFrame as a Series."""
    labels = local.predict(part) if part.shape[0] else np.empty(0, local.classes_.dtype)
    return Series(labels, part.index, name="label") if hasattr(part, "index") else labels


class AlterPropSVM(_OnDask, estimators.AlterPropSVM):
    """:class:`propcvx.AlterPropSVM` on Dask collections.

    ``init="mixed"`` starts from random labelings and from that of InvCal.  Random labels are a
    function of ``random_state`` and of the rows of the bag, so they differ from those in memory,
    which depend on all bags.  The instance loss is a name in ``INSTANCE_LOSSES``.
    """


class EcologicalRegression(_OnDask, estimators.EcologicalRegression):
    """:class:`propcvx.EcologicalRegression` on Dask collections."""


class InvCal(_OnDask, estimators.InvCal):
    """:class:`propcvx.InvCal` on Dask collections."""


class LaplacianMeanMap(_OnDask, estimators.LaplacianMeanMap):
    """:class:`propcvx.LaplacianMeanMap` on Dask collections."""


class MeanMap(_OnDask, estimators.MeanMap):
    """:class:`propcvx.MeanMap` on Dask collections; the solver is ``"logistic"``, to 1e-10."""
