"""The pool of secret variants of this machine, with what the given repository makes of each.

Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51

    python -m openrebench.environments.llm_foundry.hidden.pool --profile small --add 4

Nothing of it ships: rows, options and seeds come from the operating system's random numbers, and
lie with their reference weights in `$OPENREBENCH_HOME/assets`, which only its owner can read.
The given repository itself makes the references, in the same sandbox as everybody's runs.
"""

import argparse
import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from openrebench.core.card import Profile
from openrebench.core.catalog import find_card
from openrebench.core.seed import Seed
from openrebench.environments.llm_foundry import material, variants
from openrebench.environments.llm_foundry.runs import finetune
from openrebench.environments.llm_foundry.variants import Options, Variant
from openrebench.errors import InvalidSubmission, ReBenchError, ScoringError
from openrebench.isolation.local import LocalRunner
from openrebench.isolation.runner import Runner
from openrebench.textbase import assets

RECORD, COST = "record.json", "cost.json"
TIMED, SHORT = "timed", "short"
INPUTS, TRUTH = "inputs", "truth"
CODE = {".py", ".sh", ".yaml"}
# Parameters of a size that change nothing about its runs.
NOT_OF_RUNS = {
    "calibration_every_s",
    "calibration_s",
    "calibration_steps",
    "pool",
    "timed_s",
    "tolerance",
    "loss_tolerance",
    "ahead_tolerance",
    "cpu_limit_s",
    "time_rule",
    "limit_rule",
    "loss_rule",
}


class Pool:
    """Variants of one size; makes some where there are none.

    Args:
        profile: The size; its parameter `pool` says how many variants there are at least.
    """

    def __init__(self, profile: Profile) -> None:
        self.profile, self.repository = profile, material.repository(profile)
        self.folder = assets.cache_folder() / f"llm_foundry-{self._key()}"

    @property
    def base(self) -> Path:
        """Folder of the base model that all variants start from."""
        folder = self.folder / material.BASE
        if not folder.is_dir():
            with self._made("base") as made:
                material.write_base(made / material.BASE, self.profile)
                (made / material.BASE).replace(folder)
        return folder

    def names(self) -> list[str]:
        """List the variants that are there."""
        return sorted(path.parent.name for path in self.folder.glob(f"v*/{RECORD}"))

    def draw(self, seed: Seed, runner: Runner) -> list[dict[str, Variant]]:
        """Give all variants in an order that only the seed knows."""
        self.fill(self.profile.integer("pool"), runner)
        found = self.variants()
        return [found[i] for i in seed.rng("variants").permutation(len(found))]

    def variants(self) -> list[dict[str, Variant]]:
        """Give all variants that are there."""
        return [self.variant(name) for name in self.names()]

    def variant(self, name: str) -> dict[str, Variant]:
        """Give a variant's runs by kind: a timed one, and a short one if the size has one."""
        folder = self.folder / name
        changed = json.loads((folder / RECORD).read_text(encoding="utf-8"))["changed"]
        return {kind: self._run(folder / kind, options) for kind, options in changed.items()}

    def fill(self, count: int, runner: Runner) -> None:
        """Make variants until there are `count`."""
        while len(self.names()) < count:
            self.add(runner)

    def add(self, runner: Runner) -> str:
        """Make one more variant, and give its name.

        Raises:
            ScoringError: The given repository failed on it.
        """
        seed = Seed.fresh()
        kinds = [TIMED, SHORT] if self.profile.integer("short_rows") else [TIMED]
        with self._made("variant") as folder:
            changed = {kind: self._make(folder / kind, seed, runner) for kind in kinds}
            record = {"changed": changed, "seed": seed.secret.hex()}
            (folder / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
            name = f"v{seed.commitment[:12]}"
            folder.replace(self.folder / name)
        return name

    def _make(self, folder: Path, seed: Seed, runner: Runner) -> Options:
        rng = seed.rng(folder.name)
        short = folder.name == SHORT
        options = variants.write_inputs(folder / INPUTS, self.profile, rng, short=short)
        variant = self._run(folder, options)
        try:
            with finetune(self.repository, variant, runner, self.profile) as finished:
                keep = shutil.ignore_patterns("tokenizer*")
                shutil.copytree(finished.output, variant.truth, ignore=keep)
                cost = {"cpu_s": finished.cpu_s, "wall_s": finished.wall_s}
            (folder / COST).write_text(json.dumps(cost) + "\n", encoding="utf-8")
        except InvalidSubmission as error:
            raise ScoringError(f"the given repository failed on {options}: {error}") from error
        return options

    def _run(self, folder: Path, options: Options) -> Variant:
        return Variant(
            inputs=folder / INPUTS, base=self.base, truth=folder / TRUTH, changed=options
        )

    @contextmanager
    def _made(self, what: str) -> Iterator[Path]:
        """Give a folder to build in, so that nothing half-made is ever found."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f"{what}-", dir=self.folder))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _key(self) -> str:
        """Name what truths depend on: the repository, the base, and the size's parameters."""
        digest = hashlib.sha256()
        files = sorted(p for p in self.repository.rglob("*") if p.suffix in CODE)
        for path in (*files, *sorted((material.HERE / "data").glob("*"))):
            if path.is_file():
                digest.update(path.name.encode() + b"\0" + path.read_bytes())
        parameters = self.profile.parameters.items()
        digest.update(repr(sorted(p for p in parameters if p[0] not in NOT_OF_RUNS)).encode())
        return digest.hexdigest()[:16]


def main() -> None:
    """Extend the pool as the command line says."""
    parser = argparse.ArgumentParser(description="Add secret variants to this machine's pool.")
    parser.add_argument("--profile", default="small")
    parser.add_argument("--add", type=int, default=1, metavar="N")
    arguments = parser.parse_args()
    try:
        pool = Pool(find_card("llm_foundry").profile(arguments.profile))
        with LocalRunner() as runner:
            for _ in range(arguments.add):
                pool.add(runner)
    except ReBenchError as error:
        raise SystemExit(str(error)) from error
    print(f"{arguments.profile}: {len(pool.names())} variants")


if __name__ == "__main__":
    main()
