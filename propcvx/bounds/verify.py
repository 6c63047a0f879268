r"""An independent check of a proof that :func:`propcvx.bounds.certify` has written.

It shares no code with the search that made the proof.  The claim: every labeling that the shares of
the bags allow has a value :math:`\min_w \tfrac12 \|w\|^2 + C \sum_i \max(0, 1 - y_i w^\top F_i)` of
at least ``lower``, and the proof's own labeling has at most ``upper``.  F is X less its mean.

The proof is a tree.  Its root has all labelings, and the two children of a node differ in the label
of one instance.  A node has steps.  A step divides the bags into groups, each with a set of
labelings, and has for group k a matrix :math:`A_k = R_k R_k^\top` and a vector :math:`l_k`.  For any
labelings of the groups, any z, and any v with :math:`0 \le y_i v_i \le C`, weak duality gives

.. math::

    \min_w \tfrac12 w^\top A_k w + l_k^\top w + C \sum_{i \in k} \max(0, 1 - y_i w^\top F_i)
    \ge y^\top v - \tfrac12 \|z\|^2 - \|F_k^\top v - l_k - R_k z\| \, \|w\|,

and the sum over the groups is a bound once :math:`\tfrac12 \|I - \sum_k A_k\| \|w\|^2 + \|\sum_k
l_k\| \|w\|` is taken off.  The weights of a labeling whose value is below ``lower`` have
:math:`\|w\|^2 \le 2\,` ``lower``.  So a labeling of a group can be left out once its bound, with the
least of the other groups, reaches ``lower``; and a node is closed once all are.  The check looks for
good v itself, which the proof does not contain, by ascent along the coordinates.  Rounding errors
of sums and products are bounded as usual (Higham, *Accuracy and Stability*, Section 3.1).
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

UNIT = 2.0**-53
"""Largest relative error of one operation with floating-point numbers."""

MOST_LABELINGS = 1_000_000
"""Of a group; with more the check gives up."""

MOST_ENTRIES = 4_000_000
"""Of the matrices of quadratic programs that are solved at once."""

ROUNDS, SWEEPS = 40, 3
"""Most rounds of ascent for a step, and sweeps over the coordinates in a round."""


class RefusedProofError(Exception):
    """The proof does not show what it claims; the message says where it fails."""


@dataclass
class Group:
    """Some instances, the labelings that they can still have, and lower bounds on their parts."""

    rows: Any
    labelings: Any
    values: Any = None


@dataclass(frozen=True)
class Verified:
    """What a proof shows.

    Attributes
    ----------
    lower, upper : float
        The best labeling's value is between them.
    nodes, steps : int
        How many the proof has.
    """

    lower: float
    upper: float
    nodes: int
    steps: int

    def __str__(self) -> str:
        return (
            f"Verified: no labeling has a value below {self.lower:.9g}, and one has "
            f"{self.upper:.9g}, a gap of {1.0 - self.lower / self.upper:.3%} "
            f"({self.nodes} nodes, {self.steps} steps)."
        )


def verify(file: Any, X: Any, bags: Any, shares: Any, labels: Any = None) -> Verified:
    """Check a proof against the data.

    Parameters
    ----------
    file : path
        Written by ``certify(..., proof=file)``.
    X : array of shape (n_instances, n_features)
    bags : array of shape (n_instances,)
        The bag of each instance.
    shares : array of shape (n_instances,)
        The share of positives of the bag of each instance.
    labels : array of shape (n_instances,), optional
        Labels that are known, -1 or +1; 0 where unknown.

    Returns
    -------
    Verified

    Raises
    ------
    RefusedProofError
        If the file was changed, or does not prove its claim for these data.
    """
    with np.load(file, allow_pickle=False) as content:
        arrays = {name: content[name] for name in content.files}
    if digest(arrays) != str(arrays.pop("digest", "")):
        raise RefusedProofError("the file was changed after it was written: its digest differs.")
    claim = json.loads(str(arrays.pop("claim")))
    F = np.asarray(X, dtype=float) - np.mean(X, axis=0)
    bags, known = np.asarray(bags), np.zeros(len(F)) if labels is None else np.asarray(labels)
    groups = [_bag(np.flatnonzero(bags == bag), shares, known, claim) for bag in np.unique(bags)]
    upper = _upper(F, np.array(claim["labeling"]), arrays["weights"], groups, claim)
    check = _Check(F, claim["C"], claim["lower"], claim["nodes"], arrays)
    check.run(groups)
    return Verified(claim["lower"], upper, len(claim["nodes"]), check.n_steps)


def digest(arrays: dict[str, Any]) -> str:
    """A hash of all arrays but its own."""
    sha = hashlib.sha256()
    for name in sorted(arrays.keys() - {"digest"}):
        sha.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        sha.update(np.ascontiguousarray(arrays[name]).tobytes())
    return sha.hexdigest()


def _bag(rows: Any, shares: Any, known: Any, claim: Any) -> Group:
    """All labelings that a bag can have."""
    n, share = len(rows), float(np.asarray(shares)[rows[0]])
    near = [m for m in range(n + 1) if abs(m / n - share) <= claim["epsilon"] + 1e-9]
    labelings = []
    for count in near:
        for chosen in combinations(range(n), count):
            labelings.append([1 if i in chosen else -1 for i in range(n)])
    table = np.array(labelings, dtype=np.int8).reshape(-1, n)
    fixed = known[rows]
    return Group(rows, table[((fixed == 0) | (table == fixed)).all(axis=1)])


def _upper(F: Any, labeling: Any, weights: Any, groups: list[Group], claim: Any) -> float:
    """The value of the proof's labeling at its weights, which is not below the true one."""
    for group in groups:
        if not (group.labelings == labeling[group.rows]).all(axis=1).any():
            raise RefusedProofError("the labeling is none that the shares of the bags allow.")
    losses = np.maximum(0.0, 1.0 - labeling * (F @ weights))
    size = 0.5 * weights @ weights + claim["C"] * (1.0 + np.abs(F) @ np.abs(weights)).sum()
    value = 0.5 * weights @ weights + claim["C"] * losses.sum()
    upper = float(value + 4.0 * UNIT * (sum(F.shape) + 4) * size)
    if not claim["lower"] <= upper <= claim["upper"] * (1.0 + 1e-9):
        raise RefusedProofError(f"the labeling has the value {upper}, not {claim['upper']}.")
    return upper


class _Check:
    """The walk through the tree."""

    def __init__(self, F: Any, C: float, goal: float, nodes: list[Any], arrays: Any) -> None:
        self.F, self.C, self.goal, self.nodes, self.arrays = F, C, goal, nodes, arrays
        self.reach, self.n_steps = float(np.sqrt(2.0 * goal)) * (1.0 + 4.0 * UNIT), 0

    def run(self, groups: list[Group]) -> None:
        """Raise an error unless every node is closed or has two children that are."""
        waiting = [(0, groups, -np.inf)]
        while waiting:
            index, groups, lower = waiting.pop()
            node = self.nodes[index]
            for step in node["steps"]:
                if lower < self.goal:
                    groups = self._regrouped(groups, step["groups"], index)
                    lower = self._bound(groups, step["name"])
                    self.n_steps += 1
            if lower >= self.goal:
                continue
            if node["instance"] is None:
                raise RefusedProofError(f"node {index} is not closed: its bound is {lower}.")
            for child, label in zip(node["children"], (1, -1), strict=True):
                kept, least = _with_label(groups, node["instance"], label, lower)
                if kept is not None:
                    waiting.append((child, kept, least))

    def _regrouped(self, groups: list[Group], wanted: list[list[int]], index: int) -> list[Group]:
        """Groups merged into those of a step, with all combinations of their labelings."""
        merged = []
        for rows in wanted:
            inside = [group for group in groups if np.isin(group.rows, rows).all()]
            number = np.prod([float(len(group.labelings)) for group in inside])
            if (
                sum(len(group.rows) for group in inside) != len(set(rows))
                or number > MOST_LABELINGS
            ):
                raise RefusedProofError(f"node {index} has a group that its bags do not make.")
            chosen = np.indices([len(group.labelings) for group in inside]).reshape(len(inside), -1)
            each = [group.labelings[pick] for group, pick in zip(inside, chosen, strict=True)]
            merged.append(Group(np.concatenate([g.rows for g in inside]), np.hstack(each)))
        if sorted(np.concatenate([group.rows for group in merged])) != list(range(len(self.F))):
            raise RefusedProofError(f"node {index} does not have every instance once.")
        return merged

    def _bound(self, groups: list[Group], name: str) -> float:
        """A lower bound on the labelings of some groups; those that reach the goal are left out."""
        linear = self.arrays[f"linear {name}"].astype(float)
        d, roots = self.F.shape[1], []
        for packed in self.arrays[f"roots {name}"].astype(float):
            roots.append(np.zeros((d, d)))
            roots[-1].T[np.triu_indices(d)] = packed
        total = sum(R @ R.T for R in roots)
        error = np.linalg.norm(total - np.eye(d)) + 4.0 * UNIT * d * sum(
            (R**2).sum() for R in roots
        )
        spread = np.linalg.norm(linear.sum(axis=0)) + 2.0 * UNIT * np.abs(linear).sum()
        defect = 0.5 * self.reach**2 * error + self.reach * spread
        parts = [
            _Part(self.F[g.rows], *rest, self)
            for g, *rest in zip(groups, roots, linear, strict=True)
        ]
        duals = [self.C * group.labelings.astype(float) for group in groups]
        for _ in range(ROUNDS):
            gain = 0.0
            for group, part, v in zip(groups, parts, duals, strict=True):
                part.ascend(group.labelings, v)
                before, group.values = group.values, part.certified(group.labelings, v)
                gain = np.inf if before is None else max(gain, (group.values - before).max())
            lower = sum(group.values.min() for group in groups) - defect
            for k, group in enumerate(groups):
                kept = group.values + (lower - group.values.min()) < self.goal
                if not kept.any():
                    return np.inf
                duals[k] = duals[k][kept]
                groups[k] = Group(group.rows, group.labelings[kept], group.values[kept])
            if gain < 1e-6 * self.goal:
                break
        return float(sum(group.values.min() for group in groups) - defect)


class _Part:
    """The quadratic programs of a group, which differ in the labeling."""

    def __init__(self, F: Any, R: Any, linear: Any, check: _Check) -> None:
        self.F, self.R, self.linear, self.check = F, R, linear, check
        self.H = np.linalg.solve(R, F.T).T
        self.offset = np.linalg.solve(R, linear)
        self.Q = self.H @ self.H.T

    def ascend(self, labelings: Any, v: Any) -> None:
        """Improve v along one coordinate after the other, and within its face, in place."""
        ends, (P, n) = self.check.C * labelings, v.shape
        low, high = np.minimum(0.0, ends), np.maximum(0.0, ends)
        target, diagonal = labelings + self.H @ self.offset, np.maximum(self.Q.diagonal(), 1e-300)
        for _ in range(SWEEPS):
            for j in range(n):
                slope = target[:, j] - v @ self.Q[j]
                v[:, j] = np.clip(v[:, j] + slope / diagonal[j], low[:, j], high[:, j])
        for part in np.array_split(np.arange(P), 1 + P * n * n // MOST_ENTRIES):
            free = (v[part] > low[part]) & (v[part] < high[part])
            faces = self.Q * (free[:, :, None] & free[:, None, :])
            faces[:, np.arange(n), np.arange(n)] += np.where(free, 1e-13 * diagonal.max(), 1.0)
            slopes = np.where(free, target[part] - v[part] @ self.Q, 0.0)
            moved = v[part] + np.linalg.solve(faces, slopes[..., None])[..., 0]
            moved = np.clip(moved, low[part], high[part])
            change = moved - v[part]
            gain = (change * (target[part] - (v[part] + 0.5 * change) @ self.Q)).sum(axis=1)
            v[part[gain > 0.0]] = moved[gain > 0.0]

    def certified(self, labelings: Any, v: Any) -> Any:
        """Lower bounds on the parts of the labelings, rounding errors taken off."""
        reach, n = self.check.reach, sum(self.F.shape) + 4
        z = v @ self.H - self.offset
        back, wanted = z @ self.R.T, v @ self.F - self.linear
        length, square = np.abs(v).sum(axis=1), (z**2).sum(axis=1)
        terms = np.abs(v) @ np.abs(self.F) + np.abs(self.linear) + np.abs(z) @ np.abs(self.R).T
        rounding = 4.0 * UNIT * n * (length + square + reach * terms.sum(axis=1))
        return length - 0.5 * square - reach * np.linalg.norm(wanted - back, axis=1) - rounding


def _with_label(groups: list[Group], row: int, label: int, lower: float) -> tuple[Any, float]:
    """The groups where an instance has a label, and their lower bound; None without labelings."""
    kept = list(groups)
    for k, group in enumerate(groups):
        if row in group.rows:
            chosen = group.labelings[:, list(group.rows).index(row)] == label
            if not chosen.any():
                return None, np.inf
            kept[k] = Group(group.rows, group.labelings[chosen], group.values[chosen])
            return kept, lower - group.values.min() + group.values[chosen].min()
    raise RefusedProofError(f"there is no instance {row} to branch on.")
