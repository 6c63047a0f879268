"""The methods that the protocol is run with: those of the paper, and others beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from propcvx.estimators import (
    InvCal,
    MethodStart,
    RandomStart,
    Start,
)
from propcvx.experiments.averaging import averaged_methods
from propcvx.experiments.ecological import EcologicalRegression
from propcvx.experiments.evaluation import Method
from propcvx.experiments.llp_learn import VERSION, LLPLearnAlterSVM, LLPLearnEM, require_llp_learn
from propcvx.experiments.methods import (
    SUPERVISED,
    paper_methods,
    printed_alter_psvm,
    printed_conv_psvm,
    supervised_svm,
)
from propcvx.experiments.reproduce.protocol import MethodOptions

KERNELS = ("linear", "rbf")
"""Kernels of the tables; which Gaussian ``"rbf"`` is, the protocol says."""

ECOLOGICAL = "ecological regression"
AVERAGED = "averaged methods"
FROM_INV_CAL = "alter-pSVM from InvCal"
SEARCHED = "searched alter-pSVM"
LLP_LEARN = ("llp-learn alterSVM", "llp-learn EM")


def _nothing() -> None:
    """Nothing is needed."""


@dataclass(frozen=True)
class Row:
    """A method.

    Attributes
    ----------
    make : callable
        ``make(seed)`` is the method with the printed grid; the seed is of its random labelings.
    parameters : callable
        ``parameters(options, kernel)``: the parameters of the estimator that the protocol sets.
    seconds : float
        Of one fit to a training fold of heart, roughly; of alter-pSVM, of one start.
    grid : callable
        ``grid(options)``: the values of the grid that the protocol sets.
    kernels : tuple of str
        Those that it has.
    version : int or str
        To raise whenever the method answers differently from before, its parameters that the
        protocol does not set included; results of an earlier version are kept, and not used.
    require : callable
        Raises what is missing where the method needs something beside this package.
    """

    make: Callable[[int | None], Method]
    parameters: Callable[[MethodOptions, str], dict[str, Any]]
    seconds: float
    grid: Callable[[MethodOptions], Mapping[str, Sequence[Any]]] = lambda options: {}
    kernels: tuple[str, ...] = KERNELS
    version: int | str = 1
    require: Callable[[], None] = _nothing


def _kernel(options: MethodOptions, kernel: str) -> str:
    return options.gaussian if kernel == "rbf" else kernel


def several_starts() -> list[Start]:
    """Random labelings, annealed, and what two other methods say, not annealed."""
    methods = InvCal(C_p=1e3), printed_conv_psvm()
    return [RandomStart(repeats=3), *(MethodStart(method, annealing=False) for method in methods)]


METHODS: Mapping[str, Row] = MappingProxyType(
    {
        "MeanMap": Row(
            lambda seed: paper_methods(seed)[0],
            lambda options, kernel: {
                "kernel": _kernel(options, kernel),
                "fit_intercept": options.MeanMap_bias,
            },
            seconds=0.1,
            grid=lambda options: {"likelihood": options.likelihoods},
        ),
        "InvCal": Row(
            lambda seed: paper_methods(seed)[1],
            lambda options, kernel: {
                "kernel": _kernel(options, kernel),
                "scaled_epsilon": options.scaled_epsilon,
            },
            seconds=0.1,
            grid=lambda options: {"C_p": options.InvCal_C_p, "epsilon": options.epsilons},
        ),
        "alter-pSVM": Row(
            lambda seed: paper_methods(seed)[2],
            lambda options, kernel: {
                "kernel": _kernel(options, kernel),
                "n_init": options.restarts,
                "annealing": options.annealing,
                "bag_weights": options.C_p_times,
                "tol": options.alternating_tol,
            },
            seconds=0.1,
        ),
        "conv-pSVM": Row(
            lambda seed: paper_methods(seed)[3],
            lambda options, kernel: {
                "kernel": _kernel(options, kernel),
                "relaxation__oracle": options.oracle,
                "relaxation__tol": options.cuts_tol,
            },
            seconds=0.05,
            grid=lambda options: {
                "epsilon": options.epsilons,
                "intercept": options.intercepts,
                "relaxation__max_cuts": options.cuts,
            },
        ),
        SUPERVISED: Row(
            lambda seed: supervised_svm(),
            lambda options, kernel: {"kernel": kernel},
            seconds=0.005,
        ),
        ECOLOGICAL: Row(
            lambda seed: Method(ECOLOGICAL, EcologicalRegression()),
            lambda options, kernel: {},
            seconds=0.001,
            kernels=("linear",),
        ),
        AVERAGED: Row(
            lambda seed: Method(AVERAGED, averaged_methods(seed)),
            lambda options, kernel: {},
            seconds=15.0,
            kernels=("linear",),
        ),
        FROM_INV_CAL: Row(
            lambda seed: Method(
                FROM_INV_CAL,
                printed_alter_psvm(init=MethodStart(InvCal(C_p=1e4), annealing=False)),
                {"C": (0.1, 1.0), "C_p": (10.0, 100.0)},
            ),
            lambda options, kernel: {},
            seconds=0.15,
            kernels=("linear",),
        ),
        SEARCHED: Row(
            lambda seed: Method(
                SEARCHED,
                printed_alter_psvm(init=several_starts(), polish="hops", random_state=seed),
            ),
            lambda options, kernel: {},
            seconds=10.0,
            kernels=("linear",),
        ),
        LLP_LEARN[0]: Row(
            lambda seed: Method(
                LLP_LEARN[0],
                LLPLearnAlterSVM(random_state=seed),
                {"C": (0.1, 1.0, 10.0), "C_p": (1.0, 10.0, 100.0)},
            ),
            lambda options, kernel: {},
            seconds=4.0,
            kernels=("linear",),
            version=VERSION,
            require=require_llp_learn,
        ),
        LLP_LEARN[1]: Row(
            lambda seed: Method(
                LLP_LEARN[1], LLPLearnEM(random_state=seed), {"C": (0.1, 1.0, 10.0)}
            ),
            lambda options, kernel: {},
            seconds=1.0,
            kernels=("linear",),
            version=VERSION,
            require=require_llp_learn,
        ),
    }
)
"""Methods by name: an added one is a row, and a name in a block of an experiment."""
