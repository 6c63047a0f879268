"""The page "The paper, equation by equation": the paper's parts, found in docstrings."""

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from paper import all_results

API = Path(__file__).with_name("api.rst")
CITATION = re.compile(
    r"(?:eq|prop|alg|fig|tb|table|sec):\w+"
    r"|Equation \(\d+\)|(?:Section|Proposition|Algorithm|Figure|Table) \d"
)
SEVERAL = re.compile(r"(Proposition|Table)s ((?:\d, )*\d and \d)")
ROLES = {"module": "mod", "class": "class", "function": "func", "method": "meth"}


@dataclass(frozen=True)
class Part:
    """An equation, proposition, algorithm, figure or table of the paper.

    Attributes
    ----------
    section : str
        Where it stands.
    printed : str
        What is printed beside it: ``"Equation (4)"``.
    label : str or None
        Its label in the paper's source.  Docstrings name a part by its label or as printed.
    says : str
        What it says, in Markdown.
    """

    section: str
    printed: str
    label: str | None
    says: str

    def is_cited_by(self, target: Any) -> bool:
        """Whether the docstring names it."""
        return not {self.label, self.printed}.isdisjoint(citations(target))


_HINGE_SUM = r"\sum_{i=1}^N L(y_i, w^\top \varphi(x_i) + b)"
_INNER = r"-\tfrac12 \alpha^\top (\mathcal{K} \odot y y^\top) \alpha + \alpha^\top 1"
_MIXED = (
    r"-\tfrac12 \alpha^\top \Big(\sum_{y \in \mathcal{Y}} \mu_{(y)} \mathcal{K} \odot y y^\top\Big)"
    r" \alpha + \alpha^\top 1"
)
_SETTING = "Section 3.1: Learning Setting"
_FORMULATION = "Section 3.2: Formulation"
_INVCAL = "Section 3.3: Connections to InvCal"
_ALTER = "Section 4: The alter-∝SVM Algorithm"
_RELAXATION = "Section 5.1: Convex Relaxation"
_CUTTING = "Section 5.2: Cutting Plane Training"
_CONV = "Section 5.3: The Algorithm"
_DATA = "Section 6.2: Experiments on UCI/LibSVM Datasets"

PARTS = (
    Part(
        "Section 2: Related Works",
        "Section 2",
        "sec:related",
        "MeanMap: the class means from the bag means, then a conditional exponential model.",
    ),
    Part(
        _SETTING,
        "Equation (1)",
        None,
        r"$$\{x_i \mid i \in \mathcal{B}_k\}_{k=1}^K, \quad"
        r" \textstyle\bigcup_k \mathcal{B}_k = \{1, \dots, N\}$$",
    ),
    Part(
        _SETTING,
        "Equation (2)",
        None,
        r"$$p_k := |\{i \in \mathcal{B}_k : y_i^* = 1\}| \,/\, |\mathcal{B}_k|$$",
    ),
    Part(
        _FORMULATION,
        "Equation (3)",
        "eq:tilde_p_k",
        r"$$\tilde p_k(y) = \frac{\sum_{i \in \mathcal{B}_k} y_i}{2 |\mathcal{B}_k|} + \frac12$$",
    ),
    Part(
        _FORMULATION,
        "Equation (4)",
        "eq:pSVM_2",
        r"$$\min_{y, w, b}\ \tfrac12 w^\top w + C " + _HINGE_SUM + r" + C_p \sum_{k=1}^K"
        r" L_p(\tilde p_k(y), p_k) \quad \text{s.t. } y_i \in \{-1, 1\}$$",
    ),
    Part(
        _INVCAL,
        "Equation (5)",
        "eq:rueping_svm",
        r"$$\min_{w, b, \xi, \xi^*}\ \tfrac12 w^\top w + C_p \sum_{k=1}^K (\xi_k + \xi_k^*)"
        r" \quad \text{s.t. } \xi, \xi^* \ge 0, \quad"
        r" \tau_k - \epsilon_k - \xi_k \le w^\top m_k + b \le \tau_k + \epsilon_k + \xi_k^*$$"
        "\n\n"
        r"with $\tau_k = -\log(1/p_k - 1)$ (*errata*: proportions of 0 and 1).",
    ),
    Part(
        _INVCAL,
        "Equation (6)",
        "eq:rueping",
        r"$$q_k := (1 + \exp(-w^\top m_k + b))^{-1}$$" + "\n\n(*errata*: the sign of $b$).",
    ),
    Part(
        _INVCAL,
        "Figure 1",
        "fig:bag",
        "Two bags whose means lie on the wrong sides of the separating line.",
    ),
    Part(
        _ALTER,
        "Equation (7)",
        "eq:solving_y",
        r"$$\min_y\ " + _HINGE_SUM + r" + \frac{C_p}{C} \sum_{k=1}^K L_p(\tilde p_k(y), p_k)"
        r" \quad \text{s.t. } y_i \in \{1, -1\}$$" + "\n\n(*errata*: the ratio is $C_p / C^*$).",
    ),
    Part(_ALTER, "Equation (8)", "eq:prop_1", "The same for one bag: bags are independent."),
    Part(
        _ALTER,
        "Proposition 1",
        "prop:inner",
        "With the number $R$ of positives of a bag given, the best labels are found by sorting.",
    ),
    Part(
        _ALTER,
        "Proposition 2",
        "prop:y",
        r"All labels are found in $O(N \log J)$ time, $J$ the size of the largest bag.",
    ),
    Part(
        _ALTER,
        "Algorithm 1",
        "alg:alt",
        "alter-∝SVM: labels and separator in turn, while $C^*$ rises to $C$.",
    ),
    Part(
        _RELAXATION,
        "Equation (9)",
        "eq:convex_1",
        r"$$\min_{y \in \mathcal{Y}} \min_w\ \tfrac12 w^\top w + C \sum_{i=1}^N"
        r" L(y_i, w^\top \varphi(x_i)), \quad \mathcal{Y} = \big\{y \in \{-1, 1\}^N :"
        r" |\tilde p_k(y) - p_k| \le \epsilon\big\}$$",
    ),
    Part(
        _RELAXATION,
        "Equation (10)",
        None,
        r"The same as a loss: $L_p = 0$ if $|\tilde p_k(y) - p_k| < \epsilon$, otherwise $\infty$"
        r" (the set above has $\le$, and so has the package).",
    ),
    Part(
        _RELAXATION,
        "Equation (11)",
        "eq:convex_2",
        r"$$\min_{y \in \mathcal{Y}} \max_{0 \le \alpha \le C}\ " + _INNER + "$$",
    ),
    Part(
        _RELAXATION,
        "Equation (12)",
        None,
        r"$$\mathcal{M}_0 = \{y y^\top : y \in \mathcal{Y}\}$$",
    ),
    Part(
        _RELAXATION,
        "Equation (13)",
        None,
        r"$$\mathcal{M} = \Big\{\sum_{y \in \mathcal{Y}} \mu_{(y)}\, y y^\top :"
        r" \mu \ge 0,\ \sum_y \mu_{(y)} = 1\Big\}$$",
    ),
    Part(
        _RELAXATION,
        "Equation (14)",
        "eq:convex_3",
        r"$$\min_{\mu \in \mathcal{U}} \max_{\alpha \in \mathcal{A}}\ " + _MIXED + "$$",
    ),
    Part(
        _CUTTING,
        "Equation (15)",
        None,
        r"$$\max_{\alpha \in \mathcal{A}} \min_{\mu \in \mathcal{U}}\ " + _MIXED + "$$",
    ),
    Part(
        _CUTTING,
        "Equation (16)",
        "eq:convex_4",
        r"$$\max_{\alpha \in \mathcal{A}, \beta} -\beta \quad \text{s.t. } \beta \ge \tfrac12"
        r" \alpha^\top (\mathcal{K} \odot y y^\top) \alpha - \alpha^\top 1"
        r" \quad \text{for all } y \in \mathcal{Y}$$"
        "\n\n"
        r"(*errata*: printed with $+\alpha^\top 1$).",
    ),
    Part(
        _CUTTING,
        "Equation (17)",
        None,
        r"$$\operatorname*{arg\,max}_{y \in \mathcal{Y}}\ \tfrac12 \alpha^\top"
        r" (\mathcal{K} \odot y y^\top) \alpha + \alpha^\top 1$$",
    ),
    Part(
        _CUTTING,
        "Equation (18)",
        "eq:concave",
        r"$$\operatorname*{arg\,max}_{y \in \mathcal{Y}} \sum_{i, j = 1}^N"
        r" \alpha_i \alpha_j y_i y_j \varphi(x_i)^\top \varphi(x_j)$$"
        "\n\n(*errata*: a convex function is maximised).",
    ),
    Part(
        _CUTTING,
        "Equation (19)",
        "eq:inf",
        r"$$\max_{j = 1, \dots, d} \Big|\sum_{i=1}^N \alpha_i y_i x_i^{(j)}\Big|$$"
        "\n\n"
        r"in place of the $\ell_2$ norm (*errata*: the norm of the sum).",
    ),
    Part(
        _CUTTING,
        "Equation (20)",
        "eq:convex_vio",
        r"$$\max_{j = 1, \dots, d} \max\Big(\sum_k \sum_{i \in \mathcal{B}_k} \alpha_i y_i"
        r" x_i^{(j)},\ -\sum_k \sum_{i \in \mathcal{B}_k} \alpha_i y_i x_i^{(j)}\Big)$$",
    ),
    Part(
        _CUTTING,
        "Equation (21)",
        None,
        r"$$\min_{y_i,\, i \in \mathcal{B}_k} \sum_{i \in \mathcal{B}_k} (-\alpha_i x_i^{(j)})\,"
        r" y_i \quad \text{s.t. } |\tilde p_k(y) - p_k| \le \epsilon$$",
    ),
    Part(
        _CUTTING,
        "Proposition 3",
        "prop:conv_2",
        r"The labeling of Equation (19) is found in $O(d N \log J)$ time.",
    ),
    Part(
        _CUTTING,
        "Algorithm 2",
        "alg:conv",
        "conv-∝SVM: a labeling that is violated, the multiple-kernel problem, and again"
        " (*errata*: what its value bounds).",
    ),
    Part(
        _CONV,
        "Equation (22)",
        None,
        r"$$f(x) = \operatorname{sign}\Big(\sum_{i=1}^N \alpha_i y_i \varphi(x_i)^\top"
        r" \varphi(x)\Big)$$",
    ),
    Part(
        _DATA,
        "Equation (23)",
        None,
        r"$$Err = \sum_{k=1}^T |\tilde p_k - p_k|$$"
        "\n\nover the bags held out; the package has the mean.",
    ),
    Part(_DATA, "Table 1", "table:datasets", "The twelve data sets."),
    Part(_DATA, "Table 2", "tb:linear", "Accuracies with the linear kernel."),
    Part(_DATA, "Table 3", "tb:large", "Accuracies on cod-rna.t, in large bags."),
    Part(_DATA, "Table 4", "tb:rbf", "Accuracies with the Gaussian kernel."),
)


def equation_pages() -> dict[str, str]:
    """Markdown of each section of the paper, by the section's number with underscores."""
    objects = list(documented())
    return {
        key_of(section): "\n\n".join(
            _entry(part, objects) for part in PARTS if part.section == section
        )
        for section in dict.fromkeys(part.section for part in PARTS)
    }


def key_of(section: str) -> str:
    """Name by which the page asks for a section: ``section_3_1``."""
    return "section_" + re.findall(r"[\d.]+", section)[0].rstrip(".").replace(".", "_")


def _entry(part: Part, objects: list[tuple[str, str, Any]]) -> str:
    head = f"**{part.printed}**" + (f", `{part.label}`" if part.label else "")
    citing = [(role, name, target) for role, name, target in objects if part.is_cited_by(target)]
    lines = [f"- {{{role}}}`{name}`: {summary(target)}" for role, name, target in citing]
    code = [
        f"```python\n{source(target)}\n```"
        for _, _, target in citing
        if inspect.isfunction(target) and is_program_of(part, target)
    ]
    pages = [
        f"[Computed and compared on its own page](generated/paper/{name}.rst)."
        for name, result in all_results()
        if result.printed == part.printed
    ]
    return "\n\n".join([head, part.says, "\n".join(lines), *pages, *code])


def is_program_of(part: Part, function: Any) -> bool:
    """Whether a function builds the program that the part is, and says so in its first line."""
    first = inspect.getdoc(function).split("\n\n")[0]
    is_program = function.__module__.startswith("propcvx.programs.")
    return is_program and part.label is not None and part.label in first


def source(function: Any) -> str:
    """Code of a function, without its docstring."""
    lines = inspect.getsource(function).splitlines()
    definition = ast.parse("\n".join(lines)).body[0]
    docstring = definition.body[0]
    return "\n".join([*lines[: docstring.lineno - 1], *lines[docstring.end_lineno :]])


def documented() -> Iterator[tuple[str, str, Any]]:
    """Role, name and object of all that the page "API" documents."""
    seen: set[int] = set()
    for module_name in re.findall(
        r"^   ((?:propcvx|reproduction)[\w.]*)$", API.read_text(), re.MULTILINE
    ):
        module = import_module(module_name)
        yield ROLES["module"], module_name, module
        for name in getattr(module, "__all__", None) or _own_names(module):
            target = getattr(module, name)
            if id(target) in seen:
                continue
            seen.add(id(target))
            if inspect.isclass(target):
                yield ROLES["class"], f"{module_name}.{name}", target
                for method, function in vars(target).items():
                    if inspect.isfunction(function) and not method.startswith("_"):
                        yield ROLES["method"], f"{module_name}.{name}.{method}", function
            elif inspect.isfunction(target):
                yield ROLES["function"], f"{module_name}.{name}", target


def _own_names(module: Any) -> list[str]:
    return [
        name
        for name, target in vars(module).items()
        if not name.startswith("_") and getattr(target, "__module__", None) == module.__name__
    ]


def citations(target: Any) -> set[str]:
    """The parts of the paper that a docstring cites."""
    text = (target.__dict__.get("__doc__") if inspect.isclass(target) else target.__doc__) or ""
    text = SEVERAL.sub(_one_by_one, " ".join(text.split()))
    return set(CITATION.findall(text))


def _one_by_one(several: re.Match[str]) -> str:
    """Each of "Propositions 1 and 2"."""
    return " ".join(f"{several[1]} {number}" for number in re.findall(r"\d", several[2]))


def summary(target: Any) -> str:
    """First line of a docstring, its mathematics and names as Markdown has them."""
    first = (inspect.getdoc(target) or "").split("\n\n")[0].replace("\n", " ")
    first = re.sub(r":math:`([^`]*)`", r"$\1$", first)
    first = re.sub(r":\w+:`~?([^`]*)`", r"`\1`", first)
    return first.replace("``", "`")
