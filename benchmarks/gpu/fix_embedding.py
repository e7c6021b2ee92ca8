"""Make the base models of fix_embedding/gpu here, then measure its anchors and what routes reach.

    PYTHONPATH=src python benchmarks/gpu/fix_embedding.py FOLDER

Writes FOLDER/fix_embedding.json, after every step, and the anchors file.
"""

import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import torch

from openrebench.core.card import Profile
from openrebench.core.catalog import load_environment
from openrebench.core.measuring import measure_anchors
from openrebench.core.seed import Seed
from openrebench.environments.fix_embedding.environment import SUBMITTED, made_reference
from openrebench.environments.fix_embedding.hidden import recover, waypoints
from openrebench.environments.fix_embedding.hidden.build_reference import built
from openrebench.isolation.device import device_fingerprint
from openrebench.isolation.local import LocalRunner
from openrebench.textbase import made, source, weights
from openrebench.textbase.gpt import mean_loss

PROFILE = "gpu"
SETTINGS = ((0.5, 25_000), (0.6, 10_000), (0.7, 10_000), (0.8, 10_000))  # severity, tokens of text


def rows_found(profile: Profile, severity: float, tokens: int) -> float:
    """Give the share of rows whose token statistics find, without any training."""
    changed = profile.parameters | {"severity": severity, "dev_tokens": tokens}
    profile = profile.model_copy(update={"parameters": changed})
    bench = waypoints.Bench(PROFILE, profile, Seed.fresh())
    held = recover.split(bench.text)[1]
    rows = recover.guess_rows(bench.start(), bench.little, held).rows
    return round((rows == bench.right).double().mean().item(), 4)


def main() -> None:
    folder, device = Path(sys.argv[1]), device_fingerprint("cuda")
    environment, started = load_environment("fix_embedding"), time.monotonic()
    profile = environment.card.profile(PROFILE)
    found = {"device": device.gpu, "driver": device.driver, "torch": torch.__version__}
    found["date"] = f"{datetime.now(UTC):%Y-%m-%d}"

    def keep(**more: object) -> None:
        found.update(more, seconds_so_far=round(time.monotonic() - started, 1))
        (folder / "fix_embedding.json").write_text(json.dumps(found, indent=1) + "\n")
        print(more, flush=True)

    torch.set_float32_matmul_precision("high")
    made.make()
    torch.set_float32_matmul_precision("highest")
    score = source.tokens(profile, "score")[: profile.integer("score_tokens") + 1]
    models = {name: source.model(profile, name).to(profile.device) for name in ("large", "little")}
    keep(bases={name: mean_loss(model, score, batch=64) for name, model in models.items()})
    keep(rows_found={f"{s}, {n} tokens": rows_found(profile, s, n) for s, n in SETTINGS})
    reference = built(PROFILE, profile, Seed.fresh())
    weights.save_weights(made_reference(PROFILE) / SUBMITTED, reference)
    keep(reference=mean_loss(reference, score, batch=64))
    with LocalRunner() as runner:
        anchors = measure_anchors(environment, PROFILE, runner, runs=5)
    anchors.save(folder / "fix_embedding")
    scale = anchors.scale(environment.card)
    raw = {"start": anchors.start, "reference": anchors.reference}
    keep(
        isolation=anchors.isolation,
        unit="nats",
        raw=raw,
        normalised={k: [round(scale.normalize(r), 4) for r in v] for k, v in raw.items()},
        final_nats={"start": anchors.final_start, "reference": anchors.final_reference},
        seconds_a_score=anchors.score_call_s,
    )
    kinds = list(waypoints.KINDS)
    keep(waypoints=waypoints.measured(PROFILE, kinds, 0.0, lambda found: keep(waypoints=found)))


if __name__ == "__main__":
    main()
