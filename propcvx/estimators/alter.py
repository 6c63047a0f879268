"""alter-pSVM: alternating optimisation with annealing and restarts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from tqdm import tqdm

from propcvx.alternating.algorithm import (
    Alternation,
    Descent,
    Machine,
    PropSVM,
    Remembered,
    SVMStep,
    annealing_values,
)
from propcvx.alternating.annealing import in_stages
from propcvx.bags import Bags
from propcvx.checks import as_vector, check_choice, check_count, check_flag, check_number
from propcvx.errors import InputError, SolverError
from propcvx.estimators.base import BagClassifier, Hyperplane, bag_weights
from propcvx.estimators.conv import ConvPropSVM
from propcvx.estimators.inv_cal import InvCal
from propcvx.estimators.mean_map import MeanMap
from propcvx.estimators.shared import Shared
from propcvx.history import StopReason
from propcvx.labelings import FeasibleLabelings, random_labeling
from propcvx.losses import PROPORTION_LOSSES
from propcvx.metrics import proportion_error
from propcvx.model_selection import deal_bags

Array = NDArray[np.float64]

STARTS = {"mean_map": MeanMap, "inv_cal": InvCal, "conv": ConvPropSVM}
"""Methods that can give a starting labeling, by name."""


@dataclass(frozen=True)
class Start:
    """A kind of start of Algorithm 1.

    Attributes
    ----------
    labels : str, estimator or array of shape (n_instances,)
        ``"random"``; ``"mean_map"``, ``"inv_cal"`` or ``"conv"`` with their default parameters;
        an estimator of this package (fitted with the kernel at hand in place of its own); or a
        labeling, entries -1 and +1.
    repeats : int
        Number of random labelings; one suffices for the other kinds.
    annealing : bool
        Whether C* rises from 1e-5 C (which tends to forget the start), or is C at once.
    """

    labels: Any = "random"
    repeats: int = 1
    annealing: bool = True


class AlterPropSVM(BagClassifier):
    r"""alter-pSVM (Algorithm 1): pSVM by alternating optimisation, eq:pSVM_2.

    An SVM for fixed labels and the best labels for a fixed separator (Propositions 1 and 2) take
    turns while C* rises to C; of all starts the smallest objective wins.  A heuristic: the result
    is a local minimum.

    Parameters
    ----------
    C : float
        Weight of the hinge loss of an instance.
    C_p : float
        Weight of the proportion loss of a bag.
    kernel : str or callable
        ``"linear"``, ``"rbf"``, ``"exponential"``, ``"poly"``, ``"precomputed"``, or a callable;
        see :class:`propcvx.kernels.Kernel`.
    gamma : float or "scale"
        Kernel coefficient; ``"scale"`` is ``1 / (n_features * X.var())``.
    degree : int
        Degree of ``"poly"``.
    coef0 : float
        Constant of ``"poly"``.
    init : str, estimator, array, Start or sequence of Start
        Where to start: see :class:`Start`.
    n_init : int
        Number of random labelings, where ``init`` is ``"random"``.
    annealing : bool
        Whether to anneal, where ``init`` is not given as :class:`Start`.
    annealing_size : int or None
        The levels C* below C / 20 are walked on about so many instances, the same share of every
        bag, and 256 of a bag of average size at least; the others on all instances.  None, or fewer
        instances: all levels on all of them, as in the paper.
    selection : "objective" or "bag_error"
        How the winner among several kinds of start is chosen: by smallest objective, as in the
        paper, or by bag error on held-out bags, which matters when bags are large (within one
        kind it is always the objective).
    proportion_loss : "absolute" or "squared"
        The loss :math:`L_p`.
    bag_weights : "bag", "size" or array of shape (n_bags,)
        What C_p is multiplied by: 1 (the paper), the bag's number of instances (the authors'
        program), or as given.
    tol : float
        A repeat loop ends when the objective decreases by less.
    max_iter : int
        Largest number of rounds at one C*.
    solver : str or sequence of str
        Any solver of ``svm_dual`` in ``propcvx.solvers.SOLVERS``, or several to try in turn.
        ``"auto"`` is what :func:`propcvx.solvers.automatic` says for the shape of the (kernel)
        features; ``history_`` names the one that answered.
    solver_tol : float
        Its tolerance.
    solver_options : dict or None
        Handed to it as they are.
    random_state : int, RandomState or None
        Seeds the random labelings and the held-out bags.
    verbose : bool
        Show progress over starts.

    Attributes
    ----------
    objective_ : float
        Value of eq:pSVM_2.
    labeling_ : array of shape (n_instances,)
        Labels -1, +1 of the training instances.
    history_ : History
        Objective, C*, changed labels, solver, status and time of every round of the winner.
    n_iter_ : int
        Number of rounds of the winner.
    stop_reason_ : StopReason
        Why its last repeat loop stopped, or what cut the other starts short;
        ``stop_reason_.advice`` says what to try.
    start_ : Start
        The kind of start that won.
    start_objectives_ : array
        Final objective of every start of that kind, or of all kinds when selected by objective.
    coef_ : array of shape (1, n_features)
        Weights, for the linear kernel.
    dual_coef_ : array of shape (1, n_instances)
        Dual coefficients, for other kernels.
    intercept_ : array of shape (1,)
        Bias.
    classes_ : array of shape (2,)
        Labels; ``[-1, 1]`` for bags.
    """

    gram_matrices = 4.0

    def __init__(
        self,
        C: float = 1.0,
        C_p: float = 10.0,
        *,
        kernel: Any = "linear",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        init: Any = "random",
        n_init: int = 10,
        annealing: bool = True,
        annealing_size: int | None = 2**15,
        selection: str = "objective",
        proportion_loss: str = "absolute",
        bag_weights: Any = "bag",
        tol: float = 1e-4,
        max_iter: int = 100,
        solver: str = "auto",
        solver_tol: float = 1e-4,
        solver_options: dict[str, Any] | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.C = C
        self.C_p = C_p
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.init = init
        self.n_init = n_init
        self.annealing = annealing
        self.annealing_size = annealing_size
        self.selection = selection
        self.proportion_loss = proportion_loss
        self.bag_weights = bag_weights
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.solver_tol = solver_tol
        self.solver_options = solver_options
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, features: Array, bags: Bags, shared: Shared) -> Hyperplane:
        self._check()
        random, starts = check_random_state(self.random_state), self._starts(bags)
        weights = self.C_p * bag_weights(self.bag_weights, bags)
        problem = PropSVM(bags, self.C, weights, PROPORTION_LOSSES[self.proportion_loss])
        if self.selection == "bag_error" and len(starts) > 1:
            starts = [self._chosen_start(features, problem, starts, random)]
        descents: list[tuple[Start, Descent]] = []
        stopped_by: BaseException | None = None
        try:
            for descent in self._descend(features, problem, starts, random, shared):
                descents.append(descent)
        except (KeyboardInterrupt, SolverError) as failure:
            if not descents:
                raise
            stopped_by = failure
        best = self._keep(descents)
        self.stop_reason_ = StopReason.of(stopped_by) if stopped_by else best.history.stop_reason
        return Hyperplane(best.weights, best.bias, stopped_by)

    def _keep(self, descents: list[tuple[Start, Descent]]) -> Descent:
        """Store the descent with the smallest objective, the first of equals."""
        self.start_, best = min(descents, key=lambda pair: pair[1].objective)
        self.start_objectives_ = np.array([descent.objective for _, descent in descents])
        self.objective_, self.labeling_ = best.objective, best.labeling
        self.history_ = best.history
        self.n_iter_ = len(self.history_)
        return best

    def _check(self) -> None:
        check_number("C", self.C, above=0.0)
        check_number("C_p", self.C_p, least=0.0)
        check_number("tol", self.tol, least=0.0)
        check_count("n_init", self.n_init)
        check_count("max_iter", self.max_iter)
        if self.annealing_size is not None:
            check_count("annealing_size", self.annealing_size)
        check_choice("selection", self.selection, ("objective", "bag_error"))
        check_choice("proportion_loss", self.proportion_loss, PROPORTION_LOSSES)

    def _starts(self, bags: Bags) -> list[Start]:
        return [_checked(start, bags) for start in self._start_list()]

    def _start_list(self) -> list[Start]:
        if isinstance(self.init, Start):
            return [self.init]
        if isinstance(self.init, Sequence) and all(isinstance(start, Start) for start in self.init):
            if not self.init:
                raise InputError("init must name at least one start, got an empty sequence.")
            return list(self.init)
        repeats = self.n_init if isinstance(self.init, str) and self.init == "random" else 1
        return [Start(self.init, repeats, self.annealing)]

    def _machine(self, features: Array, shared: Shared) -> Machine:
        """The SVM step; where other fits may ask it the same, one that remembers."""
        settings = (self.solver, self.solver_tol, self.solver_options or {})

        def build() -> Machine:
            step = SVMStep(features, *settings)
            return Remembered(step) if shared.several else step

        return shared.part(("svm_step", id(features), repr(settings)), build)

    def _descend(
        self,
        features: Array,
        problem: PropSVM,
        starts: list[Start],
        random: RandomState,
        shared: Shared,
    ) -> Iterator[tuple[Start, Descent]]:
        """Where every start ends, as they end."""
        machine = self._machine(features, shared)
        once = Alternation(problem, machine, [self.C], self.tol, self.max_iter)
        annealed = replace(once, schedule=annealing_values(self.C))
        size = self.annealing_size or problem.bags.n_instances

        def of_a_part(features: Array) -> Machine:
            return self._machine(features, Shared())

        runs = {True: in_stages(annealed, features, of_a_part, size, random), False: once}
        labelings = (
            (start, labeling)
            for start in starts
            for labeling in _labelings(start, features, problem.bags, random, shared)
        )
        total = sum(_repeats(start) for start in starts)
        for start, labeling in tqdm(
            labelings, desc="starts", total=total, disable=not self.verbose
        ):
            yield start, runs[start.annealing](labeling)

    def _chosen_start(
        self, features: Array, problem: PropSVM, starts: list[Start], random: RandomState
    ) -> Start:
        """The kind of start with the smallest bag error on held-out bags."""
        bags, errors = problem.bags, np.zeros(len(starts))
        if bags.n_bags < 2:
            raise InputError("selection='bag_error' holds out bags and needs at least 2, got 1.")
        fold_of = deal_bags(bags.sizes, min(5, bags.n_bags), random)[bags.index]
        for fold in range(fold_of.max() + 1):
            train, test = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
            held_out = bags.take(test)
            for k, start in enumerate(starts):
                inside = [_restricted(start, train)]
                descents = self._descend(
                    features[train], problem.take(train), inside, random, Shared()
                )
                best = min((descent for _, descent in descents), key=lambda d: d.objective)
                scores = features[test] @ best.weights + best.bias
                errors[k] += proportion_error(held_out, scores) * held_out.n_bags
        return starts[int(np.argmin(errors))]


def _labelings(
    start: Start, features: Array, bags: Bags, random: RandomState, shared: Shared
) -> Iterator[Array]:
    """The labelings that a kind of start begins with."""
    if isinstance(start.labels, BagClassifier):
        plane = clone(start.labels)._fit(features, bags, shared)
        yield FeasibleLabelings.nearest(bags).best(features @ plane.weights + plane.bias)
    elif not isinstance(start.labels, str):
        yield start.labels
    elif start.labels == "random":
        for _ in range(_repeats(start)):
            yield random_labeling(bags, random)
    else:
        yield from _labelings(Start(STARTS[start.labels]()), features, bags, random, shared)


def _checked(start: Start, bags: Bags) -> Start:
    """The start, if it can be used; a given labeling as an array, known labels put right."""
    check_flag("annealing", start.annealing)
    check_count("repeats", start.repeats)
    if isinstance(start.labels, str):
        check_choice("init", start.labels, ("random", *STARTS))
    elif not isinstance(start.labels, BagClassifier):
        return replace(start, labels=_given_labeling(start.labels, bags))
    return start


def _repeats(start: Start) -> int:
    """How many labelings a kind of start begins with."""
    random = isinstance(start.labels, str) and start.labels == "random"
    return start.repeats if random else 1


def _given_labeling(labels: Any, bags: Bags) -> Array:
    labeling = as_vector(labels)
    if (
        labeling is None
        or len(labeling) != bags.n_instances
        or not np.isin(labeling, (-1.0, 1.0)).all()
    ):
        raise InputError(
            f"init must be a method's name {('random', *STARTS)}, an estimator of propcvx, a Start "
            f"or a list of them, or a labeling of -1 and +1 for the {bags.n_instances} instances, "
            f"got {labels!r}."
        )
    return np.where(bags.labels == 0, labeling, bags.labels)


def _restricted(start: Start, instances: NDArray[np.intp]) -> Start:
    """The start for some of the instances; only a given labeling depends on them."""
    if isinstance(start.labels, str | BagClassifier):
        return start
    return replace(start, labels=start.labels[instances])
