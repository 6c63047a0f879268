"""The two proportion-SVMs with the settings of the paper instead of the package's defaults."""

from __future__ import annotations

from typing import Any

from propcvx.estimators.alter import AlterPropSVM
from propcvx.estimators.conv import ConvPropSVM
from propcvx.relaxation import CuttingPlanes


def paper_alter_psvm(**parameters: Any) -> AlterPropSVM:
    """Return alter-pSVM as printed: random starts, the SVM alone, the same C_p for every bag.

    The solver has the tolerance of the stored results: the last digits decide ties.

    Parameters
    ----------
    **parameters
        Parameters of :class:`propcvx.AlterPropSVM` that override these settings; by default C = 1,
        C_p = 10 and ten starts.

    Examples
    --------
    >>> paper_alter_psvm(C_p=10.0, random_state=0).init
    'random'
    """
    printed = {"C": 1.0, "C_p": 10.0, "init": "random", "n_init": 10, "annealing": True}
    others = {"bag_weights": "uniform", "init_weight": 0.0, "solver_tol": 1e-6}
    return AlterPropSVM(**{**printed, **others, **parameters})


def paper_conv_psvm(**parameters: Any) -> ConvPropSVM:
    """Return conv-pSVM as printed: one cut by the oracle of eq:inf, and no bias except centering.

    The solver is the one of the stored results: the last digits of alpha can decide the next cut.

    Parameters
    ----------
    **parameters
        Parameters of :class:`propcvx.ConvPropSVM` that override these settings.
    """
    planes = CuttingPlanes(oracle="coordinate", max_cuts=1)
    solver = ("mkl_interior_point", "clarabel")
    printed = {"C": 1.0, "relaxation": planes, "bias": "none", "solver": solver, "solver_tol": 1e-8}
    return ConvPropSVM(**{**printed, **parameters})
