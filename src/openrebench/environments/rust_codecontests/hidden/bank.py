"""The problems of the project's own sizes: statements, tests, and pools of candidate programs.

A problem is one variant of a family. The two families of DEV belong to the solver; the variants
of all others go in turns to `score` and to `final`, so both splits have the same stories and
never the same question.

Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51
"""

import hashlib
import importlib
import json
import random
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from numpy.random import Generator

from openrebench.environments.rust_codecontests.hidden.families import base
from openrebench.environments.rust_codecontests.problems import Problem, Case

HERE = Path(__file__).parent
DEV = ("walker", "pairs")
OTHERS = (
    *("windows", "intervals", "digits", "jobs", "grid", "letters", "graph"),
    *("numbers", "runs", "carousel", "lamps", "boots", "market"),
)
PUBLIC, SMALL, LARGE = 2, 16, 2
MOST_CANDIDATES = 12
ERRORS = ("no_import", "no_cast", "not_mut")  # slips that don't compile
OWN = {*ERRORS, "one_line"}  # slips of the reading part

HEROES = ("Ada", "Bodo", "Cleo", "Dimka", "Edda", "Fynn", "Gesa", "Hugo", "Ilka", "Jorin")
PERSONS = ("Kaja", "Levin", "Mira", "Nils", "Olga", "Pavel", "Quirin", "Rosa", "Sven", "Tilda")
PLACES = ("Umberg", "Varnhall", "Westerau", "Yrsund", "Zellin", "Alderwik", "Brookmar", "Corvath")
THINGS = ("pumpkin", "lantern", "barrel", "statue", "melon", "basket", "cushion", "kettle")
RESERVED = {"person", "hero", "place", "thing", "things"}


class Candidate(NamedTuple):
    """A program of a pool.

    `parent` names the candidate that this one would be if it compiled; empty if it does.
    """

    name: str
    source: str
    parent: str = ""


@cache
def family(name: str) -> base.Family:
    """Import a family."""
    package = "openrebench.environments.rust_codecontests.hidden.families"
    return importlib.import_module(f"{package}.{name}").FAMILY


def keys(split: str) -> list[str]:
    """List the problems of `dev`, `score` or `final`."""
    if split == "dev":
        return [f"{name}/{v.key}" for name in DEV for v in family(name).variants]
    wanted = ("score", "final").index(split)
    return [
        f"{name}/{variant.key}"
        for i, name in enumerate(OTHERS)
        for j, variant in enumerate(family(name).variants)
        if (i + j) % 2 == wanted
    ]


def variant_of(key):
    """Give family and variant."""
    name, _, own = key.partition("/")
    found = family(name)
    return found, next(v for v in found.variants if v.key == own)


@cache
def inputs(key):
    """Make all inputs of a problem: small ones, edges and large ones; always the same.

    Which two of the small ones are samples was chosen by `label.py`.
    """
    found, _ = variant_of(key)
    rng = random.Random(f"openrebench rust {key}")
    small = _small(found, rng)
    large = [found.large(rng) for _ in range(LARGE)]
    return (*small, *found.edges, *large)


def samples(key):
    """Give the tests that solvers see."""
    found, _ = variant_of(key)
    small = _small(found, random.Random(f"openrebench rust {key}"))
    known = recorded("expected.json")["problems"][key]
    return tuple(Case(small[k], known["outputs"][k]) for k in known["samples"])


def _small(found, rng):
    return [found.small(rng) for _ in range(SMALL)]


def digest(texts):
    """Hash inputs."""
    return hashlib.sha256(repr(tuple(texts)).encode()).hexdigest()


@cache
def recorded(name: str) -> dict[str, Any]:
    """Read what `label.py` has written."""
    return json.loads((HERE / name).read_text(encoding="utf-8"))


def tests(key):
    """Give all tests of a problem with their expected outputs, samples first."""
    known = recorded("expected.json")["problems"][key]
    made = inputs(key)
    if digest(made) != known["inputs"]:
        raise RuntimeError(f"{key}: the inputs are not those that the expected outputs are for")
    return samples_first(tuple(map(Case, made, known["outputs"])), known["samples"])


def samples_first(tests, samples):
    """Put the samples before the other tests."""
    others = [test for k, test in enumerate(tests) if k not in samples]
    return (*(tests[k] for k in samples), *others)


def problem(key: str, rng: Generator, number: int) -> Problem:
    """Dress a problem for one score call: another number, other people, places and things.

    Args:
        key: Which one.
        rng: numpy generator; equal states dress it equally.
        number: Its number in this call.
    """
    found, variant = variant_of(key)
    thing = str(rng.choice(THINGS))
    names = {
        "hero": str(rng.choice(HEROES)),
        "person": str(rng.choice(PERSONS)),
        "place": str(rng.choice(PLACES)),
        "thing": thing,
        "things": thing + "s",
    }
    known = recorded("expected.json")["problems"][key]
    public = samples(key)
    return Problem(
        key=key,
        name=f"{number:02d}. {variant.title}",
        description=statement(found, variant, names, public),
        public=public,
        hidden=lambda: tests(key)[PUBLIC:],
        digest=f"{known['inputs']} {digest(known['outputs'])}",
    )


def statement(found, variant, names, public):
    """Write the text of a problem."""
    parts = [found.story, variant.task, "Input", found.input, "Output", variant.output]
    text = "\n\n".join(Template(part).substitute(names) for part in parts)
    for number, test in enumerate(public, 1):
        text += f"\n\nSample {number}, input\n\n{test.input}\nSample {number}, output\n\n{test.output}"
    return text + "\n"


@cache
def candidates(key: str) -> tuple[Candidate, ...]:
    """Make the pool of a problem: right programs, and programs with one or two slips."""
    found, variant = variant_of(key)
    marked = base.source(found, variant)
    own = [slip for slip in base.slips_of(marked) if slip not in OWN]
    pool = [Candidate("correct", base.chosen(marked))]
    if found.head == base.NUMBERS:
        lined = base.source(found, variant, head=base.BY_LINES)
        pool.append(Candidate("by_lines", base.chosen(lined)))
    pool += [_slipped(marked, "correct", error) for error in ERRORS]
    pool += [Candidate(f"slip {slip}", _with(marked, slip)) for slip in own]
    pool.append(Candidate("i32", base.chosen(marked).replace("i64", "i32").replace("1 << 60", "1 << 30")))
    if variant.slow:
        pool.append(Candidate("slow", base.chosen(base.source(found, variant, body=variant.slow))))
    pool += [_slipped(marked, f"slip {own[0]}", "no_import", own[0])] if own else []
    others = [v for v in found.variants if v.key != variant.key]
    turn = [v.key for v in found.variants].index(variant.key)
    for other in (others[turn % len(others)], others[(turn + 1) % len(others)]):
        pool.append(Candidate(f"as {other.key}", base.chosen(base.source(found, other))))
    pool.append(Candidate("one_line", _with(marked, "one_line")))
    pool.append(_slipped(base.source(found, others[turn % len(others)]), f"as {others[turn % len(others)].key}", "no_import"))
    return tuple(_distinct(pool)[:MOST_CANDIDATES])


def _with(marked, *slips):
    return base.chosen(marked, frozenset(slips))


def _slipped(marked, parent, error, *slips):
    """Give a candidate that does not compile, and name the one that it would be."""
    return Candidate(f"{parent} + {error}", _with(marked, error, *slips), parent)


def _distinct(pool):
    """Leave out programs that are there already."""
    return list({c.source: c for c in reversed(pool)}.values())[::-1]
