"""alter-pSVM over rows in parts: its own loop, with a problem and an SVM step that make passes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from propcvx.alternating.algorithm import Iterate, alternate, annealing_values, descent
from propcvx.alternating.problem import PropSVM, Separator
from propcvx.arrays import Array
from propcvx.bags.bags import Bags
from propcvx.errors import InputError, SolverError
from propcvx.estimators import AlterPropSVM, InvCal, MeanMap, MethodStart, RandomStart
from propcvx.estimators.starts import METHODS, Start, starts_of
from propcvx.history import Fitted
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.large.means import means_on_parts
from propcvx.large.parts import Frame, Parts, Summary, packed, rows_of, summed, unpacked, weight_of
from propcvx.large.steps import SMOOTH, Labels, PartedStep, Scores


@dataclass(frozen=True)
class PartedPropSVM:
    """The problem of Algorithm 1, see :class:`propcvx.alternating.problem.PropSVM`.

    Attributes
    ----------
    parts : Parts
    frame : Frame
    model : AlterPropSVM
        Its parameters.
    C : float
        Weight of the instance loss.
    """

    parts: Parts
    frame: Frame
    model: AlterPropSVM
    C: float

    def relabel(self, labels: Labels, separator: Separator, C: float) -> tuple[Labels, int]:
        """The labeling step, and how many labels it changes: a pass."""
        scores: Any = separator.scores
        plane = scores.weights, scores.offset
        return self._labels(labels.kept, scores, _relabelled, plane, separator.ties, C)

    def first_labeling(self, start: Any) -> Labels:
        """The labels to start from: of a plane, or those that a seed draws."""
        return self._labels(None, None, _first_labels, start)[0]

    def _labels(
        self, kept: Any, scores: Scores | None, function: Any, *arguments: Any
    ) -> tuple[Labels, int]:
        kept, found = self.parts.keep(function, kept, (self.frame, self.model), *arguments)
        sums, loss, errors, flips = (sum(column) for column in zip(*found, strict=True))
        return Labels(kept, sums, float(loss), float(errors), scores), int(flips)

    def objective(self, labels: Labels, separator: Separator, C: float) -> float:
        """Value of eq:pSVM_2 with C* in the place of C: a pass, unless the losses are known."""
        scores: Any = separator.scores
        errors = labels.errors
        if scores.labels is labels:
            errors = scores.errors
        elif labels.scores is not scores:
            plane = scores.weights, scores.offset
            (errors,) = summed(self.parts, _errors, labels.kept, (self.frame, self.model), plane)
        return 0.5 * float(separator.weights @ separator.weights) + C * errors + labels.loss


Posed = tuple[Frame, AlterPropSVM]


def _problem(part: Any, posed: Posed) -> PropSVM:
    frame, model = posed
    problem: PropSVM = model._problem(frame.bags_of(part))
    return problem


def _scores(part: Any, frame: Frame, plane: tuple[Array, float]) -> Array:
    weights, offset = plane
    return np.concatenate([rows[:, :-1] @ weights for _, rows in frame.blocks(part)]) + offset


def _described(
    problem: PropSVM, labeling: Array, errors: float, flips: int
) -> tuple[NDArray[np.uint8], tuple[Array, float, float, int]]:
    """The bits, and what there is to add up."""
    weights = problem.bags.relative_weights
    sums = np.array([weights @ (labeling > 0.0), weights @ (labeling < 0.0)])
    loss = problem.loss.total(problem.bags, problem.weights, labeling)
    return packed(labeling), (sums, loss, errors, flips)


def _relabelled(
    part: Any, bits: Any, posed: Posed, plane: tuple[Array, float], direction: Any, C: float
) -> Any:
    """The labeling step; ties go to the labels before, or along a direction."""
    problem, before = _problem(part, posed), unpacked(bits, slice(0, len(part[1])))
    scores = _scores(part, posed[0], plane)
    ties = before if direction is None else _scores(part, posed[0], (direction, 0.0))
    labeling = problem.best_labeling(scores, C, ties)
    errors = float(problem.instance_loss.of(labeling, scores).sum())
    return _described(problem, labeling, errors, int(np.count_nonzero(labeling != before)))


def _first_labels(part: Any, bits: Any, posed: Posed, start: Any) -> Any:
    """Of a plane the nearest feasible labeling; else labels that are drawn."""
    problem = _problem(part, posed)
    if isinstance(start, int):
        labeling = drawn_labels(rows_of(part), weight_of(part), problem.bags, start)
    else:
        scores = rows_of(part) @ start[0] + start[1]
        labeling = FeasibleLabelings.nearest(problem.bags).best(scores)
    return _described(problem, problem.allowed(labeling), np.nan, 0)


def _errors(part: Any, bits: Any, posed: Posed, plane: tuple[Array, float]) -> tuple[float]:
    """The instance losses of a labeling."""
    labeling, scores = unpacked(bits, slice(0, len(part[1]))), _scores(part, posed[0], plane)
    return (float(_problem(part, posed).instance_loss.of(labeling, scores).sum()),)


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The numbers hashed: the finaliser of SplitMix64."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def drawn_labels(X: Array, weight: Any, bags: Bags, seed: int) -> Array:
    """Fair labels that a seed and the content of a bag determine; those that are known are kept.

    They depend neither on the order of the rows and bags nor on where the data are cut.  Of equal
    instances in a bag, each has a label of its own.  Bags with the same content have the same.

    Parameters
    ----------
    X : array of shape (n_instances, n_features)
    weight : array of shape (n_instances,) or None
    bags : Bags
    seed : int
    """
    columns = [*X.T, np.ones(len(X)) if weight is None else weight]
    kind = np.full(len(X), seed, dtype=np.uint64)
    for column in columns:
        kind = _mixed(kind * np.uint64(3) + (np.asarray(column, float) + 0.0).view(np.uint64))
    order = np.lexsort((kind, bags.index))
    bag, kind = bags.index[order], kind[order]
    new = np.concatenate([[True], (bag[1:] != bag[:-1]) | (kind[1:] != kind[:-1])])
    copy = np.arange(len(X)) - np.maximum.accumulate(np.where(new, np.arange(len(X)), 0))
    content = np.add.reduceat(_mixed(kind), bags.starts)[bag]
    labeling = np.empty(len(X))
    drawn = _mixed(_mixed(kind + content) + copy.astype(np.uint64))
    labeling[order] = np.where(drawn >> np.uint64(63), 1.0, -1.0)
    return np.where(bags.labels == 0, labeling, bags.labels)


def alter_on_parts(model: AlterPropSVM, parts: Parts, summary: Summary) -> Fitted:
    """Algorithm 1 from all starts; its parameters are those of the model."""
    problem = _posed(model, parts, summary)
    step = PartedStep(parts, summary.frame, model.instance_loss, model.solver_tol)
    random = check_random_state(model.random_state)
    summary = replace(summary, bags=replace(summary.bags, mean_weight=1.0))  # C has it
    starts = _starts(model, problem.C, summary)
    return model._best(_descents(problem, step, starts, random, summary))


def _posed(model: AlterPropSVM, parts: Parts, summary: Summary) -> PartedPropSVM:
    """The problem, from checked parameters."""
    losses = ["hinge", *SMOOTH]
    able = {
        "polish": [model.polish == "none", "'none': a search needs all instances in memory"],
        "selection": [
            model.selection == "objective",
            "'objective'; propcvx.split_chunks holds out bags to choose by",
        ],
        "solver": [model.solver in ("auto", "newton"), "'auto' or 'newton'"],
        "solver_options": [not model.solver_options, "None"],
        "instance_loss": [
            isinstance(model.instance_loss, str) and model.instance_loss in losses,
            f"one of {losses}, whose steps are known; other losses need the instances in memory, "
            "and weights are sample_weight",
        ],
        "bag_weights": [_is_keyed(model.bag_weights), "'size', 'bag', or keyed by bag id"],
    }
    for name, (allowed, wanted) in able.items():
        if not allowed:
            raise InputError(
                f"{name} must be {wanted}, where the instances come in parts, got "
                f"{getattr(model, name)!r}."
            )
    C = model._problem(summary.bags).C
    return PartedPropSVM(parts, summary.frame, model, C)


def _is_keyed(values: Any) -> bool:
    return isinstance(values, str) or hasattr(values, "keys")


def _starts(model: AlterPropSVM, C: float, summary: Summary) -> list[Start]:
    """The kinds of start; of ``"mixed"`` those that passes can be made for."""
    starts = starts_of(model.init, model.n_init, model.annealing, summary.bags, C)
    if model.init == "mixed":
        starts = [start for start in starts if _method_of(start) is not None]
    for start in starts:
        if _method_of(start) is None:
            raise InputError(
                "init must be 'mixed', 'random', 'inv_cal', 'mean_map', or starts with these "
                f"methods, where the instances come in parts, got {start!r}."
            )
    return starts


def _method_of(start: Start) -> Any:
    """What a start is fitted with, "random", or None where it needs all instances."""
    if isinstance(start, RandomStart):
        return "random"
    method = start.method if isinstance(start, MethodStart) else None
    method = METHODS[method] if isinstance(method, str) else method
    return method if isinstance(method, InvCal | MeanMap) else None


def _descents(
    problem: PartedPropSVM,
    step: PartedStep,
    starts: list[Start],
    random: RandomState,
    summary: Summary,
) -> Iterator[tuple[Start, Fitted]]:
    """Where every start ends; the first one, where it is interrupted, with what it has reached."""
    each = [start for start in starts for _ in range(start.repeats)]
    seeds, model = [random.randint(2**31) for _ in each], problem.model
    for complete, (start, seed) in enumerate(zip(each, seeds, strict=True)):
        first: Any = seed
        method = _method_of(start)
        if method != "random":
            found = means_on_parts(clone(method), problem.parts, summary)
            first = found.weights, found.bias
        schedule = annealing_values(problem.C) if start.annealing else [problem.C]
        labels: Any = problem.first_labeling(first)
        rounds = alternate(problem, step, labels, schedule, tol=model.tol, max_iter=model.max_iter)  # type: ignore[arg-type]
        stopped: list[BaseException] = []
        end = None
        with suppress(InputError):  # where it is stopped in the first round
            end = descent(_until_stopped(rounds, stopped))
        if end is not None and not (stopped and complete):
            yield start, end
        if stopped:
            raise stopped[0]


def _until_stopped(rounds: Iterable[Iterate], stopped: list[BaseException]) -> Iterator[Iterate]:
    """The rounds up to an interruption, or the failure of a solver, which is noted."""
    try:
        yield from rounds
    except (KeyboardInterrupt, SolverError) as failure:
        stopped.append(failure)
