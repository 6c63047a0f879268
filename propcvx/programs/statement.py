r"""A problem as it is written on paper, read off its very expressions: as plain text and as LaTeX.

What only makes a number a vector, or a vector a column, is not written, and the sizes of what is
named stand apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression, multiply
from cvxpy.atoms.affine.diag import diag_mat, diag_vec
from cvxpy.atoms.affine.hstack import Hstack
from cvxpy.atoms.affine.index import index
from cvxpy.atoms.affine.promote import Promote
from cvxpy.atoms.affine.sum import Sum
from cvxpy.atoms.affine.unary_operators import NegExpression
from cvxpy.atoms.affine.vstack import Vstack
from cvxpy.atoms.elementwise.power import Power
from cvxpy.constraints import PSD, Equality, Inequality

SUM, PRODUCT, WHOLE = 1, 2, 3
"""How firmly an expression holds together: inside of a product, a sum needs brackets."""

LETTERS = ("alpha", "beta", "delta", "epsilon", "eta", "lambda", "mu", "omega", "tau", "xi")
"""Names that LaTeX has as letters."""


@dataclass(frozen=True)
class Style:
    """How expressions are written; braces stand for their parts."""

    product: str
    scaled: str
    entrywise: str
    transposed: str
    squares: str
    power: str
    call: str
    verbatim: str
    relations: Mapping[type, str]


TEXT = Style(
    product="{} @ {}",
    scaled="{} * {}",
    entrywise="{} * {}",
    transposed="{}.T",
    squares="sum_squares({})",
    power="{}**{}",
    call="{}({})",
    verbatim="{}",
    relations={Inequality: "{} <= {}", Equality: "{} == {}", PSD: "{} >> 0"},
)

LATEX = Style(
    product=r"{} \, {}",
    scaled=r"{} \, {}",
    entrywise=r"{} \circ {}",
    transposed=r"{}^\top",
    squares=r"\lVert {} \rVert^2",
    power=r"{}^{{{}}}",
    call=r"\operatorname{{{}}}({})",
    verbatim=r"\text{{{}}}",
    relations={Inequality: r"{} \le {}", Equality: "{} = {}", PSD: r"{} \succeq 0"},
)


def statement(
    problem: cp.Problem, constraints: Mapping[str, Any], style: Style
) -> list[Sequence[str]]:
    """The lines of a problem: the aim and what is aimed at, then labels and constraints."""
    objective = problem.objective
    aim = "maximize" if isinstance(objective, cp.Maximize) else "minimize"
    return [
        (aim, written(objective.args[0], style)),
        *((label, _relation(constraint, style)) for label, constraint in constraints.items()),
    ]


def sizes(parts: Mapping[str, Any]) -> str:
    """Names of variables or parameters, with their shapes and what is demanded of them."""
    return ", ".join(" ".join([name, *_size(leaf)]) for name, leaf in parts.items())


def written(expression: Any, style: Style, least: int = SUM) -> str:
    """An expression, in brackets where it holds together less than ``least``."""
    text, holds = _parts(expression, style)
    return text if holds >= least else f"({text})"


def _size(leaf: Any) -> list[str]:
    demanded = [name for name, value in leaf.attributes.items() if value is True]
    told = [" x ".join(map(str, leaf.shape)), *demanded]
    return [f"({', '.join(filter(None, told))})"] if any(told) else []


def _relation(constraint: Any, style: Style) -> str:
    relation = style.relations.get(type(constraint))
    parts = [written(part, style) for part in constraint.args]
    return relation.format(*parts) if relation else _call(type(constraint).__name__, parts, style)


def _parts(e: Any, style: Style) -> tuple[str, int]:
    """An expression as it is written, and how firmly that holds together."""
    match e:
        case cp.Variable() | cp.Parameter() | cp.Constant():
            return _name(e, style), WHOLE
        case Promote() | cp.reshape():
            return _parts(_bare(e), style)
        case AddExpression():
            return _sum(e.args, style), SUM
        case NegExpression():
            return f"-{written(e.args[0], style, PRODUCT)}", SUM
        case multiply() | MulExpression() | DivExpression():
            return _product(e, style), PRODUCT
        case cp.transpose():
            return style.transposed.format(written(e.args[0], style, WHOLE)), WHOLE
        case cp.quad_over_lin() if e.axis is None and e.args[1].value == 1.0:
            return style.squares.format(written(e.args[0], style)), WHOLE
        case Power():
            base = written(e.args[0], style, WHOLE)
            return style.power.format(base, f"{float(e.p.value):g}"), PRODUCT
    return _atom(e, style), WHOLE


def _name(leaf: Any, style: Style) -> str:
    """A name; of a constant without one its value, or its shape where that is long."""
    if isinstance(leaf, cp.Constant) and leaf.name() == cp.Constant(leaf.value).name():
        shape = "x".join(map(str, leaf.shape))
        return f"[{shape}]" if shape else f"{float(leaf.value):g}"
    return leaf.name() if style is TEXT else _symbol(leaf.name())


def _symbol(name: str) -> str:
    r"""A name in LaTeX: ``C_p`` with an index, ``a_star`` with a star, ``xi`` as a letter."""
    stem, _, mark = name.partition("_")
    if not mark:
        return rf"\{stem}" if stem in LETTERS else stem if len(stem) == 1 else rf"\text{{{stem}}}"
    return f"{_symbol(stem)}^*" if mark == "star" else f"{_symbol(stem)}_{{{_symbol(mark)}}}"


def _sum(terms: Sequence[Any], style: Style) -> str:
    told = [written(term, style) for term in terms if not term.is_zero()] or ["0"]
    signed = (f" - {text[1:]}" if text.startswith("-") else f" + {text}" for text in told[1:])
    return "".join([told[0], *signed])


def _product(e: Any, style: Style) -> str:
    left, right = e.args
    if isinstance(e, DivExpression):
        return f"{written(left, style, PRODUCT)} / {written(right, style, WHOLE)}"
    if _is_number(left) or _is_number(right):
        return style.scaled.format(*(written(part, style, PRODUCT) for part in e.args))
    entrywise = isinstance(e, multiply)
    other = MulExpression if entrywise else multiply
    parts = [
        written(part, style, WHOLE if isinstance(_bare(part), other) else PRODUCT)
        for part in e.args
    ]
    if style is LATEX and not entrywise and left.ndim == 1:
        parts[0] = style.transposed.format(written(left, style, WHOLE))
    return (style.entrywise if entrywise else style.product).format(*parts)


def _is_number(e: Any) -> bool:
    return e.ndim == 0 or isinstance(e, Promote)


def _bare(e: Any) -> Any:
    """What is made a vector or a column."""
    return _bare(e.args[0]) if isinstance(e, Promote | cp.reshape) else e


def _atom(e: Any, style: Style) -> str:
    """A function of its arguments; one with settings besides, such as a norm, as CVXPY has it."""
    inner = [written(part, style) for part in e.args]
    match e:
        case Sum():
            axis = [] if e.axis is None else [style.verbatim.format(f"axis={e.axis}")]
            return _call("sum", [*inner, *axis], style)
        case cp.Pnorm() if e.axis is None:
            return _call("norm", [*inner, f"{float(e.p):g}"], style)
        case diag_mat() | diag_vec() if e.k == 0:
            return _call("diag", inner, style)
        case Hstack() | Vstack():
            return _call(type(e).__name__.lower(), inner, style)
        case index():
            return f"{written(e.args[0], style, WHOLE)}[{e.name().rpartition('[')[2]}"
    if all(setting is None for setting in e.get_data() or []):
        return _call(type(e).__name__, inner, style)
    return style.verbatim.format(e.name())


def _call(name: str, parts: Sequence[str], style: Style) -> str:
    return style.call.format(name, ", ".join(parts))
