r"""An independent check of a proof that :func:`propcvx.bounds.certify` has written.

It shares no code with the search that made the proof.  The claim: every labeling that the shares of
the bags allow has a value :math:`\min_w \tfrac12 \|w\|^2 + C \sum_i \max(0, 1 - y_i w^\top F_i)` of
at least ``lower``, and the proof's own labeling has at most ``upper``.  F is X less its mean.

The proof is a tree.  Its root has all labelings, and the two children of a node differ in the label
of one instance.  A node has steps.  A step divides the instances into groups, each with a set of
labelings so that every labeling of the node combines one of each group, and has for group k a
matrix :math:`A_k = R_k R_k^\top` and a vector :math:`l_k`.  For any labeling y of the group, any w
and z, and any v with :math:`0 \le y_i v_i \le C`, the loss of an instance is at least
:math:`y_i v_i - v_i w^\top F_i`.  With :math:`x = F_k^\top v - l_k` and
:math:`\tfrac12 \|R_k^\top w\|^2 - z^\top R_k^\top w \ge -\tfrac12 \|z\|^2`, therefore,

.. math::

    \tfrac12 w^\top A_k w + l_k^\top w + C \sum_{i \in k} \max(0, 1 - y_i w^\top F_i)
    \ge y^\top v - \tfrac12 \|z\|^2 - \|x - R_k z\| \, \|w\| .

Summed over the groups, the left is the value at w plus at most :math:`\tfrac12 \|I - \sum_k A_k\|
\|w\|^2 + \|\sum_k l_k\| \|w\|`.  If the value of a labeling is below ``lower``, its weights have
:math:`\|w\|^2 \le 2\,` ``lower``, and all of this holds with the root in place of
:math:`\|w\|`.  So a labeling of a group is left out once its own bound, and the least ones of
the other groups, together reach ``lower``: nothing that contains it has a value below.  A node is
closed once a group has no labelings left, and else it needs two children that are.  Any v does, so
the proof does not contain it; the check looks for the best one by an active-set method: Newton
steps over the coordinates inside of their bounds, and then over one more, which gains most.

Groups of a step are merged in pairs for the next one, with the sums of their matrices and vectors.
If both have the factor R of this sum, and bounds with residuals :math:`z_1` and :math:`z_2`, then
the dual vectors of both give a pair of labelings the residual :math:`z_1 + z_2`, and the sum of
both bounds less :math:`z_1^\top z_2` is a bound of the pair.  If it, and the least ones of the
other groups, reach ``lower``, the pair is left out.

Rounding errors are counted in.  A sum of n products is wrong by at most :math:`n u / (1 - n u)`
times the sum of their sizes, in any order (Higham, *Accuracy and Stability*, Section 3.1).  Twice
as much or more is taken off for every sum that a bound is made of, and a constant for underflow;
and what the errors of F, as its mean is rounded, change in the losses.  Comparisons are such that a
NaN proves nothing.  A count is allowed if it differs from the share by at most ``epsilon``, and a
millionth of an instance.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np

from propcvx.errors import InputError, RefusedProofError

UNIT = 2.0**-53  # the largest relative error of one operation with floating-point numbers
TINY, HUGE = 1e-100, 1e30  # more than all underflow makes, where numbers are at most HUGE
MOST_LABELINGS = 200_000  # of a group; with more the check gives up
AT_ONCE, PAIRS_AT_ONCE = 2000, 1_000_000  # programs that are solved at once, pairs that are bounded
ROUNDS = 1000  # most improvements of the dual vectors for a step of the proof
TOL = 1e-8  # errors of their values, as a share of the goal, that are not improved further


@dataclass(eq=False)
class Group:
    """Some instances, the labelings that they can still have, and a dual vector v of each.

    ``bounds`` are those of the labelings with R = ``root`` and l = ``linear``, ``least`` is not
    above any of them.  ``open`` are those that a better v can improve, and ``solved`` those whose v
    is best over its free coordinates.
    """

    rows: Any
    labelings: Any
    duals: Any
    root: Any
    linear: Any
    least: Any = 0.0
    bounds: Any = None
    open: Any = None
    solved: Any = None

    def __len__(self) -> int:
        return len(self.labelings)

    def keep(self, kept: Any) -> Group:
        """The group with some of its labelings."""
        each = ("labelings", "duals", "bounds", "open", "solved")
        return replace(self, **{name: vars(self)[name][kept] for name in each})


class VerifiedProof(NamedTuple):
    """What a proof shows.

    Attributes
    ----------
    lower, upper : float
        The best labeling's value is between them.
    labeling : array of shape (n_instances,)
        It has at most the value ``upper``.
    C, epsilon : float
        The weight of the loss, and the tolerance of the shares, of the problem.
    """

    lower: float
    upper: float
    labeling: Any
    C: float
    epsilon: float


def verify(file: Any, X: Any, bags: Any, shares: Any, labels: Any = None) -> VerifiedProof:
    """Check a proof against the data, whose rows have the order that ``certify`` had.

    Parameters
    ----------
    file : path
        Written by ``certify(..., proof=file)``.
    X : array of shape (n_instances, n_features)
    bags : array of shape (n_instances,)
        The bag of each instance.
    shares : array of shape (n_instances,)
        The share of positives of the bag of each instance; NaN where unknown.
    labels : array of shape (n_instances,), optional
        Labels that are known, -1 or +1; 0 where unknown.

    Returns
    -------
    VerifiedProof

    Raises
    ------
    InputError
        If the file cannot be read, or the data are not such arrays.
    RefusedProofError
        If the file was changed, or does not prove its claim for these data.

    Examples
    --------
    >>> import tempfile, propcvx
    >>> X = np.array([[1.0, 0.2], [0.8, -0.1], [-0.9, 0.3], [-1.1, 0.0]])
    >>> bags, shares = [0, 0, 0, 1], [2 / 3, 2 / 3, 2 / 3, 0.0]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = f"{folder}/proof.npz"
    ...     result = propcvx.certify(X, propcvx.bag_target(bags, [2 / 3, 0.0]), proof=file)
    ...     verified = verify(file, X, bags, shares)
    >>> round(verified.lower, 3), round(verified.upper, 3), verified.labeling
    (0.656, 0.656, array([ 1,  1, -1, -1]))
    """
    X, bags, shares = np.asarray(X, dtype=float), np.asarray(bags), np.asarray(shares, dtype=float)
    known = np.zeros(len(X)) if labels is None else np.asarray(labels)
    shapes = [array.shape for array in (bags, shares, known)]
    right = (np.abs(X) < HUGE).all() and np.isin(known, (-1, 0, 1)).all()
    if X.ndim != 2 or shapes != [X.shape[:1]] * 3 or not right:
        raise InputError("X must be a finite matrix, and bags, shares, labels (-1, 0, 1) as long.")
    try:
        with np.load(file, allow_pickle=False) as content:
            arrays = {name: content[name] for name in content.files}
    except Exception as error:  # of whatever kind: of the file, of the archive, of its compression
        raise InputError(f"{file} is no file that certify(proof=) writes: {error}") from error
    _require(str(arrays.pop("digest", "")) == digest(arrays), "its digest differs: it was changed.")
    try:
        return _Check(X, json.loads(str(arrays["claim"])), arrays).run(bags, shares, known)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise RefusedProofError(f"the parts of the proof do not fit: {error!r}.") from error


def _require(right: Any, message: str) -> None:
    """Refuse the proof if a part of it is not right."""
    if not right:
        raise RefusedProofError(message)


def digest(arrays: dict[str, Any]) -> str:
    """A hash of all arrays."""
    sha = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        sha.update(f"{name} {array.dtype} {array.shape}".encode() + array.tobytes())
    return sha.hexdigest()


class _Check:
    """The problem and the claim of a proof, and the walk through its tree."""

    def __init__(self, X: Any, claim: Any, arrays: dict[str, Any]) -> None:
        self.F, self.claim, self.arrays = X - X.mean(axis=0), claim, arrays
        shape = len(claim["labeling"]), arrays["weights"].size
        _require(X.shape == shape, f"it is of data of the shape {shape}, these have {X.shape}.")
        self.C, self.goal = float(claim["C"]), float(claim["lower"])
        right = 0.0 < self.C < HUGE and 0.0 < self.goal < HUGE and claim["epsilon"] >= 0.0
        _require(right, "C, lower or epsilon is not in its range.")
        self.reach = float(np.sqrt(2.0 * self.goal)) * (1.0 + 4.0 * UNIT)
        sizes = (np.abs(self.F) + np.abs(X).mean(axis=0)).sum(axis=1)
        self.wrong = 4.0 * UNIT * (len(X) + 4) * sizes  # at most, the errors of the rows of F

    def run(self, bags: Any, shares: Any, known: Any) -> VerifiedProof:
        """Raise an error unless the claim is proved."""
        groups, epsilon, branches = [], self.claim["epsilon"], self.claim["branches"]
        root, zero = np.eye(self.F.shape[1]) / np.sqrt(len(np.unique(bags))), 0.0 * self.F[0]
        for bag in np.unique(bags):
            rows = np.flatnonzero(bags == bag)
            _require(len(np.unique(shares[rows])) == 1, f"the bag {bag} has several shares.")
            labelings = _labelings(known[rows], shares[rows[0]], epsilon)
            groups.append(Group(rows, labelings, self.C * labelings, root, zero))
        labeling = np.array(self.claim["labeling"]).reshape(len(self.F))
        upper = self._upper(labeling, groups)
        waiting = [(0, groups)]
        while waiting:
            index, groups = waiting.pop()
            for k, wanted in enumerate(self.claim["steps"].get(str(index), [])):
                if all(groups):
                    groups = self._merged(groups, wanted, index)
                if all(groups):
                    groups = self._step(groups, f"{index}.{k}")
            if all(groups):
                _require(str(index) in branches, f"node {index} is not closed or branched on.")
                instance, *children = map(int, branches[str(index)])
                _require(min(children) > index, f"a child of node {index} is not below it.")
                for child, label in zip(children, (1, -1), strict=True):
                    right = [(g.labelings[:, g.rows == instance] == label).all(1) for g in groups]
                    waiting.append((child, [*map(Group.keep, groups, right)]))
        return VerifiedProof(self.goal, upper, labeling, self.C, epsilon)

    def _upper(self, labeling: Any, groups: list[Group]) -> float:
        """The value of a labeling at the proof's weights, which is not below the true one."""
        for g in groups:
            allowed = (g.labelings == labeling[g.rows]).all(axis=1).any()
            _require(allowed, "its labeling is wrong, or the rows are in another order.")
        weights = self.arrays["weights"].astype(float).reshape(self.F.shape[1])
        square, length = 0.5 * weights @ weights, np.linalg.norm(weights)
        losses = np.maximum(0.0, 1.0 - labeling * (self.F @ weights))
        size = square + self.C * (1.0 + np.abs(self.F) @ np.abs(weights)).sum()
        rounding = 4.0 * UNIT * (sum(self.F.shape) + 4) * size
        rounding += 2.0 * self.C * self.wrong.sum() * length
        value = float(square + self.C * losses.sum())
        upper = value + float(rounding) + TINY
        right = self.goal <= upper and value <= self.claim["upper"] * (1.0 + 1e-9)
        _require(
            right,
            f"the labeling has the value {value}, not that of the claim, or the rows are in "
            "another order.",
        )
        return upper

    def _merged(self, groups: list[Group], wanted: list[list[int]], index: int) -> list[Group]:
        """Groups merged into those of a step, in pairs, the smallest first."""
        merged = []
        for rows in wanted:
            inside = sorted((g for g in groups if np.isin(g.rows, rows).all()), key=len)
            while len(inside) > 1:
                first, second, *inside = inside
                groups = [group for group in groups if group not in (first, second)]
                pair = self._pair(first, second, groups)
                _require(len(pair) <= MOST_LABELINGS, f"node {index} has too large a group.")
                if not len(pair):
                    return [pair]
                groups, inside = [*groups, pair], [*inside, pair]
            merged += inside
        rows = sorted(np.concatenate([group.rows for group in merged]))
        _require(rows == list(range(len(self.F))), f"node {index} has not every instance once.")
        return merged

    def _pair(self, first: Group, second: Group, others: list[Group]) -> Group:
        """Two groups merged, with the pairs of labelings whose bound does not reach the goal."""
        root = np.linalg.cholesky(first.root @ first.root.T + second.root @ second.root.T)
        linear, (m, n) = first.linear + second.linear, (len(first), len(second))
        pair = [replace(group, root=root, linear=0.5 * linear) for group in (first, second)]
        (b, z), (c, x) = (self._bounds(group, group.duals) for group in pair)
        whole, size = replace(first, root=root, linear=linear), np.abs(b).max() + np.abs(c).max()
        limit = self._limit(others, whole, size)
        chosen, least = [], []
        for part in np.array_split(range(m), m * n // PAIRS_AT_ONCE + 1):
            bounds = b[part, None] + c - z[part] @ x.T
            chosen.append(np.argwhere(~(bounds >= limit)) + np.array([part[0], 0]))
            least.append(bounds.min())
        kept = list(zip(pair, np.vstack(chosen).T, strict=True))
        rows = np.hstack([first.rows, second.rows])
        labelings = np.hstack([group.labelings[k] for group, k in kept])
        duals = np.hstack([group.duals[k] for group, k in kept])
        return Group(rows, labelings, duals, root, linear, min(least))

    def _limit(self, others: list[Group], group: Group, size: float) -> float:
        """The bound of a group, of at most this size, that reaches the goal with the others'."""
        groups, least = [*others, group], [other.least for other in others]
        roots, linear = (np.array([vars(g)[name] for g in groups]) for name in ("root", "linear"))
        (K, d), reach = linear.shape, self.reach
        error = np.linalg.norm((roots @ roots.transpose(0, 2, 1)).sum(axis=0) - np.eye(d))
        spread, terms = np.linalg.norm(linear.sum(axis=0)), 4.0 * UNIT * (d * d + K + 4)
        error += terms * (error + 1.0 + (roots**2).sum())
        spread += terms * (spread + np.abs(linear).sum())
        defect = 0.5 * reach**2 * error + reach * spread + TINY
        rounding = 4.0 * UNIT * (K + 8) * (self.goal + defect + np.abs(least).sum() + size)
        return self.goal + defect + rounding - sum(least)

    def _step(self, groups: list[Group], name: str) -> list[Group]:
        """The groups without the labelings whose bound reaches the goal.

        A group has no bound in this step, and others keep all, until it is improved.
        """
        parts = (self.arrays[f"{part} {name}"].astype(float) for part in ("roots", "linear"))
        for group, group.root, group.linear in zip(groups, *parts, strict=True):
            group.least, group.bounds = -np.inf, np.empty(len(group))
            group.open, group.solved = np.ones((2, len(group)), dtype=bool)
        for _ in range(ROUNDS):
            for k, group in enumerate(groups):
                self._improve(group)
                others = groups[:k] + groups[k + 1 :]
                limit = self._limit(others, group, np.abs(group.bounds).max())
                groups[k] = group.keep(~(group.bounds >= limit))
            if not all(groups) or not any(group.open.any() for group in groups):
                break
        return groups

    def _improve(self, group: Group) -> None:
        """Improve the dual vectors where that can help, along the axes and within a face."""
        H = np.linalg.solve(group.root, self.F[group.rows].T).T
        Q, offset, tol = H @ H.T, np.linalg.solve(group.root, group.linear), TOL * self.goal
        chosen = np.flatnonzero(group.open)
        for part in np.array_split(chosen, len(chosen) // AT_ONCE + 1):
            labelings = group.labelings[part]
            ends, target = self.C * labelings, labelings + H @ offset
            low, high = np.minimum(0.0, ends), np.maximum(0.0, ends)
            v, solved = group.duals[part], np.flatnonzero(group.solved[part])
            slope, free = target - v @ Q, (v > low) & (v < high)
            gain = slope * (np.where(slope > 0.0, high, low) - v)
            free[solved, (gain * ~free)[solved].argmax(axis=1)] = True
            v, group.solved[part] = _along_face(Q, v, slope, free, low, high)
            group.duals[part], group.bounds[part] = v, self._bounds(group, v)[0]
            group.open[part] = gain.sum(axis=1) > tol
        group.least = group.bounds.min()

    def _bounds(self, group: Group, v: Any) -> Any:
        """Lower bounds on the parts of the labelings, rounding errors taken off, and z.

        What is taken off for the square of z is enough for the product with the z of another group.
        """
        F, R, linear = self.F[group.rows], group.root, group.linear
        z = np.linalg.solve(R, (v @ F - linear).T).T
        missing = np.linalg.norm(v @ F - linear - z @ R.T, axis=1)
        length, square = np.abs(v).sum(axis=1), (z**2).sum(axis=1)
        sizes = np.abs(v) @ np.abs(F) + np.abs(linear) + np.abs(z) @ np.abs(R).T
        terms = 4.0 * UNIT * (sum(F.shape) + 4)
        rounding = terms * (length + square + self.reach * sizes.sum(axis=1))
        rounding += 2.0 * self.reach * (np.abs(v) @ self.wrong[group.rows])
        return length - 0.5 * square - self.reach * missing - rounding, z


def _along_face(Q: Any, v: Any, slope: Any, free: Any, low: Any, high: Any) -> Any:
    """The point where the way to the maximum over the free coordinates meets a bound."""
    inside = np.argsort(~free, axis=1, kind="stable")[:, : free.sum(axis=1).max(initial=0)]
    some, identity = np.take_along_axis(free, inside, axis=1), np.eye(inside.shape[1])
    ridge = 1e-13 * max(Q.diagonal().max(), TINY)
    faces = Q[inside[:, :, None], inside[:, None]] + ridge * identity
    faces = np.where(some[:, :, None] & some[:, None], faces, identity)
    direction, wanted = np.zeros_like(v), some * np.take_along_axis(slope, inside, axis=1)
    np.put_along_axis(direction, inside, np.linalg.solve(faces, wanted[..., None])[..., 0], axis=1)
    ends = np.where(direction > 0.0, high, low)
    ratios = np.divide(ends - v, direction, out=np.ones_like(v), where=direction != 0.0)
    first = np.minimum(ratios.min(axis=1, keepdims=True), 1.0)
    moved = np.where((ratios <= first) & (first < 1.0), ends, v + first * direction)
    return np.clip(moved, low, high), first[:, 0] == 1.0


def _labelings(known: Any, share: float, epsilon: float) -> Any:
    """All labelings of a bag whose share of positives is within epsilon, and a millionth of one."""
    n, free, positive = len(known), np.flatnonzero(known == 0), (known > 0).sum()
    gaps = np.abs(np.arange(len(free) + 1) + positive - share * n)
    near = [m for m, gap in enumerate(gaps) if not gap > epsilon * n + 1e-6]  # all, for a NaN
    number = sum(comb(len(free), m) for m in near)
    _require(number <= MOST_LABELINGS, f"a bag has {number:,} labelings, too many to check.")
    chosen = [np.isin(range(n), some) for m in near for some in combinations(free, m)]
    positive = np.reshape(chosen, (-1, n)).astype(bool) | (known > 0)
    return np.where(positive, 1, -1).astype(np.int8)
