"""The project's own problems: enough of them, disjoint, complete, and right."""

import hashlib
import random
import re

import numpy as np
import pytest

from openrebench.environments.rust_codecontests import sources
from openrebench.environments.rust_codecontests.hidden import bank
from openrebench.environments.rust_codecontests.hidden.families import base

SPLITS = {split: bank.keys(split) for split in ("dev", "score", "final")}
ALL = [key for keys in SPLITS.values() for key in keys]
FEW_NUMBERS = 100  # of an input; they take fewer characters than other large inputs
KINDS = {"right", "fragile", "wrong", "near", "broken"}


def test_the_splits_are_large_enough_and_disjoint() -> None:
    assert [len(keys) for keys in SPLITS.values()] == [10, 33, 32]
    assert len(set(ALL)) == len(ALL)
    families = {split: {key.split("/")[0] for key in keys} for split, keys in SPLITS.items()}
    assert families["dev"].isdisjoint(families["score"] | families["final"])


@pytest.mark.parametrize("key", ALL)
def test_a_statement_is_complete(key: str) -> None:
    problem = bank.problem(key, np.random.default_rng(0), 7)
    text = problem.description
    assert not re.search(r"\$\w", text) and problem.name.startswith("07. ")
    for part in ("\nInput\n", "\nOutput\n", "Sample 2, output"):
        assert part in text
    assert len({test.input for test in problem.public}) == bank.PUBLIC


@pytest.mark.parametrize("key", ALL)
def test_a_pool_has_right_wrong_and_broken_programs(key: str) -> None:
    pool = sources.pool(key)
    assert 8 <= len(pool) <= 12 and len({program.source for program in pool}) == len(pool)
    kinds = [program.kind for program in pool]
    assert kinds[0] == "right" and set(kinds) <= KINDS
    assert kinds.count("near") >= 1 and kinds.count("broken") >= 1 and "wrong" in kinds
    names = {program.name for program in pool}
    assert all(program.parent in names for program in pool if program.parent)


def test_most_problems_have_programs_that_pass_the_samples_only() -> None:
    fragile = [any(p.kind == "fragile" for p in sources.pool(key)) for key in ALL]
    assert sum(fragile) >= 0.9 * len(ALL)


def test_labels_name_their_compiler() -> None:
    for name in ("labels.json", "expected.json"):
        assert bank.recorded(name)["rustc"].startswith("rustc 1.")


@pytest.mark.parametrize("key", ALL)
def test_expected_outputs_are_those_of_brute_force(key: str) -> None:
    found, variant = bank.variant_of(key)
    rng = random.Random(f"openrebench rust {key}")
    small = [found.small(rng) for _ in range(bank.SMALL)]
    outputs = bank.recorded("expected.json")["problems"][key]["outputs"]
    for text, output in zip([*small, *found.edges], outputs, strict=False):
        assert str(variant.brute(*found.parse(text))) == output


@pytest.mark.parametrize("key", ALL)
def test_inputs_are_those_that_the_outputs_are_for(key: str) -> None:
    tests = bank.tests(key)
    known = bank.recorded("expected.json")["problems"][key]
    assert len(tests) == len(known["outputs"])
    limit = int(re.search(r"<= (\d+)\)", bank.variant_of(key)[0].input)[1])
    assert max(int(test.input.split()[0]) for test in tests) >= 0.9 * limit
    if limit > FEW_NUMBERS:  # so many can be written in few characters
        assert max(len(test.input) for test in tests) > 1000


def test_marks_resolve_to_one_slip_at_a_time() -> None:
    marked = "a «b¦x:c¦y:d» «e¦x:f»"
    assert base.chosen(marked) == "a b e"
    assert base.chosen(marked, frozenset({"x"})) == "a c f"
    assert base.slips_of(marked) == ["x", "y"]


@pytest.mark.parametrize("key", ALL)
def test_labels_belong_to_the_programs_of_today(key: str) -> None:
    rows = {row["name"]: row for row in bank.recorded("labels.json")["problems"][key]}
    for candidate in bank.candidates(key):
        digest = hashlib.sha256(candidate.source.encode()).hexdigest()
        assert rows[candidate.name]["sha256"] == digest
