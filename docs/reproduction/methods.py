"""The methods of the experiments: those of the paper (Section 6.2), and others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.svm import SVC

from propcvx.estimators import (
    AlterPropSVM,
    ConvPropSVM,
    EcologicalRegression,
    InvCal,
    MeanMap,
    paper_alter_psvm,
    paper_conv_psvm,
)
from reproduction.other_methods import VERSION, GoodmanRegression, LLPLearn, require_llp_learn

PAPER = ("MeanMap", "InvCal", "alter-pSVM", "conv-pSVM")
"""In the order of the paper's tables."""
SUPERVISED = "SVM with labels"
ECOLOGICAL = "ecological regression"
FROM_INV_CAL = "alter-pSVM from InvCal"
UNTUNED = tuple(f"untuned {name}" for name in PAPER)
"""The classes with fixed parameters."""
BY_DEFAULT = ("EcologicalRegression()", "AlterPropSVM()")
"""What the package recommends first, as it is."""
LLP_LEARN = ("llp-learn alterSVM", "llp-learn EM")

KERNELS = ("linear", "rbf")
"""Kernels of the tables; the protocol defines the Gaussian kernel ``"rbf"``."""
LINEAR = ("linear",)
WEIGHTS = (0.1, 1.0, 10.0)
BAG_WEIGHTS = (1.0, 10.0, 100.0)
TUBES = (0.0, 0.01, 0.1)

TOL = {MeanMap: 1e-8, InvCal: 1e-6, AlterPropSVM: 1e-6}
"""Tolerances of the solvers in the stored results, which ties make depend on the last digits."""


@dataclass(frozen=True)
class MethodEntry:
    """A method of the table.

    Attributes
    ----------
    estimator : callable
        ``estimator(seed)``: the estimator; the seed is of its random labelings.
    grid : mapping
        The printed values of the parameters that it is tuned over.
    options, grid_options : mapping of str to str
        Parameters of the estimator, and of the grid, with the option of the protocol that sets each
        (:class:`reproduction.protocol.MethodOptions`).
    kernels : tuple of str
        Kernels that the method has; with the linear one alone, it has no such parameter.
    supervised : bool
        Whether it is fitted to the labels.
    version : int or str
        To raise whenever the method answers differently from before, its parameters that the
        protocol does not set included; results of an earlier version are kept, and not used.
    require : callable or None
        Raises an error if another package that the method needs is missing.
    """

    estimator: Callable[[int | None], BaseEstimator]
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    grid_options: Mapping[str, str] = field(default_factory=dict)
    kernels: tuple[str, ...] = KERNELS
    supervised: bool = False
    version: int | str = 1
    require: Callable[[], None] | None = None


def _of_llp_learn(name: str, **grid: Sequence[float]) -> MethodEntry:
    return MethodEntry(
        lambda seed: LLPLearn(name, random_state=seed),
        grid,
        kernels=LINEAR,
        version=VERSION,
        require=require_llp_learn,
    )


METHODS: Mapping[str, MethodEntry] = MappingProxyType(
    {
        "MeanMap": MethodEntry(
            lambda seed: MeanMap(lam=1.0, solver_tol=TOL[MeanMap]),
            {"lam": WEIGHTS},
            options={"fit_intercept": "MeanMap_bias"},
            grid_options={"likelihood": "likelihoods"},
        ),
        "InvCal": MethodEntry(
            lambda seed: InvCal(C_p=1.0, solver_tol=TOL[InvCal]),
            {"C_p": WEIGHTS, "epsilon": TUBES},
            options={"scaled_epsilon": "scaled_epsilon"},
            grid_options={"C_p": "InvCal_C_p", "epsilon": "epsilons"},
        ),
        "alter-pSVM": MethodEntry(
            lambda seed: paper_alter_psvm(random_state=seed),
            {"C": WEIGHTS, "C_p": BAG_WEIGHTS},
            options={
                "n_init": "restarts",
                "annealing": "annealing",
                "bag_weights": "C_p_times",
                "tol": "alternating_tol",
            },
        ),
        "conv-pSVM": MethodEntry(
            lambda seed: paper_conv_psvm(),
            {"C": WEIGHTS, "epsilon": TUBES},
            options={"relaxation__oracle": "oracle", "relaxation__tol": "cuts_tol"},
            grid_options={
                "epsilon": "epsilons",
                "intercept": "intercepts",
                "relaxation__max_cuts": "cuts",
            },
        ),
        # With shrinking, LIBSVM may go round in circles for ever where many instances are equal.
        SUPERVISED: MethodEntry(
            lambda seed: SVC(kernel="linear", shrinking=False), {"C": WEIGHTS}, supervised=True
        ),
        ECOLOGICAL: MethodEntry(lambda seed: GoodmanRegression(), kernels=LINEAR),
        FROM_INV_CAL: MethodEntry(
            lambda seed: paper_alter_psvm(
                init=InvCal(C_p=1e4, solver_tol=TOL[InvCal]), annealing=False
            ),
            {"C": (0.1, 1.0), "C_p": (10.0, 100.0)},
            kernels=LINEAR,
        ),
        UNTUNED[0]: MethodEntry(lambda seed: MeanMap(solver_tol=TOL[MeanMap]), version=2),
        UNTUNED[1]: MethodEntry(lambda seed: InvCal(solver_tol=TOL[InvCal]), version=2),
        UNTUNED[2]: MethodEntry(
            lambda seed: AlterPropSVM(
                *(1.0, 10.0),
                init="mixed",
                init_weight=0.0,
                random_state=seed,
                solver_tol=TOL[AlterPropSVM],
            )
        ),
        UNTUNED[3]: MethodEntry(lambda seed: ConvPropSVM(1.0)),
        BY_DEFAULT[0]: MethodEntry(lambda seed: EcologicalRegression(), kernels=LINEAR, version=2),
        BY_DEFAULT[1]: MethodEntry(  # the default when the stored results were computed
            lambda seed: AlterPropSVM(init="ecological", init_weight=0.4, random_state=seed),
            kernels=LINEAR,
        ),
        LLP_LEARN[0]: _of_llp_learn("alterSVM", C=WEIGHTS, C_p=BAG_WEIGHTS),
        LLP_LEARN[1]: _of_llp_learn("EM", C=WEIGHTS),
    }
)
"""Methods by name: a new one is an entry, and a name in a block of an experiment."""
