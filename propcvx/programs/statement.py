"""The text of a problem as on paper, from its own expressions.

Atoms that only make a number a vector, or a vector a column, are omitted.  The sizes of variables
and parameters have separate lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
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
"""Precedence of expressions: inside a product, a sum needs brackets."""

RELATIONS: dict[type, str] = {Inequality: "{} <= {}", Equality: "{} == {}", PSD: "{} >> 0"}


GREEK = {"alpha", "beta", "delta", "epsilon", "eta", "mu", "xi", "Sigma"}
FORMS = {
    **{"": r"\left[%s\right]", "sum": r"\textstyle\sum \left[%s\right]", "abs": "|%s|"},
    **{"sum_squares": r"\|%s\|_2^2", "norm1": r"\|%s\|_1"},
}
SIGNS = {
    **{" <= ": r" \le ", " == ": " = ", " >> ": r" \succeq ", " * ": r" \circ ", " @ ": r" \, "},
    **{".T": r"^\top", "**": "^"},
}
"""Names, functions and signs in LaTeX, where brackets are square so that each is found once."""


def relation(constraint: Any) -> str:
    """Format a constraint, such as ``A @ x <= b``."""
    sides = [render(side) for side in constraint.args]
    form = RELATIONS.get(type(constraint))
    return form.format(*sides) if form else f"{type(constraint).__name__}({', '.join(sides)})"


def size(leaf: Any) -> str:
    """Format the name of a variable or a parameter, with its shape and its attributes."""
    attributes = [name for name, value in leaf.attributes.items() if value is True]
    details = [" x ".join(map(str, leaf.shape))] * bool(leaf.shape) + attributes
    return f"{leaf.name()} ({', '.join(details)})" if details else leaf.name()


def render(expression: Any, minimum: int = SUM) -> str:
    """Format an expression, in brackets if its precedence is below ``minimum``."""
    text, strength = _parts(expression)
    return text if strength >= minimum else f"({text})"


def _parts(e: Any) -> tuple[str, int]:
    """Format an expression without brackets, and return its precedence."""
    match e:
        case cp.Variable() | cp.Parameter():
            return e.name(), WHOLE
        case cp.Constant():
            return _constant(e), WHOLE
        case Promote() | cp.reshape():
            return _parts(e.args[0])
        case AddExpression():
            terms = [render(term) for term in e.args if not term.is_zero()] or ["0"]
            return " + ".join(terms).replace("+ -", "- "), SUM
        case NegExpression():
            return f"-{render(e.args[0], PRODUCT)}", SUM
        case DivExpression():
            return f"{render(e.args[0], PRODUCT)} / {render(e.args[1], WHOLE)}", PRODUCT
        case multiply() | MulExpression():
            return _product(e), PRODUCT
        case cp.transpose():
            return f"{render(e.args[0], WHOLE)}.T", WHOLE
        case Power():
            return f"{render(e.args[0], WHOLE)}**{float(e.p.value):g}", PRODUCT
        case index():
            return f"{render(e.args[0], WHOLE)}[{e.name().rpartition('[')[2]}", WHOLE
    return _function(e), WHOLE


def _constant(constant: cp.Constant) -> str:
    """Format a constant by its name; without a name by its value, or the shape of an array."""
    if constant.name() != cp.Constant(constant.value).name():
        return str(constant.name())
    shape = "x".join(map(str, constant.shape))
    return f"[{shape}]" if shape else f"{float(constant.value):g}"


def _product(e: Any) -> str:
    """Format a product: by a number or entry by entry with ``*``, of matrices with ``@``."""
    if any(part.ndim == 0 or isinstance(part, Promote) for part in e.args):
        return " * ".join(render(part, PRODUCT) for part in e.args)
    sign, other = (" * ", MulExpression) if isinstance(e, multiply) else (" @ ", multiply)
    return sign.join(
        render(part, WHOLE if isinstance(_bare(part), other) else PRODUCT) for part in e.args
    )


def _bare(e: Any) -> Any:
    """Return the expression that is made a vector or a column."""
    return _bare(e.args[0]) if isinstance(e, Promote | cp.reshape) else e


def _function(e: Any) -> str:
    """Format a function of its arguments; with other settings, as CVXPY does."""
    parts = ", ".join(render(part) for part in e.args)
    match e:
        case Sum():
            return f"sum({parts})" if e.axis is None else f"sum({parts}, axis={e.axis})"
        case cp.quad_over_lin() if e.axis is None and e.args[1].value == 1.0:
            return f"sum_squares({render(e.args[0])})"
        case cp.Pnorm() if e.axis is None:
            return f"norm({parts}, {float(e.p):g})"
        case diag_mat() | diag_vec() if e.k == 0:
            return f"diag({parts})"
        case Hstack() | Vstack():
            return f"{type(e).__name__.lower()}({parts})"
    if all(setting is None for setting in e.get_data() or []):
        return f"{type(e).__name__}({parts})"
    return str(e.name())


def in_latex(text: str, scalars: Iterable[str]) -> str:
    r"""Convert the text of an expression or a relation to LaTeX.

    Vectors are not transposed: ``y @ v`` is :math:`y \, v`.  Products by entries have the sign
    :math:`\circ`, products with a number or with a scalar have no sign.

    Examples
    --------
    >>> print(in_latex("0.5 * sum_squares(w) + C * sum(xi_star)", ["C"]))
    0.5 \, \|w\|_2^2 + C \, \textstyle\sum \left[\xi^*\right]
    """
    text = re.sub(rf"\b({'|'.join([*scalars, r'[0-9.]+'])}) \* ", r"\1 \\, ", text)
    text = re.sub(r"\b[A-Za-z]\w+\b(?!\()", _name, text)
    while (inner := re.sub(r"(\w*)\(([^()]*)\)", _call, text)) != text:
        text = inner
    for sign, latex in SIGNS.items():
        text = text.replace(sign, latex)
    return text


def _name(match: re.Match[str]) -> str:
    base, _, index = match[0].partition("_")
    latex = rf"\{base}" if base in GREEK else base if len(base) == 1 else rf"\mathrm{{{base}}}"
    return latex + {"": "", "star": "^*"}.get(index, rf"_{{\mathrm{{{index}}}}}")


def _call(match: re.Match[str]) -> str:
    return FORMS.get(match[1], rf"\operatorname{{{match[1]}}}\left[%s\right]") % match[2]
