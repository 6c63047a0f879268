"""The methods the paper compares, with the parameters it tunes them over (Section 6.2)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklearn.svm import SVC

from propcvx.estimators import AlterPropSVM, ConvPropSVM, InvCal, MeanMap
from propcvx.experiments.evaluation import Method
from propcvx.relaxation import CuttingPlanes

SUPERVISED = "SVM with labels"


def paper_methods(random_state: Any = None) -> list[Method]:
    """The four methods of the paper with the linear kernel, and the grids it prints.

    Parameters
    ----------
    random_state : int, RandomState or None
        Seeds the random labelings of alter-pSVM.

    Returns
    -------
    list of Method
        In the order of the paper's tables.
    """
    weights, tubes = (0.1, 1.0, 10.0), (0.0, 0.01, 0.1)
    alter = printed_alter_psvm(random_state=random_state)
    return [
        Method("MeanMap", MeanMap(), {"lam": weights}),
        Method("InvCal", InvCal(), {"C_p": weights, "epsilon": tubes}),
        Method("alter-pSVM", alter, {"C": weights, "C_p": (1.0, 10.0, 100.0)}),
        Method("conv-pSVM", printed_conv_psvm(), {"C": weights, "epsilon": tubes}),
    ]


def printed_alter_psvm(**parameters: Any) -> AlterPropSVM:
    """alter-pSVM as printed: from random labelings, and C_p weighs every bag alike.

    Parameters
    ----------
    **parameters
        What else is set; C = 1, C_p = 10 and ten starts where nothing is.
    """
    printed = {"C": 1.0, "C_p": 10.0, "init": "random", "n_init": 10, "bag_weights": "bag"}
    return AlterPropSVM(**{**printed, **parameters})


def printed_conv_psvm(C: float = 1.0, *, max_cuts: int = 1, **parameters: Any) -> ConvPropSVM:
    """conv-pSVM in the paper's form, where the defaults of the class are ours.

    Its oracle is that of eq:inf, and the plane has no bias but what centring gives.  The solver is
    the one that the stored results are by: which cut is next can hang on the last digits of alpha.

    Parameters
    ----------
    C : float
        Weight of the hinge loss.
    max_cuts : int
        Largest number of cuts.
    **parameters
        Of :class:`propcvx.ConvPropSVM`, over these.
    """
    planes = CuttingPlanes(oracle="coordinate", max_cuts=max_cuts)
    solver = ("mkl_interior_point", "clarabel")
    own = {"relaxation": planes, "bias": "none", "solver": solver, "solver_tol": 1e-8}
    return ConvPropSVM(C, **{**own, **parameters})


def supervised_svm() -> Method:
    """The SVM that is told every label: the ceiling of what bags can reach."""
    return Method(SUPERVISED, SVC(kernel="linear"), {"C": (0.1, 1.0, 10.0)}, supervised=True)


def cheaper(method: Method) -> Method:
    """The method with one value of each parameter, the middle one: for trying things out."""
    return replace(method, grid={name: [v[len(v) // 2]] for name, v in method.grid.items()})
