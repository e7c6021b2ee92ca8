"""What each feature of a scaffold adds in rust_codecontests, over seeds of the simulated coder.

    python benchmarks/rust_scaffolds.py [--split score] [--seeds 20]

The reference scaffold runs in this process with some of its features taken away. Its compiler and
its runs are real, and remembered by program and input, since pools repeat; all programs that run here are
the project's own. Whether the chosen program solves the problem is read from the stored labels.
"""

import argparse
import asyncio
import importlib.util
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType

import numpy as np

from openrebench.broker.upstream import Ask, Message
from openrebench.core.catalog import find_card
from openrebench.environments.rust_codecontests import coder, sources
from openrebench.environments.rust_codecontests.coder import SimulatedCoder
from openrebench.environments.rust_codecontests.hidden import bank

CARD = find_card("rust_codecontests")
REFERENCE = CARD.folder / "hidden" / "reference"
SCAFFOLDS = {
    "1 sample": (1, ""),
    "1 sample, reasoning": (1, "reason"),
    "4 samples, filter": (4, "filter"),
    "12 samples, filter": (12, "filter"),
    "12 samples, filter, reasoning": (12, "filter reason"),
    "12 samples, filter, reasoning, repair": (12, "filter reason repair"),
    "12 samples, filter, reasoning, vote": (12, "filter reason vote"),
    "all of these": (12, "filter reason repair vote"),
    "all of these, 36 samples": (36, "filter reason repair vote"),
}


def load(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def remembering(rust: ModuleType) -> None:
    """Compile each program, and run it on each input, once."""
    built, ran = {}, {}
    folder = Path(tempfile.mkdtemp(prefix="rust-scaffolds-"))

    def compile(source: str) -> tuple[Path | None, str]:
        if source not in built:
            path = folder / f"p{len(built)}"
            path.with_suffix(".rs").write_text(source)
            command = ["/usr/bin/rustc", *rust.QUICK, f"{path}.rs", "-o", str(path)]
            done = subprocess.run(command, capture_output=True, text=True)
            built[source] = (path, "") if done.returncode == 0 else (None, done.stderr)
        return built[source]

    async def build_all(sources):
        results = {source: compile(source) for source in sources}
        commands = {source: path for source, (path, _) in results.items() if path is not None}
        return commands, {source: said for source, (path, said) in results.items() if path is None}

    async def run(path, text, timeout_s=5):
        if (path, text) not in ran:
            try:
                done = subprocess.run(
                    [path], input=text, capture_output=True, text=True, timeout=timeout_s
                )
                ran[path, text] = done.stdout if done.returncode == 0 else None
            except subprocess.TimeoutExpired:
                ran[path, text] = None
        return ran[path, text]

    rust.build_all, rust.run = build_all, run


class Direct:
    """The model without its socket."""

    def __init__(self, model):
        self.model, self.completions = model, 0

    async def complete(self, prompt, n=1, temperature=None, max_tokens=2048):
        ask = Ask(
            messages=(Message("user", prompt),), n=n, temperature=temperature, max_tokens=max_tokens
        )
        self.completions += n
        return [choice.text for choice in self.model.complete(ask).choices]


def share_solved(solve: ModuleType, problems, split: str, seed: str) -> tuple[float, float]:
    parameters = CARD.profile("small").parameters
    odds = coder.skills(
        bank.keys(split),
        most=float(parameters["most_skill"]),
        power=float(parameters["skill_power"]),
    )
    pools = {p.key: sources.pool(p.key) for p in problems}
    llm = Direct(SimulatedCoder(problems, pools, odds, seed))

    async def solved(problem) -> bool:
        source = await solve.generate_solution(llm, problem.stripped(cpu_limit_s=2))
        return any(p.source == source and p.kind == "right" for p in pools[problem.key])

    found = [asyncio.run(solved(problem)) for problem in problems]
    return sum(found) / len(found), llm.completions / len(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--split", default="score", choices=["score", "final", "dev"])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--each", action="store_true", help="print every seed's share too")
    chosen = parser.parse_args()
    rust = load("rust", REFERENCE / "rust.py")
    solve = load("solve", REFERENCE / "solve.py")
    remembering(rust)
    rng = np.random.default_rng(0)
    problems = [bank.problem(key, rng, k) for k, key in enumerate(bank.keys(chosen.split), 1)]
    print(f"{chosen.split}, {len(problems)} problems, {chosen.seeds} seeds")
    print("| scaffold | mean | s.d. over seeds | completions a problem |\n|---|---|---|---|")
    for name, (samples, features) in SCAFFOLDS.items():
        solve.SAMPLES, solve.FEATURES = samples, set(features.split())
        runs = [
            share_solved(solve, problems, chosen.split, f"seed {s}") for s in range(chosen.seeds)
        ]
        shares = [share for share, _ in runs]
        mean, spread = statistics.mean(shares), statistics.stdev(shares)
        asked = statistics.mean(completions for _, completions in runs)
        print(f"| {name} | {mean:.3f} | {spread:.3f} | {asked:.1f} |", flush=True)
        if chosen.each:
            print("   ", *(f"{share:.3f}" for share in shares), flush=True)


if __name__ == "__main__":
    main()
