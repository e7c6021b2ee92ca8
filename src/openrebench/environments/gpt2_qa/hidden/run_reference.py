# OpenRE-Bench hidden material. Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51: do not publish, do not train on.
"""Run a solution in a sandbox against the metered judge, as an attempt would, and score its rounds.

    python -m openrebench.environments.gpt2_qa.hidden.run_reference OUT [starter] [--rounds N] [--done K]

Without `starter` it is reference/solve.py. OUT gets the weights of every round, and what was printed;
with `--done`, it holds those of earlier rounds already.
"""

import argparse
import json
import shutil
import tempfile
from pathlib import Path

from openrebench.core.catalog import load_environment
from openrebench.core.environment import Environment
from openrebench.core.seed import Seed
from openrebench.core.service import journal_of, open_door
from openrebench.core.workspace import stage
from openrebench.environments.gpt2_qa.metering import used
from openrebench.errors import ReBenchError
from openrebench.isolation.local import LocalRunner
from openrebench.isolation.runner import Limits

HERE = Path(__file__).parent
LIMITS = Limits(call_timeout_s=580, memory_bytes=32 << 30, processes=512)
ROUNDS = 6


def make(environment: Environment, profile: str, runner: LocalRunner, rounds: int = ROUNDS) -> dict:
    """Solve, and put what comes of it where the profile's reference is looked for.

    Raises:
        ReBenchError: The solution did not come to its end.
    """
    with tempfile.TemporaryDirectory() as scratch:
        command = ["solve.py", "--rounds", str(rounds)]
        facts = solve(environment, Path(scratch), command, profile, runner)
        if facts["returncode"]:
            said = "".join(facts["output"].splitlines()[-1:])
            raise ReBenchError(f"{command[0]} ended with {facts['returncode']} ({said})")
        target = environment.reference(profile)
        target.mkdir(parents=True, exist_ok=True)
        for name in environment.card.submission:
            shutil.copyfile(Path(scratch, "workspace", name), target / name)
    return facts


def solve(
    environment: Environment,
    folder: Path,
    command: list[str],
    profile: str,
    runner: LocalRunner,
    given: Path | None = None,
) -> dict:
    """Solve in a fresh workspace below a folder; `given` is a file that goes in."""
    workspace, found = folder / "workspace", environment.card.profile(profile)
    stage(environment, profile, workspace, seed=Seed.fresh())
    shutil.copyfile(HERE / "reference" / "solve.py", workspace / "solve.py")
    if given is not None:
        shutil.copyfile(given, workspace / given.name)
    with open_door(environment, found, folder, workspace):
        done = runner.run(
            ["python", *command], workspace=workspace, limits=LIMITS, device=found.device
        )
    if done.returncode:
        print(f"{command[0]} ended with {done.returncode}; its finished rounds count")
    calls = used(journal_of(environment, folder).rows())
    facts = {"command": command, "returncode": done.returncode, "comparisons": calls}
    facts["output"] = done.output.decode(errors="replace")
    return facts | {"cpu_s": round(done.cpu_s, 1), "wall_s": round(done.elapsed_s, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("which", nargs="?", default="solve", choices=("solve", "starter"))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--done", type=int, default=0)
    parser.add_argument("--profile", default="small")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    script = "solve.py" if options.which == "solve" else "rl_finetune.py"
    command, given = [script, "--rounds", str(options.rounds)], None
    if options.done:
        command += ["--done", str(options.done)]
        given = options.out / f"round-{options.done}.safetensors"
    with LocalRunner() as runner, tempfile.TemporaryDirectory() as scratch:
        environment = load_environment("gpt2_qa")
        facts = solve(environment, Path(scratch), command, options.profile, runner, given)
        for path in Path(scratch, "workspace").glob("*.safetensors"):
            shutil.copyfile(path, options.out / path.name)
        shutil.copyfile(Path(scratch, "workspace", "sampling.json"), options.out / "sampling.json")
        with (options.out / "output.txt").open("a") as file:
            file.write(facts.pop("output"))
    with (options.out / "runs.jsonl").open("a") as file:
        file.write(json.dumps(facts) + "\n")
    print(facts)


if __name__ == "__main__":
    main()
