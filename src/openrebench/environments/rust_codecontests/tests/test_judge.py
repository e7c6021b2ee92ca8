"""What the judge says of programs, whatever they do."""

import os
from pathlib import Path

import pytest

from openrebench.environments.rust_codecontests.judge import (
    CaseLimits,
    Judge,
    Kind,
    Run,
    Verdict,
    compare,
    same_output,
)
from openrebench.environments.rust_codecontests.problems import Case, Problem, digest_of
from openrebench.isolation.local import LocalRunner

DOUBLE = """
use std::io::Read;
#[allow(dead_code)]
fn rest(seconds: u64) { std::thread::sleep(std::time::Duration::from_secs(seconds)); }
fn main() {
    let mut s = String::new();
    std::io::stdin().read_to_string(&mut s).unwrap();
    let x: i64 = s.trim().parse().unwrap();
    %s
    println!("{}", 2 * x);
}
"""
CASES = (Case("1\n", "2"), Case("5\n", "10\n"), Case("-4\n", "-8"))
LIMITS = CaseLimits(cpu_s=0.7, wall_s=2.5, memory_bytes=256 << 20, output_bytes=10_000)


def problem(cases: tuple[Case, ...] = CASES) -> Problem:
    return Problem(
        key="double",
        name="double",
        description="Double it.",
        public=cases[:1],
        hidden=lambda: cases[1:],
        digest=digest_of(cases),
    )


@pytest.fixture
def judge(runner: LocalRunner, tmp_path: Path) -> Judge:
    return Judge(runner, LIMITS, tmp_path / "verdicts")


ENDS = {
    "right": ("", Kind.ACCEPTED, None),
    "wrong_later": ("let x = if x == 5 { 4 } else { x };", Kind.WRONG_ANSWER, 1),
    "panics": ("assert!(x > 0);", Kind.CRASHED, 2),
    "exit_code": ("if x == 5 { println!(\"10\"); std::process::exit(1) }", Kind.CRASHED, 1),
    "spins": ("let mut y = x; while y != 0 { y = y * 3 + 1 | 1; }", Kind.TOO_SLOW, 0),
    "sleeps": ("if x == 5 { rest(99); }", Kind.TOO_SLOW, 1),
    "floods": ("loop { println!(\"{}\", x); }", Kind.TOO_MUCH_OUTPUT, 0),
    "hogs": ("let v = vec![x; 1 << 27]; println!(\"{}\", v[x as usize % 7 + 1]);", Kind.CRASHED, 0),
    "writes": ("std::fs::write(\"/tmp/kept\", \"x\").unwrap();", Kind.CRASHED, 0),
    "no_type": ("let y: u8 = x;", Kind.COMPILE_ERROR, None),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDS)
def test_every_end_has_its_name(judge: Judge, name: str) -> None:
    code, kind, test = ENDS[name]
    verdict = judge.judge(problem(), DOUBLE % code)
    assert (verdict.kind, verdict.test) == (kind, test)
    if kind is Kind.COMPILE_ERROR:
        assert "mismatched types" in verdict.note


LEAVES_A_CHILD = """
    if std::env::args().count() > 1 { rest(99); }
    let old = std::fs::read_dir("/proc").unwrap().flatten().filter(|e| {
        std::fs::read_to_string(e.path().join("cmdline")).map_or(false, |c| c.contains("stay"))
    }).count();
    if old > 0 { std::process::exit(7); }
    let quiet = || std::process::Stdio::null();
    std::process::Command::new("/proc/self/exe").arg("stay")
        .stdin(quiet()).stdout(quiet()).spawn().unwrap();
"""


def test_what_a_program_leaves_running_is_gone_before_its_next_test(judge: Judge) -> None:
    source = DOUBLE.replace("fn main() {", "fn main() {" + LEAVES_A_CHILD) % ""
    assert judge.judge(problem(), source).kind is Kind.ACCEPTED


def test_nobody_sees_an_expected_output(judge: Judge) -> None:
    """A program that prints all that it can read of its surroundings prints no expected output."""
    secret = "31415926535"
    cases = (Case("1\n", secret), Case("2\n", secret))
    code = """
    fn all(folder: &std::path::Path) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() { all(&path) }
            else { println!("{}", std::fs::read_to_string(&path).unwrap_or_default()); }
        }
    }
    all(std::path::Path::new("/workspace"));
    all(std::path::Path::new("/tmp"));
    """
    source = DOUBLE % code
    built = judge.build(source)
    assert built.binary is not None, built.message
    runs = judge.run(built.binary, [case.input for case in cases], all_tests=True)
    assert runs and all(secret.encode() not in run.output for run in runs)
    assert any(b"cpu_s" in run.output for run in runs)  # it did read the workspace


def test_a_verdict_is_remembered_by_source_and_tests(judge: Judge, tmp_path: Path) -> None:
    source = DOUBLE % ""
    first = judge.judge(problem(), source)
    kept = list((tmp_path / "verdicts").rglob("*.json"))
    assert len(kept) == 1 and Verdict.model_validate_json(kept[0].read_bytes()) == first
    kept[0].write_text(Verdict(kind=Kind.CRASHED, note="from memory").model_dump_json())
    assert judge.judge(problem(), source).note == "from memory"
    assert judge.judge(problem(CASES[:2]), source).kind is Kind.ACCEPTED


def test_a_verdict_that_a_busy_machine_could_cause_is_not_remembered(
    runner: LocalRunner, tmp_path: Path
) -> None:
    judge = Judge(runner, LIMITS.model_copy(update={"wall_s": 0.5}), tmp_path / "verdicts")
    assert judge.judge(problem(), DOUBLE % ENDS["sleeps"][0]).kind is Kind.TOO_SLOW
    assert not list((tmp_path / "verdicts").rglob("*.json"))


def test_programs_are_judged_apart(judge: Judge) -> None:
    bomb = 'loop { let _ = std::process::Command::new("/proc/self/exe").spawn(); }'
    programs = [(problem(), DOUBLE % code) for code in (bomb, "", ENDS["wrong_later"][0])]
    bombed, *others = judge.judge_all(programs)
    assert bombed.kind in (Kind.CRASHED, Kind.TOO_SLOW)
    assert [v.kind for v in others] == [Kind.ACCEPTED, Kind.WRONG_ANSWER]


@pytest.mark.parametrize(
    ("output", "same"),
    [
        ("10", True),
        ("10 \n\n", True),
        ("10\r\n", True),
        ("10.0", False),
        (" 10", False),
        ("", False),
        ("1 0", False),
    ],
)
def test_only_spaces_at_line_ends_and_lines_at_the_end_are_forgiven(
    output: str, same: bool
) -> None:
    assert same_output(output.encode(), "10\n") is same


def test_a_missing_run_is_a_failed_test() -> None:
    runs = [Run("ok", b"2", 0.1)]
    assert compare(runs, CASES) == Verdict(kind=Kind.CRASHED, test=1, note="no result", cpu_s=0.1)


def test_too_long_a_source_does_not_compile(judge: Judge) -> None:
    verdict = judge.judge(problem(), "//" + "x" * (65 << 10))
    assert verdict.kind is Kind.COMPILE_ERROR and "it may have" in verdict.note
    assert os.path.isdir(judge._memory)
