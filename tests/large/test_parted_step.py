"""The SVM step over parts beside the one in memory, for all scales of C and of the instances."""

import numpy as np
import pandas as pd
import pytest
from svm_problems import PROBLEMS, problems

from propcvx import AlterPropSVM
from propcvx.labelings.losses import HINGE, INSTANCE_LOSSES
from propcvx.solvers import Solve
from propcvx.svm.step import SVMStep

partitions = pytest.importorskip("propcvx.large.partitions")
svm_step = pytest.importorskip("propcvx.large.svm_step")
methods = pytest.importorskip("propcvx.large.methods")


class InMemory(partitions.Partitions):
    """Partitions without a scheduler, of whose calls there are thousands here."""

    def each(self, function, kept, *arguments):
        self.passes += 1
        parts = zip(self.parts.values(), kept, strict=True)
        return [
            function(partitions.Part(*part, self.frame), bits, *arguments) for part, bits in parts
        ]


def parted(X, labeling, loss="hinge", tol=1e-7):
    """The problem over three parts, and the labels beside them."""
    cuts = np.array_split(np.arange(len(X)), 3)
    parts = {k: (X[rows], pd.DataFrame(index=rows)) for k, rows in enumerate(cuts)}
    size = np.sqrt(np.square(X - X.mean(axis=0)).sum() / len(X))
    frame = partitions.Frame(len(X), X.mean(axis=0), 1.0 / (size or 1.0))
    sums = np.array([np.sum(labeling > 0), np.sum(labeling < 0)], dtype=float)
    labels = svm_step.Labels([svm_step.packed(labeling[rows]) for rows in cuts], sums, 0.0, {})
    model = AlterPropSVM(instance_loss=loss, solver_tol=tol)
    return methods.PartedPropSVM(InMemory(parts, frame), model, 1.0), labels


BOXES = (1e-6, 1.0, 1e3, 1e6)
CASES = [(name, BOXES) for name in (*PROBLEMS, "one class") if name != "wide"]
CASES.append(("wide", BOXES[:3]))


@pytest.mark.parametrize(
    ("name", "boxes"), [*CASES, pytest.param("wide", BOXES[3:], marks=pytest.mark.slow)]
)
def test_equals_the_step_in_memory(name, boxes):
    X, labeling = problems(np.random.default_rng(3))[name if name in PROBLEMS else "binary"]
    labeling = labeling if name in PROBLEMS else np.ones(len(X))
    scale = {"overlapping": 1e-6, "binary": 1e6}.get(name, 1.0)
    for C in boxes:
        scaled, box = scale * X, C / scale**2
        problem, labels = parted(scaled, labeling)
        answer, known = (
            problem.svm_step(labels, box),
            SVMStep(scaled, Solve("newton", 1e-7))(labeling, box),
        )
        assert answer.status == known.status == "optimal"
        losses = HINGE.of(labeling, scaled @ answer.weights + answer.bias).sum()
        value = 0.5 * answer.weights @ answer.weights + box * losses
        best = 0.5 * known.weights @ known.weights + box * HINGE.of(labeling, known.scores).sum()
        assert value == pytest.approx(best, rel=2e-7)
        assert name == "wide" or problem.partitions.passes < 1500  # more features than instances
        assert labels.errors[answer.scores] == pytest.approx(losses, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("loss", [name for name in INSTANCE_LOSSES if name != "hinge"])
def test_smooth_losses_have_no_gradient_left(loss):
    X, labeling = problems(np.random.default_rng(0))["overlapping"]
    instance_loss = INSTANCE_LOSSES[loss]
    for C in (1e-6, 1.0, 1e6):
        problem, labels = parted(X, labeling, loss)
        answer = problem.svm_step(labels, C)

        def value(weights, bias, C=C):
            return (
                0.5 * weights @ weights + C * instance_loss.of(labeling, X @ weights + bias).sum()
            )

        best = value(answer.weights, answer.bias)
        for direction in np.random.default_rng(1).normal(size=(20, 4)):
            for length in (1e-3, 1e-1):
                moved = length * direction * (1 + np.abs(answer.weights).max())
                there = value(answer.weights + moved[:3], answer.bias + moved[3])
                assert there >= best * (1 - 1e-12)
