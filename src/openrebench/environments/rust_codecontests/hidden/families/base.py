"""What a family of problems is, and the marks in its Rust sources from which wrong programs come.

A source may hold marks such as «k¦off_by_one:k + 1»: the correct program has `k` there, and the
program with the slip `off_by_one` has `k + 1`. Several slips may stand in one mark.

Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51
"""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MARK = re.compile("«(.*?)»", re.DOTALL)

NUMBERS = """\
«use std::io::{self, Read};¦no_import:use std::io;»
%s
fn main() {
    let mut s = String::new();
    io::stdin().«read_to_string¦one_line:read_line»(&mut s).unwrap();
    let mut it = s.split_ascii_whitespace();
    let «mut ¦not_mut:»next = || it.next().unwrap().parse::<i64>().unwrap();
"""
BY_LINES = """\
use std::io::{self, BufRead};
%s
fn main() {
    let mut all: Vec<i64> = Vec::new();
    for line in io::stdin().lock().lines() {
        all.extend(line.unwrap().split_whitespace().map(|w| w.parse::<i64>().unwrap()));
    }
    let mut at = 0;
    let mut next = || { at += 1; all[at - 1] };
"""
WORDS = """\
«use std::io::{self, Read};¦no_import:use std::io;»
%s
fn main() {
    let mut s = String::new();
    io::stdin().«read_to_string¦one_line:read_line»(&mut s).unwrap();
    let «mut ¦not_mut:»it = s.split_ascii_whitespace();
"""


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One problem of a family.

    Args:
        key: Its name in the family.
        title: As a contest would call it.
        task: What is asked; names such as $hero are filled in for every score call.
        output: What to print.
        brute: Slow and plainly right; takes what the family's `parse` gives.
        rust: Body of the Rust program, with marks.
        uses: Further `use` lines, or functions.
        slow: Body of a program that is right and too slow; none if empty.
    """

    key: str
    title: str
    task: str
    output: str
    brute: Callable[..., Any]
    rust: str
    uses: str = ""
    slow: str = ""


@dataclass(frozen=True, kw_only=True)
class Family:
    """Problems that share a story and an input.

    Args:
        name: Name of the module.
        story: Opening of the statement.
        input: Format and limits of the input.
        parse: Gives the arguments of `brute` from an input.
        small: Draws an input that brute force can do.
        large: Draws an input near the limits.
        edges: Fixed small inputs at the edges of what is allowed.
        read: Rust code that reads the input.
        variants: The problems.
        head: Beginning of the Rust programs, before `read`.
    """

    name: str
    story: str
    input: str
    parse: Callable[[str], tuple[Any, ...]]
    small: Callable[[random.Random], str]
    large: Callable[[random.Random], str]
    edges: tuple[str, ...]
    read: str
    variants: tuple[Variant, ...]
    head: str = NUMBERS


def ints(text: str) -> list[int]:
    """Read all integers of an input."""
    return [int(word) for word in text.split()]


def lines(*rows: object) -> str:
    """Write an input: a list becomes a line of its elements."""
    return "".join(
        (" ".join(map(str, row)) if isinstance(row, list | tuple) else str(row)) + "\n"
        for row in rows
    )


def source(family: Family, variant: Variant, *, head: str = "", body: str = "") -> str:
    """Give a variant's marked source, with another head or body if named."""
    top = (head or family.head) % variant.uses
    return top + family.read + (body or variant.rust) + "}\n"


def chosen(marked: str, slips: frozenset[str] = frozenset()) -> str:
    """Resolve the marks: those with one of the slips to it, the others to what is correct."""

    def pick(match: re.Match[str]) -> str:
        correct, *wrong = match.group(1).split("¦")
        found = dict(text.split(":", 1) for text in wrong)
        return next((found[name] for name in slips if name in found), correct)

    return re.sub("\n\n+", "\n", MARK.sub(pick, marked))


def slips_of(marked: str) -> list[str]:
    """List the slips that a marked source has, in order."""
    found: dict[str, None] = {}
    for match in MARK.finditer(marked):
        for text in match.group(1).split("¦")[1:]:
            found[text.split(":", 1)[0]] = None
    return list(found)
