"""What a program prints is the problem that is solved."""

import re

import cvxpy as cp
import numpy as np
import pytest

from propcvx.experiments.programs import PROGRAMS, ProgramAt
from propcvx.programs import Program, svm_primal
from propcvx.programs.statement import LATEX, TEXT, statement, written

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
    for leaf in (*program.problem.variables(), *program.problem.parameters()):
        leaf.save_value(random.uniform(0.1, 0.9, leaf.shape))
    leaves = (*program.problem.variables(), *program.problem.parameters())
    constants = [c for c in program.problem.constants() if c.name().isidentifier()]
    return {leaf.name(): leaf.value for leaf in (*leaves, *constants)}


@pytest.fixture(params=PROGRAMS)
def program(request):
    return ProgramAt(request.param, 4, bag_size=2)()


def test_what_is_written_has_the_value_of_the_expression(program):
    names, read = names_of(program), 0
    parts = [program.problem.objective.args[0]]
    parts += [side for c in program.problem.constraints for side in c.args]
    for part in parts:
        text = written(part, TEXT)
        if set(re.findall(r"[a-z_]\w*|\[|I - Q", text, re.IGNORECASE)) <= {*names, *FUNCTIONS, "T"}:
            value = eval(text, {**FUNCTIONS, **names})
            np.testing.assert_allclose(np.broadcast_to(value, part.shape), part.value, rtol=1e-12)
            read += 1
    assert read >= 1


def test_every_constraint_has_a_line(program):
    lines = str(program).splitlines()
    for label in program.constraints:
        assert any(re.match(rf"  (subject to)? +{label}: ", line) for line in lines)
    latex = program._repr_latex_()
    assert latex.count("{") == latex.count("}")
    assert latex.count("&") == 1 + len(program.constraints)


def test_brackets_are_where_they_change_the_value():
    x, A = cp.Variable(2, name="x"), cp.Constant(np.ones((2, 2)), name="A")
    assert written(A @ cp.multiply(x, x), TEXT) == "A @ (x * x)"
    assert written(cp.multiply(x, A @ x), TEXT) == "x * (A @ x)"
    assert written(x - (x - 1), TEXT) == "x - (x - 1)"
    assert written(-(x + x), TEXT) == "-(x + x)"
    assert written((x + 1) / 4, TEXT) == "(x + 1) / 4"


def test_latex_has_letters_indices_and_stars():
    variables = [cp.Variable(name=name) for name in ("xi_star", "C_p", "mean_label", "w")]
    told = [written(variable, LATEX) for variable in variables]
    assert told == [r"\xi^*", "C_{p}", r"\text{mean}_{\text{label}}", "w"]


def test_a_function_with_settings_is_as_cvxpy_has_it():
    x = cp.Variable(2, name="x")
    program = Program(cp.Problem(cp.Minimize(cp.norm(x, 2) + cp.sum(cp.huber(x, 2)))))
    assert statement(program.problem, {}, TEXT) == [("minimize", "norm(x, 2) + sum(huber(x, 2.0))")]


def test_a_variant_prints_what_it_is():
    program = svm_primal(np.ones((3, 2)))
    variant = program.with_constraints(small=cp.norm1(program.variables["w"]) <= 1)
    assert "small:  norm1(w) <= 1" in str(variant)
    assert r"\operatorname{norm1}(w) \le 1" in variant._repr_latex_()
