"""The methods over partitions: their own code in memory, with steps that make passes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from pandas import DataFrame, Series
from pandas.util import hash_array, hash_pandas_object
from sklearn.base import clone
from sklearn.utils import check_random_state

from propcvx.alternating.algorithm import Iterate, alternate, annealing_values, descent
from propcvx.arrays import Array
from propcvx.bags.bags import Bags
from propcvx.bags.ordering import in_canonical_order
from propcvx.errors import InputError, SolverError
from propcvx.estimators import AlterPropSVM, MeanMap, MethodStart, RandomStart
from propcvx.estimators.alter import averaged, n_undecided
from propcvx.estimators.means import BagMeanClassifier
from propcvx.estimators.starts import Start, starts_of
from propcvx.history import Fitted
from propcvx.labelings.feasible import FeasibleLabelings
from propcvx.large.partitions import Part, Partitions
from propcvx.large.svm_step import SMOOTH, Labels, PartedLosses, Scores, packed, unpacked
from propcvx.solvers import Solution
from propcvx.solvers.specialised.logistic import Sums, log_partition, minimise_sums, smooth_sums
from propcvx.svm.kernels import FeatureMap, Kernel
from propcvx.svm.problem import PropSVM
from propcvx.svm.step import Separator


def fit_bag_means(model: BagMeanClassifier, partitions: Partitions) -> Fitted:
    """Fit a method that sees the means of bags; MeanMap's likelihood takes further passes."""
    frame = partitions.frame
    bags = in_canonical_order(partitions.bags, partitions.means, sign=frame.sign)
    features = FeatureMap(Kernel(), partitions.means[bags.rows])
    if not isinstance(model, MeanMap):
        return model._run(features, bags)
    if model.solver not in ("auto", "logistic") or model.solver_options:
        raise InputError(
            "solver must be 'auto' or 'logistic', without options, on Dask collections, got "
            f"{model.solver!r} with {model.solver_options!r}."
        )

    def most_likely(
        bags: Bags, lam: float, operator: Array, label: float, centre: Array | float
    ) -> tuple[Array, float, Solution]:
        """The exponential model of MeanMap, for features less a centre; and how it was solved."""
        started, apart, total = perf_counter(), frame.mean - centre, float(bags.masses.sum())
        linear = frame.unit * operator
        to_plane = np.vstack([np.eye(len(operator)), frame.unit * apart])
        ridge = np.full(len(operator), lam * frame.unit**2)
        if model.fit_intercept:
            linear = np.append(linear - label * frame.unit * apart, label)
            to_plane, ridge = np.eye(len(linear)), np.append(ridge, 0.0)

        def ask(x: Array) -> Sums:
            sums = partitions.sums(_log_partition, None, to_plane @ x)
            value, gradient, hessian = (each / total for each in sums)
            return value, gradient @ to_plane, to_plane.T @ hessian @ to_plane

        x, value, status, _ = minimise_sums(ask, linear, ridge, np.zeros(len(linear)), 1e-10)
        weights = frame.unit * x[: len(operator)]
        seconds = perf_counter() - started
        answer: dict[str, Any] = {"variables": {"w": weights}, "duals": {}, "residuals": None}
        answer |= {"status": status, "value": value, "solve_seconds": seconds}
        bias = float(x[-1] - weights @ apart) if model.fit_intercept else 0.0
        return weights, bias, Solution(solver="logistic", **answer)

    return model._run(
        features, bags, most_likely=most_likely, variance_of=lambda *_: partitions.variance
    )


def _log_partition(part: Part, kept: None, plane: Array) -> Sums:
    """Sum of the log-partitions of the counted rows, and its derivatives."""
    value, gradient, second = smooth_sums(part.rows, part.counted, log_partition, plane)
    return value, gradient, second()


@dataclass(frozen=True)
class PartedPropSVM:
    """The problem of Algorithm 1 and its SVM step.

    See :class:`propcvx.svm.problem.PropSVM`, and
    :class:`propcvx.svm.step.SVMStep`.

    Attributes
    ----------
    partitions : Partitions
    model : AlterPropSVM
        Its parameters.
    C : float
        Weight of the instance loss.
    """

    partitions: Partitions
    model: AlterPropSVM
    C: float

    def svm_step(self, labels: Labels, C: float, after: Separator | None = None) -> Separator:
        """Solve, from where the separator before ended, and take the bias that is best for w."""
        frame, warm = self.partitions.frame, None if after is None else after.warm
        losses = PartedLosses(self.partitions, labels, C / frame.unit**2)
        scores, value, answer = losses.minimum(
            self.model.instance_loss, self.model.solver_tol, warm
        )
        labels.errors[scores] = value / losses.C
        weights = frame.unit * scores.weights
        bias = scores.offset - float(frame.mean @ weights)
        return Separator(labels, weights, bias, scores, **answer)

    def relabel(self, labels: Labels, separator: Separator, C: float) -> tuple[Labels, int]:
        """The labeling step, and how many labels it changes: a pass."""
        scores, ties = separator.scores, separator.ties
        return self._labels(labels.kept, _relabeled, scores, ties, C)

    def first_labels(self, start: Any) -> Labels:
        """The feasible labeling nearest to the scores of a method, or one that a seed draws."""
        return self._labels(None, _first_labels, start)[0]

    def _labels(
        self, kept: Any, function: Callable[..., Any], scores: Any, *arguments: Any
    ) -> tuple[Labels, int]:
        kept, sums = self.partitions.keep(function, kept, self.model, scores, *arguments)
        of_signs, loss, errors, flips = sums
        return Labels(kept, of_signs, loss, {scores: errors}), flips

    def objective(self, labels: Labels, separator: Separator, C: float) -> float:
        """Value of eq:pSVM_2 with C* in the place of C; the step between both told the errors."""
        errors = labels.errors[separator.scores]
        return 0.5 * float(separator.weights @ separator.weights) + C * errors + labels.loss


def _first_labels(part: Part, kept: None, model: AlterPropSVM, start: Any) -> Any:
    if isinstance(start, int):
        labeling = drawn_labels(part, start)
    else:
        labeling = FeasibleLabelings.nearest(part.bags).best(start.of(part))
    problem = model._problem(part.bags, lambda: 1.0)
    return _described(problem, problem.allowed(labeling))


def _relabeled(
    part: Part, bits: Any, model: AlterPropSVM, scores: Scores, ties: Scores | None, C: float
) -> Any:
    """The labeling step; ties go to the labels before, or along a direction."""
    problem, before = model._problem(part.bags, lambda: 1.0), unpacked(bits, len(part.rows))
    here = scores.of(part)
    labeling = problem.best_labeling(here, C, before if ties is None else ties.of(part))
    errors = float(problem.instance_loss.of(labeling, here).sum())
    return _described(problem, labeling, errors, int(np.count_nonzero(labeling != before)))


def _described(problem: PropSVM, labeling: Array, errors: float = np.nan, flips: int = 0) -> Any:
    """The bits, and what there is to add up."""
    weights = problem.bags.relative_weights
    sums = np.array([weights @ (labeling > 0.0), weights @ (labeling < 0.0)])
    return packed(labeling), (sums, problem.cost(labeling), errors, flips)


def drawn_labels(part: Part, seed: int) -> Array:
    """Fair labels that a seed and the content of a bag determine; those that are known are kept.

    They depend neither on the order of the rows and bags nor on where the data are cut.  Of equal
    rows in a bag, each has a label of its own.  Bags with the same content have the same.
    """
    weights = np.asarray(part.table.get("weight", 1.0), dtype=np.float64)
    content = DataFrame(part.values + 0.0).assign(weight=weights)
    kinds = hash_array(hash_pandas_object(content, index=False).to_numpy() + np.uint64(seed))
    bag = Series(kinds).groupby(part.bags.index)
    copies = Series(kinds).groupby([part.bags.index, kinds]).cumcount().to_numpy(np.uint64)
    drawn = hash_array(hash_array(kinds + bag.transform("sum").to_numpy()) + copies)
    labeling = np.where(drawn >> np.uint64(63), 1.0, -1.0)
    return np.where(part.bags.labels == 0, labeling, part.bags.labels)


def fit_alter(model: AlterPropSVM, partitions: Partitions) -> Fitted:
    """Algorithm 1 from all starts; its parameters are those of the model."""
    _check(model)
    C = model._problem(partitions.bags, lambda: partitions.variance).C
    weights = {"C": model.C_, "C_p": model.C_p_}  # those of all partitions
    problem = PartedPropSVM(partitions, clone(model).set_params(**weights), C)
    partitions.bags = replace(partitions.bags, mean_weight=1.0)  # C has it
    end = model._best(_descents(problem, _starts(model, problem)))
    if not model.start_weight or not isinstance(model.start_, MethodStart):
        return end
    first = fit_bag_means(model.start_.estimator(), partitions)
    planes = [_scores(plane, partitions) for plane in (end, first)]
    undecided, *squares = partitions.sums(_undecided_and_squares, None, planes)
    if not undecided:
        return end
    return averaged(end, first, model.start_weight, *map(float, np.sqrt(squares)))


def _scores(end: Fitted, partitions: Partitions) -> Scores:
    """The scores of a plane, for centred rows in their unit."""
    frame = partitions.frame
    return Scores(end.weights / frame.unit, end.bias + float(frame.mean @ end.weights))


def _undecided_and_squares(part: Part, kept: None, planes: Iterable[Scores]) -> Array:
    """How many labels of a part are open, and weighted sums of the squares of its scores."""
    weights = part.bags.relative_weights
    squares = (float(weights @ np.square(plane.of(part))) for plane in planes)
    return np.array([n_undecided(part.bags), *squares])


def _check(model: AlterPropSVM) -> None:
    """Raise where a parameter needs all instances in memory."""
    losses = ["hinge", *SMOOTH]
    keyed = isinstance(model.bag_weights, str) or hasattr(model.bag_weights, "keys")
    named = isinstance(model.instance_loss, str) and model.instance_loss in losses
    for name, able, wanted in [
        ("polish", model.polish == "none", "'none'"),
        ("solver", model.solver in ("auto", "newton"), "'auto' or 'newton'"),
        ("solver_options", not model.solver_options, "None"),
        ("instance_loss", named, f"one of {losses}"),
        ("bag_weights", keyed, "'size', 'bag', or keyed by bag id"),
    ]:
        if not able:
            raise InputError(
                f"{name} must be {wanted} on Dask collections, as anything else needs all rows in "
                f"memory, got {getattr(model, name)!r}."
            )


def _starts(model: AlterPropSVM, problem: PartedPropSVM) -> list[tuple[Start, Any]]:
    """The kinds of start, each with its method, or a seed for labels that are drawn.

    Of ``init="mixed"`` those are left out that passes cannot be made for.
    """
    starts: list[tuple[Start, Any]] = []
    random, bags = check_random_state(model.random_state), problem.partitions.bags
    for start in starts_of(model.init, model.n_init, model.annealing, bags, problem.C):
        method = start.estimator() if isinstance(start, MethodStart) else None
        if isinstance(start, RandomStart):
            starts += [(start, random.randint(2**31)) for _ in range(start.repeats)]
        elif isinstance(method, BagMeanClassifier):
            starts.append((start, method))
        elif model.init not in ("auto", "mixed"):
            raise InputError(
                "init must be 'auto', 'mixed', 'random', 'ecological', 'inv_cal', 'mean_map', or "
                f"starts with these methods on Dask collections, got {start!r}."
            )
    return starts


def _descents(
    problem: PartedPropSVM, starts: list[tuple[Start, Any]]
) -> Iterator[tuple[Start, Fitted]]:
    """Where every start ends; the first one, where it is interrupted, with what it has reached."""
    partitions, model = problem.partitions, problem.model
    for number, (start, first) in enumerate(starts):
        if not isinstance(first, int):
            first = _scores(fit_bag_means(first, partitions), partitions)
        labels: Any = problem.first_labels(first)
        schedule = annealing_values(problem.C) if start.annealing else [problem.C]
        step: Any = problem.svm_step
        rounds = alternate(problem, step, labels, schedule, tol=model.tol, max_iter=model.max_iter)  # type: ignore[arg-type]
        stopped: list[BaseException] = []
        end = descent(_until_stopped(rounds, stopped))
        if not stopped or number == 0:
            yield start, end
        if stopped:
            raise stopped[0]


def _until_stopped(rounds: Iterable[Iterate], stopped: list[BaseException]) -> Iterator[Iterate]:
    """The rounds up to an interruption, or the failure of a solver, which is noted."""
    last = None
    try:
        for last in rounds:
            yield last
    except (KeyboardInterrupt, SolverError) as failure:
        if last is None:
            raise
        stopped.append(failure)
