"""Proofs that ``certify`` writes, and their check by code that shares nothing with the search."""

import json
from copy import deepcopy
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from small_problems import small_problem

from propcvx import bag_target, certify
from propcvx.__main__ import main
from propcvx.bounds import RefusedProofError, verify
from propcvx.bounds import branch_and_bound as branching
from propcvx.bounds.verification import digest
from propcvx.errors import InputError, UnprovedWarning
from propcvx.solvers import Solve
from propcvx.svm.step import LabelingSVM

HERE = Path(__file__).parent
HALF = np.random.RandomState(0).randint(-8, 9, size=(12, 2)) / 4.0


def data_of(problem, y=None):
    y = problem.y if y is None else y
    return problem.X, y["bag"], y["proportion"], y["label"]


def values_of(data, C, epsilon):
    """The values of all allowed labelings, from the definition."""
    X, bags, shares, labels = data
    every = np.array(list(product((-1.0, 1.0), repeat=len(X))))
    allowed = (every * labels >= 0.0).all(axis=1)
    for bag in set(bags):
        inside = bags == bag
        gaps = (every[:, inside] > 0).mean(axis=1) - shares[inside][0]
        allowed &= np.abs(gaps) <= epsilon + 1e-9
    svm = LabelingSVM(X - X.mean(axis=0), C, Solve(tol=1e-10))
    return np.array([svm.solved(labeling).value for labeling in every[allowed]])


def content_of(file):
    with np.load(file) as content:
        arrays = {name: content[name] for name in content.files if name != "digest"}
    return json.loads(str(arrays.pop("claim"))), arrays


def rewritten(file, claim, arrays):
    """The file with another content and its right digest."""
    arrays = {**arrays, "claim": np.array(json.dumps(claim))}
    with open(file, "wb") as stream:
        np.savez(stream, **{**arrays, "digest": np.array(digest(arrays))})
    return file


def random_proof(seed, file):
    """A problem and its proof; shares are mostly above 1/2 in every second."""
    random = np.random.RandomState(seed)
    sizes = tuple(random.permutation([5, 4, 2, 1])[: random.randint(1, 4)])
    known = random.choice([0.0, 0.3])
    problem = small_problem(seed, (*sizes, 2), random.randint(2, 5), known, noise=3.0)
    epsilon = float(random.choice([0.0, 0.0, 0.26]))
    C = float(10.0 ** random.uniform(-3, 1))
    y = problem.y
    if seed % 2 and y["proportion"].mean() < 0.5:
        shares = {bag: 1.0 - y["proportion"][y["bag"] == bag][0] for bag in set(y["bag"])}
        y = bag_target(y["bag"], shares, -y["label"])
    result = certify(problem.X, y, C=C, epsilon=epsilon, proof=file)
    return data_of(problem, y), C, epsilon, result


@pytest.fixture(scope="module")
def proofs(tmp_path_factory):
    """Proofs of random problems with pieces so small that many of their trees have branches."""
    folder = tmp_path_factory.mktemp("proofs")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(branching, "MOST_AT_ONCE", 1)
        patched.setattr(branching, "MOST_MERGED", 1)
        proofs = [
            (folder / str(seed), *random_proof(seed, folder / str(seed))) for seed in range(14)
        ]
    assert sum(len(proof[-1].nodes) > 1 for proof in proofs) >= 5
    return [(*proof, values_of(*proof[1:4]).min()) for proof in proofs]


def test_proofs_are_verified_and_agree_with_the_list(proofs):
    for file, data, C, epsilon, result, best in proofs:
        verified = verify(file, *data)
        assert best * (1 - 2e-4) <= verified.lower <= best * (1 + 1e-9)
        assert best * (1 - 1e-9) <= verified.upper <= best * (1 + 1e-4)
        assert (verified.C, verified.epsilon) == (C, epsilon)
        np.testing.assert_array_equal(verified.labeling, result.labeling)


@pytest.mark.parametrize(
    ("X", "bags", "shares", "C"),
    [
        ([[-300], [100], [200], [-100], [400], [-250]], [0, 0, 0, 1, 1, 1], [1 / 3, 2 / 3], 1e5),
        (np.vstack([HALF, -HALF, [[0, 0]]]), np.arange(25) // 8, [0.5, 0.5, 0.5, 1.0], 0.1),
    ],
    ids=["a hard margin", "a bag at the mean"],
)
def test_proofs_of_extreme_problems_are_verified(X, bags, shares, C, tmp_path):
    X, y = np.array(X, dtype=float), bag_target(bags, shares)
    result = certify(X, y, C, proof=tmp_path / "proof")
    proved = verify(tmp_path / "proof", X, list(bags), y["proportion"])
    assert (proved.lower, proved.upper) == pytest.approx((result.lower, result.upper), rel=1e-3)


def test_a_wrong_claim_never_passes(proofs, tmp_path):
    """Its labeling and its weights are right, so that only the tree can refuse it."""
    random, tried = np.random.RandomState(0), 0
    for file, data, C, *_, best in proofs:
        claim, arrays = content_of(file)
        zero = {"weights": 0.0 * arrays["weights"]}
        claim |= {"lower": 1.0002 * best, "upper": 1.0002 * C * len(data[0])}
        refused = "not closed" if claim["lower"] < C * len(data[0]) else None
        tried += 12 * (refused is not None)
        for _ in range(12):
            scaled = {
                name: array * random.uniform(0.9, 1.1)
                for name, array in arrays.items()
                if name.startswith(("roots", "linear")) and random.randint(2)
            }
            with pytest.raises(RefusedProofError, match=refused):
                verify(rewritten(tmp_path / "wrong", claim, {**arrays, **scaled, **zero}), *data)
    assert tried >= 130


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A proof with several nodes: its data, its claim and its arrays."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(branching, "MOST_AT_ONCE", 1)
        patched.setattr(branching, "MOST_MERGED", 1)
        problem = small_problem(4, (4, 4, 4), 3, noise=3.0)
        file = tmp_path_factory.mktemp("tree") / "proof"
        result = certify(problem.X, problem.y, C=1.0, proof=file)
    assert len(result.nodes) > 2
    verify(file, *data_of(problem))
    return data_of(problem), *content_of(file), file


@pytest.mark.parametrize("moved", [1, 4], ids=["within bags", "between bags"])
def test_rows_in_another_order_are_named(tree, moved):
    data, _, _, file = tree
    with pytest.raises(RefusedProofError, match="rows are in another order"):
        verify(file, *(np.roll(part, moved, axis=0) for part in data))


def test_any_changed_number_changes_the_digest(tree, tmp_path):
    data, _, _, file = tree
    with np.load(file) as content:
        arrays = {name: content[name] for name in content.files}
    for name in arrays.keys() - {"digest", "claim"}:
        changed = arrays[name].copy()
        changed.flat[0] = np.nextafter(changed.flat[0], 9, dtype=changed.dtype)
        np.savez(tmp_path / "other.npz", **{**arrays, name: changed})
        with pytest.raises(RefusedProofError, match="digest"):
            verify(tmp_path / "other.npz", *data)
    claim = np.array(str(arrays["claim"]).replace('"C": 1.0', '"C": 0.9'))
    np.savez(tmp_path / "other.npz", **{**arrays, "claim": claim})
    with pytest.raises(RefusedProofError, match="digest"):
        verify(tmp_path / "other.npz", *data)


WRONG_CLAIMS = {
    "an upper bound below the value": lambda claim: claim.update(upper=claim["upper"] * (1 - 1e-6)),
    "another labeling": lambda claim: claim.update(labeling=[-y for y in claim["labeling"]]),
    "half a labeling": lambda claim: claim.update(labeling=[0.5 * y for y in claim["labeling"]]),
    "an infinite C": lambda claim: claim.update(C=np.inf),
    "an infinite lower bound": lambda claim: claim.update(lower=np.inf),
    "an infinite epsilon": lambda claim: claim.update(epsilon=np.inf),
    "no branches at the root": lambda claim: claim["branches"].pop("0"),
    "a child too few": lambda claim: claim["branches"]["0"].pop(),
    "a child that is not there": lambda claim: claim["branches"].update({"0": [6, 1, 99]}),
    "a child that is its parent": lambda claim: claim["branches"].update({"0": [6, 0, 0]}),
    "steps of the root alone": lambda claim: claim.update(steps={"0": claim["steps"]["0"]}),
    "an instance left out": lambda claim: claim["steps"]["0"][0][0].pop(),
    "a group of instances twice": lambda claim: claim["steps"]["0"][0].insert(0, [8, 5, 0, 7]),
}


@pytest.mark.parametrize("name", WRONG_CLAIMS)
def test_a_wrong_claim_with_a_right_digest_is_refused(name, tree, tmp_path):
    data, claim, arrays, _ = tree
    claim = deepcopy(claim)
    WRONG_CLAIMS[name](claim)
    with pytest.raises(RefusedProofError):
        verify(rewritten(tmp_path / "wrong.npz", claim, arrays), *data)


@pytest.mark.parametrize(
    ("begin", "factor"),
    [("roots", 1.01), ("roots", 0.99), ("roots", np.nan), ("linear", np.nan), ("weights", np.nan)],
)
def test_wrong_numbers_with_a_right_digest_are_refused(begin, factor, tree, tmp_path):
    data, claim, arrays, _ = tree
    changed = {name: factor * arrays[name] for name in arrays if name.startswith(begin)}
    with pytest.raises(RefusedProofError):
        verify(rewritten(tmp_path / "wrong.npz", claim, {**arrays, **changed}), *data)


def test_multipliers_that_are_hardly_changed_prove_the_same(tree, tmp_path):
    data, claim, arrays, _ = tree
    arrays = {name: array * (1.0 + 1e-9) for name, array in arrays.items() if name != "digest"}
    assert verify(rewritten(tmp_path / "same.npz", claim, arrays), *data).lower == claim["lower"]


def test_other_data_are_refused(tree):
    (X, bags, shares, labels), _, _, file = tree
    others = np.where(bags == bags[0], 1.0 - shares + 0.25, shares)
    for wrong in [
        (X, bags, others, labels),
        (X, bags, np.append(shares[:-1], 0.5 * shares[-1]), labels),
        (X * 1.01, bags, shares, labels),
        (X[:-1], bags[:-1], shares[:-1], labels[:-1]),
        (X[:, :-1], bags, shares, labels),
    ]:
        with pytest.raises(RefusedProofError):
            verify(file, *wrong)
    for wrong in [
        (X, bags[:-1], shares, labels),
        (np.where(X > 0.0, np.nan, X), bags, shares, labels),
        (X, bags, shares, labels + 0.5),
    ]:
        with pytest.raises(InputError, match="must be"):
            verify(file, *wrong)


@pytest.mark.parametrize("content", [None, b"", b"no archive", b"PK\x03\x04"])
def test_a_file_that_is_no_proof_is_named(content, tree, tmp_path):
    if content is not None:
        (tmp_path / "file").write_bytes(content)
    with pytest.raises(InputError, match="certify"):
        verify(tmp_path / "file", *tree[0])


WITHOUT_PROOF = {
    "16 instances": (np.eye(16), bag_target(np.zeros(16), {0.0: 0.5}), {}),
    "a cut bag": (np.eye(5), bag_target([0, 0, 0, 1, 1, 1], [1 / 3, 1 / 3])[:-1], {}),
    **{
        name: (np.eye(4), bag_target([0, 0, 1, 1], [0.5, 0.5]), {name: value})
        for name, value in [("kernel", "rbf"), ("intercept", "none"), ("C_p", 1.0)]
    },
    "epsilon": (np.eye(4), bag_target([0, 0, 1, 1], [0.5, 0.5]), {"epsilon": "rounding"}),
    "kinds": (np.eye(4), bag_target([0, 0, 1, 1], [0.5, 0.5]), {"kinds": "enumeration"}),
}


@pytest.mark.filterwarnings("ignore::propcvx.errors.CutBagWarning")
@pytest.mark.parametrize("name", WITHOUT_PROOF)
def test_what_has_no_proof_is_refused_before_the_work(name, tmp_path):
    X, y, options = WITHOUT_PROOF[name]
    events = []
    with pytest.raises(InputError, match=r"proof|epsilon"):
        certify(X, y, proof=tmp_path / "never", on_event=events.append, **options)
    assert not events
    assert not (tmp_path / "never").exists()


def test_a_folder_that_is_missing_is_named_before_the_work(tmp_path):
    problem = small_problem(0, (4, 4))
    with pytest.raises(InputError, match="folder"):
        certify(problem.X, problem.y, proof=tmp_path / "missing" / "proof")


def test_an_interval_that_is_open_has_no_proof(tmp_path):
    problem = small_problem(0, (6, 6, 6), 5, noise=3.0)
    with pytest.warns(UnprovedWarning, match="time"):
        certify(problem.X, problem.y, proof=tmp_path / "never", time_limit=1e-3)
    assert not (tmp_path / "never").exists()


def test_the_command_verifies_a_proof_from_another_machine(capsys, tmp_path):
    arguments = ["verify", str(HERE / "proof.npz"), "--data"]
    assert main([*arguments, str(HERE / "proof.csv")]) == 0
    assert capsys.readouterr().out.startswith("Verified for C=1 and epsilon=0")
    rows = (HERE / "proof.csv").read_text().splitlines()
    (tmp_path / "other.csv").write_text("\n".join([*rows[:-1], rows[-1].replace("0.", "1.", 3)]))
    assert main([*arguments, str(tmp_path / "other.csv")]) == 1
    assert "propcvx: " in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["", "bag,share,x\n", "bag,x\n0,1\n", "bag,share,x\n0,1,a\n", "bag,share\n0,1\n"]
)
def test_the_command_names_a_table_that_cannot_be_read(text, capsys, tmp_path):
    (tmp_path / "table.csv").write_text(text)
    with pytest.raises(SystemExit, match="2"):
        main(["verify", str(HERE / "proof.npz"), "--data", str(tmp_path / "table.csv")])
    said = capsys.readouterr().err
    assert "table.csv" in said
    assert "index out of range" not in said


def test_the_command_reads_labels_that_are_known_of_some(tmp_path, capsys):
    problem = small_problem(5, (5, 5), 2, known=0.5)
    assert set(problem.y["label"]) == {-1, 0, 1}
    certify(problem.X, problem.y, proof=tmp_path / "proof")
    lines = ["label,a,share,bag,b"]
    for (a, b), y in zip(problem.X.tolist(), problem.y, strict=True):
        label = y["label"] or ""
        lines.append(f"{label},{a!r},{float(y['proportion'])!r},bag {y['bag']},{b!r}")
    (tmp_path / "table.csv").write_text("\n".join(lines))
    assert main(["verify", str(tmp_path / "proof"), "--data", str(tmp_path / "table.csv")]) == 0
    assert "Verified" in capsys.readouterr().out
