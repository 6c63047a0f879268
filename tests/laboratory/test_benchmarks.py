"""The problems for benchmarks: of their class, from their seed, and what is compared by default."""

from dataclasses import replace

import cvxpy as cp
import pytest
from small_problems import sent

from propcvx.laboratory import compare_solvers
from propcvx.laboratory import solvers as laboratory
from propcvx.laboratory.benchmarks import BENCHMARKS
from propcvx.laboratory.programs import ProgramAt
from propcvx.programs import Program
from propcvx.solvers import residuals_of

CLASSES = {
    "lp": {"LP"},
    "qp": {"QP"},
    "socp": {"SOCP"},
    "sdp": {"SDP"},
    "mip": {"MILP", "MIQP"},
    "ecp": {"EXPONENTIAL"},
}
"""Classes of the package by CVXPY's tags."""


@pytest.fixture(params=BENCHMARKS)
def small(request):
    """A benchmark of few instances."""
    return replace(BENCHMARKS[request.param], instances=12)


def test_it_has_the_class_of_its_name_and_no_parameters(small):
    kind, _ = small.name.split("/")
    problem = small()
    assert kind in small.tags
    assert Program(problem).problem_class.name in CLASSES[kind]
    assert problem.is_lp() == (kind == "lp")
    assert not problem.parameters()
    assert small.description


def test_its_seed_is_what_it_depends_on(small):
    values = [small(seed).solve(solver=small.solver) for seed in (0, 0, 1)]
    assert values[0] == values[1]
    assert values[0] != pytest.approx(values[2], rel=1e-6)


def test_its_answer_is_that_of_the_program(small):
    problem, program = small(), ProgramAt(small.program, small.instances, C=small.C)()
    value, expected = (each.solve(solver=small.solver) for each in (problem, program.problem))
    assert problem.status == cp.OPTIMAL
    assert value == pytest.approx(expected, rel=1e-5, abs=1e-6)
    assert residuals_of(program.problem).relative <= 1e-4


def in_this_process(task, *limits):
    """What a task finds that is sent as to a process of its own."""
    return {name: value for part in sent(task)() for name, value in part.items()}


def test_solvers_are_compared_on_them_by_default(monkeypatch):
    names = ("qp/svm_dual", "lp/labeling")
    few = {name: replace(BENCHMARKS[name], instances=16) for name in names}
    monkeypatch.setattr(laboratory, "BENCHMARKS", few)
    monkeypatch.setattr(laboratory, "run_isolated", in_this_process)
    rows = compare_solvers(solvers=["clarabel", "highs"], tols=["default"])
    assert [(row["program"], row["solver"]) for row in rows] == [
        (name, solver) for name in names for solver in ("clarabel", "highs")
    ]
    assert {row["status"] for row in rows} == {cp.OPTIMAL}
    new = []
    again = compare_solvers(
        solvers=["clarabel", "highs"], tols=["default"], done=rows[:3], on_row=new.append
    )
    assert again[:3] == rows[:3]
    assert [row["program"] for row in new] == [names[1]]
