"""The two proportion-SVMs as the paper has them, where the defaults of the classes are ours."""

from __future__ import annotations

from typing import Any

from propcvx.estimators.alter import AlterPropSVM
from propcvx.estimators.conv import ConvPropSVM
from propcvx.relaxation import CuttingPlanes


def paper_alter_psvm(**parameters: Any) -> AlterPropSVM:
    """alter-pSVM as printed: from random labelings, the SVM alone, C_p weighs every bag alike.

    The tolerance of the solver is that of the stored results: the last digits decide ties.

    Parameters
    ----------
    **parameters
        Of :class:`propcvx.AlterPropSVM`, over these; by default C = 1, C_p = 10 and ten starts.

    Examples
    --------
    >>> paper_alter_psvm(C_p=10.0, random_state=0).init
    'random'
    """
    printed = {"C": 1.0, "C_p": 10.0, "init": "random", "n_init": 10, "annealing": True}
    others = {"bag_weights": "uniform", "init_weight": 0.0, "solver_tol": 1e-6}
    return AlterPropSVM(**{**printed, **others, **parameters})


def paper_conv_psvm(**parameters: Any) -> ConvPropSVM:
    """conv-pSVM as printed: one cut, with the oracle of eq:inf, and no bias but the centering.

    The solver is that of the stored results: the last digits of alpha can decide which cut is next.

    Parameters
    ----------
    **parameters
        Of :class:`propcvx.ConvPropSVM`, over these.
    """
    planes = CuttingPlanes(oracle="coordinate", max_cuts=1)
    solver = ("mkl_interior_point", "clarabel")
    printed = {"C": 1.0, "relaxation": planes, "bias": "none", "solver": solver, "solver_tol": 1e-8}
    return ConvPropSVM(**{**printed, **parameters})
