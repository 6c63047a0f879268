"""What a program prints is the problem that is solved."""

import re

import cvxpy as cp
import numpy as np
import pytest
from program_examples import PROGRAMS, ProgramAt

from propcvx.errors import InputError
from propcvx.programs import Program, svm_primal
from propcvx.programs.statement import render

FUNCTIONS = {
    "sum": np.sum,
    "abs": np.abs,
    "sum_squares": lambda x: np.sum(np.square(x)),
    "maximum": np.maximum,
    "logistic": lambda x: np.logaddexp(0.0, x),
    "entr": lambda x: -x * np.log(x),
}


def names_of(program):
    """Random values of all variables and parameters, and the named constants."""
    random = np.random.RandomState(0)
    leaves = (*program.problem.variables(), *program.problem.parameters())
    for leaf in leaves:
        leaf.save_value(random.uniform(0.1, 0.9, leaf.shape))
    constants = [c for c in program.problem.constants() if c.name().isidentifier()]
    return {leaf.name(): leaf.value for leaf in (*leaves, *constants)}


@pytest.fixture(params=PROGRAMS)
def program(request):
    return ProgramAt(request.param, 4, bag_size=2)()


def test_statement_has_value_of_expression(program):
    names, read = names_of(program), 0
    parts = [program.problem.objective.args[0]]
    parts += [side for c in program.problem.constraints for side in c.args]
    for part in parts:
        text = render(part)
        if set(re.findall(r"[a-z_]\w*|\[|I - Q", text, re.IGNORECASE)) <= {*names, *FUNCTIONS, "T"}:
            value = eval(text, {**FUNCTIONS, **names})
            np.testing.assert_allclose(np.broadcast_to(value, part.shape), part.value, rtol=1e-12)
            read += 1
    assert read >= 1


def test_variant_prints_its_own_statement():
    program = svm_primal(np.ones((3, 2)))
    w = program.variables["w"]
    variant = program.with_constraints(small=cp.norm1(w) <= 1, ball=cp.SOC(1, w))
    assert "small:  norm1(w) <= 1" in str(variant)
    assert "ball:   SOC(1, w)" in str(variant)
    x = cp.Variable(2, name="x")
    mine = Program(cp.Problem(cp.Minimize(cp.norm(x, 2) + cp.sum(cp.huber(x, 2)))))
    assert "minimize    norm(x, 2) + sum(huber(x, 2.0))" in str(mine)


def test_program_latex_is_complete_and_balanced(program):
    latex = program._repr_latex_()
    assert latex.count(" & ") + latex.count(r"\\ & ") >= 1
    assert latex.count(r" \\ ") == len(program.constraints)
    assert latex.count(r"\left[") == latex.count(r"\right]")
    assert latex.count("{") == latex.count("}")
    assert not re.search(r"[()@]|<=|>>", latex)


def test_variant_without_constraint_is_solved():
    program = svm_primal(np.ones((3, 2)))
    assert list(program.without_constraints("slack").constraints) == ["margin"]
    variant = program.without_constraints("margin", "slack")
    assert (list(variant.constraints), variant.structure) == ([], None)
    assert list(program.constraints) == ["margin", "slack"]
    with pytest.raises(InputError, match=r"\['tube'\] are no constraints of svm_primal; it has"):
        program.without_constraints("tube", "slack")
