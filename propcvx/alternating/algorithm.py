r"""Algorithm 1: alternating between the separator and the labels, with annealing.

The two steps are handed in: ``machine`` solves the SVM for a fixed labeling, and
:func:`propcvx.labelings.labeling_step` the labels for a fixed separator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propcvx.bags import Bags
from propcvx.history import History, Round, StopReason
from propcvx.labelings import labeling_step
from propcvx.losses import ProportionLoss, best_bias, hinge
from propcvx.programs import svm_dual, svm_dual_parameters
from propcvx.solvers import SolverNames, solve

Array = NDArray[np.float64]


COPIES = 6
"""Vectors as long as there are instances that a separator holds, with where the solver ended."""


@dataclass(frozen=True)
class Separator:
    r"""A separating hyperplane.

    Attributes
    ----------
    weights_of : callable
        Computes w, which few separators are asked for.
    norm : float
        :math:`\tfrac12 \|w\|^2`.
    bias : float
    scores : array of shape (n_instances,)
        Of the instances, bias included.
    solver, status : str
    gap : float
        By how much its objective may exceed the best one, where the solver certifies that.
    warm : object
        Where the solver ended.
    """

    weights_of: Callable[[], Array]
    norm: float
    bias: float
    scores: Array
    solver: str = ""
    status: str = ""
    gap: float = 0.0
    warm: Any = None

    @property
    def weights(self) -> Array:
        """Weights w over the features."""
        return self.weights_of()


Machine = Callable[[Array, float, Separator | None], Separator]
"""The SVM step, ``machine(labeling, C, after)``: ``after`` is the separator that led there."""


@dataclass
class SVMStep:
    """Solves the SVM of a fixed labeling; built once, re-solved for every labeling and C.

    Attributes
    ----------
    features : array of shape (n_instances, rank)
        F, one row per instance.
    solver : str or sequence of str
        Any solver of ``svm_dual``, or several to try in turn; ``"auto"`` is
        :func:`propcvx.solvers.automatic`.
    tol : float
        Its tolerance.
    options : dict
        Handed to the solver as they are.
    """

    features: Array
    solver: SolverNames
    tol: float
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.program = svm_dual(self.features)

    def __call__(self, labeling: Array, C: float, after: Separator | None = None) -> Separator:
        """Solve for w, from where the separator before ended, and take the bias best for it."""
        solution = solve(
            self.program.set(**svm_dual_parameters(labeling, C)),
            self.solver,
            tol=self.tol,
            certify=False,
            warm=None if after is None else after.warm,
            **self.options,
        )
        v = solution.variables["v"]
        weights = self.features.T @ v
        scores = self.features @ weights
        bias = best_bias(labeling, scores)
        return Separator(
            weights_of=lambda: weights,
            norm=0.5 * float(v @ scores),
            bias=bias,
            scores=scores + bias,
            solver=solution.solver,
            status=solution.status,
            gap=(solution.gap or 0.0) * abs(solution.value),
            warm=solution.warm,
        )


@dataclass
class Remembered:
    """An SVM step that does not solve again what it was asked before, after the same separator.

    Algorithm 1 with another C_p asks the same until its labels differ, and has the same answers.

    Attributes
    ----------
    machine : callable
        The SVM step.
    limit : int
        Bytes after which all is forgotten.
    """

    machine: Machine
    limit: int = 2**28

    def __post_init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._answers: dict[tuple[int, bytes, float], Separator] = {}
        self._known: set[int] = {id(None)}

    def __call__(self, labeling: Array, C: float, after: Separator | None = None) -> Separator:
        """Look it up, or solve for it."""
        question = (id(after), _fingerprint(labeling), C)
        if question in self._answers:
            return self._answers[question]
        answer = self.machine(labeling, C, after)
        if COPIES * answer.scores.nbytes * len(self._known) > self.limit:
            self._forget()
        if id(after) in self._known:
            self._answers[question] = answer
            self._known.add(id(answer))
        return answer


@dataclass(frozen=True)
class PropSVM:
    r"""The pSVM problem, eq:pSVM_2, apart from its features.

    Attributes
    ----------
    bags : Bags
    C : float
        Weight of the hinge loss.
    weights : array of shape (n_bags,)
        Weight :math:`\omega_k` of each bag's proportion loss (:math:`C_p` in the paper).
    loss : ProportionLoss
        The loss :math:`L_p`.
    count : float
        How many instances each one stands for.
    """

    bags: Bags
    C: float
    weights: Array
    loss: ProportionLoss
    count: float = 1.0

    def take(self, instances: NDArray[np.intp]) -> PropSVM:
        """The problem on some whole bags, given by their instances."""
        kept = np.unique(self.bags.index[instances])
        return replace(self, bags=self.bags.take(instances), weights=self.weights[kept])

    def part(self, instances: NDArray[np.intp]) -> PropSVM:
        """The problem on a part of every bag, which stands for all of it."""
        count = self.bags.n_instances / len(instances)
        return replace(self, bags=self.bags.take(instances), count=count * self.count)

    def best_labeling(self, scores: Array, C: float) -> Array:
        """The labels for fixed scores, with C* in place of C."""
        return labeling_step(scores, self.bags, self.loss, self.weights / (C * self.count))

    def objective(self, labeling: Array, separator: Separator, C: float | None = None) -> float:
        """Value of eq:pSVM_2, with C* in place of C where it is given."""
        errors = self.count * float(hinge(labeling, separator.scores).sum())
        gaps = self.bags.proportions_of(labeling) - self.bags.proportions
        losses = (self.C if C is None else C) * errors + float(self.weights @ self.loss.of(gaps))
        return separator.norm + losses


@dataclass(frozen=True)
class Descent:
    """Where one start of Algorithm 1 ended, in little memory: many of them are kept.

    Attributes
    ----------
    bits : uint8 array
        Whether each label is positive, eight in a byte.
    n_instances : int
    weights : array of shape (rank,)
    bias : float
    objective : float
    history : History
    """

    bits: NDArray[np.uint8]
    n_instances: int
    weights: Array
    bias: float
    objective: float
    history: History

    @property
    def labeling(self) -> Array:
        """The labeling, entries -1.0 and +1.0."""
        return np.where(np.unpackbits(self.bits, count=self.n_instances), 1.0, -1.0)


def annealing_values(C: float, start: float = 1e-5, delta: float = 0.5) -> list[float]:
    r"""Values of C* in Algorithm 1: :math:`C^* \leftarrow \min\{(1 + \Delta) C^*, C\}`.

    Examples
    --------
    >>> annealing_values(1.0, start=0.3)
    [0.44999999999999996, 0.6749999999999999, 1.0]
    """
    values = [start * C]
    while values[-1] < C:
        values.append(min((1.0 + delta) * values[-1], C))
    return values[1:] or [C]


@dataclass
class Alternation:
    """Algorithm 1 on one problem, for any number of starting labelings.

    Two starts that arrive at the same labeling at the same C* continue as one: the rest of the
    path is not walked again.

    Attributes
    ----------
    problem : PropSVM
    machine : callable
        The SVM step, see :data:`Machine`.
    schedule : sequence of float
        The values of C*, ending with C; ``[C]`` is no annealing.
    tol : float
        A repeat loop ends when the objective decreases by less, or by less than the gap that a
        solver has certified, below which a decrease is the solver's own error.
    max_iter : int
        Largest number of rounds at one C*.
    """

    problem: PropSVM
    machine: Machine
    schedule: Sequence[float]
    tol: float = 1e-4
    max_iter: int = 100

    def __post_init__(self) -> None:
        self._ends: dict[tuple[int, bytes], Descent] = {}

    def __call__(self, labeling: Array, before: History | None = None) -> Descent:
        """Descend from one labeling; ``before`` is the history of how it was arrived at."""
        history, passed = History(list(before or ())), []
        after: Separator | None = None
        for level, C in enumerate(self.schedule):
            passed.append((level, _fingerprint(labeling)))
            if passed[-1] in self._ends:
                end = self._ends[passed[-1]]
                break
            labeling, separator, objective = self._repeat(labeling, C, after, history)
            after = separator
        else:
            bits, weights = _bits(labeling), separator.weights
            end = Descent(bits, len(labeling), weights, separator.bias, objective, history)
        self._ends.update(dict.fromkeys(passed, end))
        return end

    def _repeat(
        self, labeling: Array, C: float, after: Separator | None, history: History
    ) -> tuple[Array, Separator, float]:
        """The repeat loop of Algorithm 1 at one value of C*."""
        separator = self.machine(labeling, C * self.problem.count, after)
        objective = self.problem.objective(labeling, separator, C)
        history.stop_reason = StopReason.MAX_ROUNDS
        for _ in range(self.max_iter):
            start, last = perf_counter(), objective
            relabeled = self.problem.best_labeling(separator.scores, C)
            flips = int(np.count_nonzero(relabeled != labeling))
            if flips:
                labeling = relabeled
                separator, objective = self._better(labeling, C, separator, last)
            history.append(
                Round(
                    objective=objective,
                    C_star=C,
                    solver=separator.solver,
                    status=separator.status,
                    seconds=perf_counter() - start,
                    n_flips=flips,
                )
            )
            if flips == 0 or last - objective < max(self.tol, separator.gap):
                history.stop_reason = StopReason.CONVERGED if flips else StopReason.FIXED_POINT
                break
        return labeling, separator, objective

    def _better(
        self, labeling: Array, C: float, old: Separator, before: float
    ) -> tuple[Separator, float]:
        """A new separator, unless the solver's error has made the old one the better."""
        new = self.machine(labeling, C * self.problem.count, old)
        objective = self.problem.objective(labeling, new, C)
        if objective <= before:
            return new, objective
        kept = self.problem.objective(labeling, old, C)
        return (new, objective) if objective <= kept else (old, kept)


def _fingerprint(labeling: Array) -> bytes:
    """A digest of a labeling, the same for the same labels."""
    return blake2b(_bits(labeling).tobytes(), digest_size=16).digest()


def _bits(labeling: Array) -> NDArray[np.uint8]:
    """Whether each label is positive, eight in a byte."""
    return np.packbits(labeling > 0)
