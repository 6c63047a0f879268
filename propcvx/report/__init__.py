"""Write the script of a report, run it, and make its page."""

from __future__ import annotations

import os
import shlex
import tempfile
import warnings
from argparse import Namespace
from importlib.metadata import version
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import propcvx
from propcvx.errors import InfeasibleLabelingError, InputError, PropCVXWarning, require_extra
from propcvx.groups import GroupRates
from propcvx.report.tables import Table, match_bags, read_counts, read_proportions, read_table

METHODS = {
    "ecological": "EcologicalRegression",
    "aggregate": "AggregateLogisticRegression",
    "alter": "AlterPropSVM",
}
"""Classes by their names on the command line."""

PACKAGES = ("propcvx", "scikit-learn", "cvxpy", "numpy")
"""Packages whose versions the page names."""

MOST_GROUPS = 6
"""Number of groups up to which all pairs are compared."""


@require_extra("report", "propcvx report")
def make_report(options: Namespace) -> Path:
    """Read two tables, fit, and write a folder with the report and its files.

    Parameters
    ----------
    options : Namespace
        The arguments of ``propcvx report``.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    InputError
        If a file or an option cannot be used; nothing is written then.
    """
    if options.output.exists() and not options.force:
        raise InputError(f"--output must be a new folder; {options.output} exists. Pass --force.")
    script, notes = plan(options)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.output.parent) as folder:
        path = Path(folder, "report.py")
        path.write_text(script, encoding="utf-8")
        try:
            page = render(options, run(script, path), notes)
        except InfeasibleLabelingError as error:
            raise InputError(
                f"{options.bags.name}: {str(error).partition('. ')[0]}. Add the people that "
                f"{options.people.name} lacks, or pass --sampled if it is a sample."
            ) from error
        path.with_name("report.html").write_text(page, encoding="utf-8")
        options.output.mkdir(exist_ok=True)
        for made in Path(folder).iterdir():
            os.replace(made, options.output / made.name)
    return Path(options.output, "report.html")


def plan(options: Namespace) -> tuple[str, list[str]]:
    """Return the script of the report, and what was recognized in the tables."""
    if bool(options.count) != bool(options.total):
        raise InputError("--count and --total must be passed together; got one of the two.")
    bag = options.bag
    people, bags = read_table(options.people, bag=bag), read_table(options.bags, bag=bag)
    match_bags(people, bags, bag)
    if "probability" in people.data:
        advice = "which the report adds. Rename it."
        raise InputError(f"{people.path.name} must have no column 'probability', {advice}")
    if options.count:
        proportions = read_counts(bags, options.count, options.total)
    else:
        proportions = read_proportions(bags, options.proportion)
    numbers, words, notes = columns_of(people, options)
    groupings = {text: group_code(text, people) for text in options.by}
    context = {
        "options": options,
        "command": command_of(options),
        "version": propcvx.__version__,
        "people": people.call,
        "bags": bags.call,
        "proportions": proportions,
        "numbers": numbers,
        "words": words,
        "method": METHODS[options.method],
        "by": groupings,
    }
    notes = [*people.notes, *bags.notes, proportions.note, *notes]
    return template("script.py.jinja", autoescape=False).render(context), notes


def columns_of(people: Table, options: Namespace) -> tuple[list[str], list[str], list[str]]:
    """Return the columns of numbers and of words of the model, and notes on the others."""
    data = people.data
    names = options.features or [name for name in data if name != options.bag]
    if missing := [name for name in names if name not in data]:
        raise InputError(f"--features must be columns of {people.path.name}; got {missing}.")
    varied = {name: data[name].nunique() for name in names}
    unique = [n for n in names if varied[n] == len(data) and data[n].dtype.kind != "f"]
    omitted = [n for n in names if varied[n] < 2 or n in unique]
    inputs = [name for name in names if name not in omitted]
    if not inputs:
        raise InputError(f"{people.path.name} must have a column, other than ids, that varies.")
    lists = {"Omitted, because constant or different for each person": omitted}
    counts = data.groupby(options.bag)[inputs].nunique().max()
    lists[f"Constant within each {options.bag}, and kept"] = [n for n in inputs if counts[n] <= 1]
    lists["Missing values are imputed in"] = [name for name in inputs if data[name].isna().any()]
    notes = [f"{text}: {', '.join(columns)}." for text, columns in lists.items() if columns]
    numbers = [name for name in inputs if data[name].dtype.kind in "iuf"]
    for name in numbers:
        people.fail_if(np.isinf(data[name]), data[name], f"is no finite {name}", "Correct it.")
    return numbers, [name for name in inputs if name not in numbers], notes


def command_of(options: Namespace) -> str:
    """Return the command of the options."""
    texts = ["propcvx", "report", str(options.people), str(options.bags)]
    for name, value in vars(options).items():
        if name in ("people", "bags", "command", "force") or value in (None, False):
            continue
        for item in value if isinstance(value, list) else [value]:
            texts += [f"--{name}"] if item is True else [f"--{name}", str(item)]
    return shlex.join(texts)


def group_code(text: str, people: Table) -> str:
    """Return the expression of a grouping: a column, or a condition such as ``age>60``."""
    if text in people.data:
        missing = people.data[text].isna().any()
        return f"people[{text!r}]" + ".fillna('(missing)')" * bool(missing)
    try:
        people.data.eval(text).rename(text)
    except Exception as error:
        raise InputError(
            f"--by must be a column of {people.path.name} or a condition such as 'age>60'; got "
            f"{text!r}: {error}."
        ) from error
    return f"people.eval({text!r}).rename({text!r})"


def run(script: str, path: Path) -> dict[str, Any]:
    """Run a script at a path and return its names; ``warnings`` has its warnings."""
    names: dict[str, Any] = {"__name__": "__main__", "__file__": str(path)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PropCVXWarning)
        exec(compile(script, str(path), "exec"), names)
    texts = [
        str(record.message) for record in caught if issubclass(record.category, PropCVXWarning)
    ]
    return names | {"warnings": list(dict.fromkeys(texts))}


def render(options: Namespace, names: dict[str, Any], notes: list[str]) -> str:
    """Return the page for the names of a script that was run."""
    from propcvx import plotting
    from propcvx.plotting.style import svg

    results = {
        name: (result, svg(plotting.group_ranges(result)), differences(result))
        for name, result in names["rates"].items()
    }
    context = {
        **{name: names[name] for name in ("check", "weights", "model", "warnings")},
        "options": options,
        "notes": notes,
        "results": results,
        "calibration": svg(plotting.calibration(names["check"])),
        "versions": ", ".join(f"{name} {version(name)}" for name in PACKAGES),
        "command": command_of(options),
    }
    return template("page.html.jinja", autoescape=True).render(context)


def differences(result: GroupRates) -> list[tuple[Any, Any, Any]]:
    """Return the contrasts of all pairs of groups, or of each group with the first if many."""
    names = list(result.groups.index)
    pairs = list(combinations(names, 2))
    if len(names) > MOST_GROUPS:
        pairs = [(name, names[0]) for name in names[1:]]
    return [(one, other, 100.0 * result.contrast(one, other)) for one, other in pairs]


def template(name: str, *, autoescape: bool) -> Any:
    """Load a template of this folder, with repr() as the filter ``py``."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    settings: dict[str, Any] = {"autoescape": autoescape, "undefined": StrictUndefined}
    loader = PackageLoader("propcvx.report", ".")
    environment = Environment(loader=loader, keep_trailing_newline=True, **settings)
    environment.filters["py"] = repr
    return environment.get_template(name)
