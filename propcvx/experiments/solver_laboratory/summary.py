"""What rows of many programs say of solvers: times over the best, shifted means, who to use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from propcvx.experiments.solver_laboratory.compare import Row

Array = NDArray[np.float64]

GOALS: Mapping[str, float] = MappingProxyType({"low": 1e-2, "default": 1e-4, "high": 1e-6})
"""What an answer at a named accuracy has to reach: see :func:`solved`."""

SHIFT = 10.0
"""Milliseconds added to times before their geometric mean, so that small ones do not decide it."""

CLOSE = 1.2
"""Solvers within this factor of the fastest are named beside it."""


def goal_of(row: Row) -> float:
    """The goal of a row's accuracy; ten times the tolerance where it is a number."""
    return GOALS.get(row["accuracy"], 10.0 * (row["tol"] or 0.0))


def solved(row: Row) -> bool:
    """Whether the relative difference from the reference and the violation reach the goal."""
    if row["difference"] is None:
        return False
    return bool(max(abs(row["difference"]), row["primal_residual"] or 0.0) <= goal_of(row))


def milliseconds(row: Row) -> float:
    """Time in the solver, the problem compiled; the time limit where the goal is not reached."""
    if not solved(row):
        return 1e3 * float(row["time_limit"] or 60.0)
    times = (row["resolve_cold_ms"], row["solve_ms"])
    return float(next(time for time in times if time is not None))


def problem_of(row: Row) -> tuple[object, ...]:
    """Program, size, data and accuracy: what solvers are compared on."""
    return row["program"], row["instances"], row["data"], row["C"], row["accuracy"]


def by_problem(rows: Sequence[Row]) -> dict[tuple[object, ...], list[Row]]:
    """Rows of each problem that some solver solved, those that were refused left out."""
    asked = [row for row in rows if row["status"] not in ("refused", "not installed")]
    together = groupby(sorted(asked, key=lambda row: repr(problem_of(row))), problem_of)
    groups = {problem: list(group) for problem, group in together}
    return {problem: group for problem, group in groups.items() if any(map(solved, group))}


def performance_profiles(rows: Sequence[Row]) -> dict[str, tuple[Array, Array]]:
    """For each solver, the share of the problems that it solves within a factor of the fastest.

    Returns
    -------
    dict of str to (factors, shares)
        Factors from 1 on; problems that a solver was not asked for do not count for it.
    """
    ratios: dict[str, list[float]] = {}
    for group in by_problem(rows).values():
        fastest = min(milliseconds(row) for row in group if solved(row))
        for row in group:
            ratio = milliseconds(row) / fastest if solved(row) else np.inf
            ratios.setdefault(row["solver"], []).append(ratio)
    return {name: _distribution(np.sort(values)) for name, values in ratios.items()}


def _distribution(ratios: Array) -> tuple[Array, Array]:
    finite = ratios[np.isfinite(ratios)]
    shares = np.arange(1, len(finite) + 1) / len(ratios)
    return np.concatenate([[1.0], finite]), np.concatenate([[np.mean(ratios <= 1.0)], shares])


def shifted_means(rows: Sequence[Row]) -> dict[str, float]:
    r"""Shifted geometric mean of the times of each solver, over the smallest of them.

    .. math::

        \exp\Big(\frac1n \sum_p \log(t_p + s)\Big) - s

    A problem that is not solved counts with the time limit.  Only problems that all these solvers
    were asked for count, so that the means are of the same problems.
    """
    groups = list(by_problem(rows).values())
    names = sorted({row["solver"] for group in groups for row in group})
    common = [group for group in groups if {row["solver"] for row in group} == set(names)]
    if not common:
        return {}
    times = {
        name: [milliseconds(row) for group in common for row in group if row["solver"] == name]
        for name in names
    }
    means = {name: np.exp(np.mean(np.log(np.add(t, SHIFT)))) - SHIFT for name, t in times.items()}
    smallest = min(means.values())
    return {
        name: float(mean / smallest) for name, mean in sorted(means.items(), key=lambda m: m[1])
    }


def growth(rows: Sequence[Row]) -> dict[str, tuple[Array, Array]]:
    """Times of each solver against the number of instances, where it solved them."""
    named = sorted(filter(solved, rows), key=lambda row: (row["solver"], row["instances"]))
    return {
        name: (
            np.array([row["instances"] for row in group], dtype=float),
            np.array([milliseconds(row) for row in group]),
        )
        for name, group in ((n, list(g)) for n, g in groupby(named, lambda row: row["solver"]))
    }


def recommendations(rows: Sequence[Row]) -> list[str]:
    """Sentences on which solver to use, from the rows of one program at one accuracy.

    Neighbouring sizes with the same fastest solver are one sentence.
    """
    groups = sorted(by_problem(rows).values(), key=lambda group: group[0]["instances"])
    ranked = [sorted(filter(solved, group), key=milliseconds) for group in groups]
    sentences = []
    for name, run in groupby(ranked, lambda rank: rank[0]["solver"]):
        sentences.append(_sentence(name, list(run)))
    return sentences


def _sentence(name: str, ranks: Sequence[Sequence[Row]]) -> str:
    first, last = ranks[0][0], ranks[-1][0]
    sizes = f"N = {first['instances']}"
    times = f"{milliseconds(first):.3g} ms"
    if len(ranks) > 1:
        sizes += f" to {last['instances']}"
        times += f" to {milliseconds(last):.3g} ms"
    close = [
        row["solver"]
        for row in ranks[-1][1:]
        if milliseconds(row) <= CLOSE * milliseconds(ranks[-1][0])
    ]
    beside = f"; at most {CLOSE:g} times as long there: {', '.join(close)}" if close else ""
    return f"For `{first['program']}` with {sizes} use `{name}` ({times}{beside})."
