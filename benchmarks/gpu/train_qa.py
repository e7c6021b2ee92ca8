"""Train the models of gpt2_qa, measure the judges' release gates, and write all with provenance.

PYTHONPATH=src python benchmarks/gpu/train_qa.py OUT_FOLDER [--tiny]

What ships came from two goes on an H200 (results/train_qa-1.json and -2.json): the first trained base,
rivals, reader and two judges, the second the judge that ships (--made FIRST_FOLDER --judge-s 70). The
first read questions dealt out before those that break a rule were left out, so some 2 % of the dev
questions were in its training text; none of the score and final ones were.
"""

import argparse
import dataclasses
import json
import random
import sys
import time
from pathlib import Path

import torch

from openrebench.environments.gpt2_qa import asking, hidden
from openrebench.environments.gpt2_qa.hidden import corpus, making
from openrebench.environments.gpt2_qa.hidden.making import Tuning
from openrebench.environments.gpt2_qa.judge_model import padded
from openrebench.environments.gpt2_qa.questions import Pair, load_pairs, prompt
from openrebench.environments.gpt2_qa.sampling import Sampling
from openrebench.textbase import build, weights
from openrebench.textbase.gpt import GPTConfig
from openrebench.textbase.tokens import load_tokens
from openrebench.textbase.training import Recipe

HIDDEN = Path(next(iter(hidden.__path__)))
STARTED = time.monotonic()
COMPARED = 1000  # questions that a gate is measured on, of the dev split
SHUFFLES = 4


def config(layers: int, heads: int, width: int, dropout: float = 0.0) -> GPTConfig:
    return GPTConfig(
        vocabulary=build.VOCABULARY,
        context=128,
        layers=layers,
        heads=heads,
        width=width,
        dropout=dropout,
    )


BASE = Recipe(config=config(4, 4, 128), steps=5000, batch=256, rate=4e-3)
READER = Recipe(config=config(4, 6, 192, 0.1), steps=3500, batch=256, rate=3e-3)
RIVALS = {
    "rival_a": Tuning(steps=150, batch=64, rate=5e-4, pairs=1000),
    "rival_b": Tuning(steps=600, batch=128, rate=1e-3, pairs=10_000),
}
JUDGES = {
    "judge_192": Tuning(steps=6000, batch=48, rate=6e-4),
    "judge_128": Tuning(steps=2500, batch=48, rate=8e-4),
}


def say(text: str) -> None:
    print(f"[{time.monotonic() - STARTED:6.1f} s] {text}", flush=True)


def load(name: str) -> torch.Tensor:
    return torch.from_numpy(load_tokens(build.HERE / "data" / f"{name}.xz").astype("int64"))


def batched(count: int, size: int = 512):
    return (slice(first, first + size) for first in range(0, count, size))


@torch.no_grad()
def marks(judge, texts, questions: list[str], found: list[str], device: str) -> torch.Tensor:
    """Mark answers with a trained judge."""
    asked, said = (
        texts.encode_all([prompt(q) for q in questions]),
        texts.encode_all([f" {a}" for a in found]),
    )
    tokens, lengths = padded([texts.marked(q, a) for q, a in zip(asked, said, strict=True)])
    return torch.cat(
        [
            judge(tokens[s].to(device), lengths[s].to(device)).float().cpu()
            for s in batched(len(tokens))
        ]
    )


def likelihood(reader, texts, questions: list[str], found: list[str], device: str) -> torch.Tensor:
    """Give the mean log-likelihood of every answer's tokens."""
    asked = [texts.encode(prompt(q)) for q in questions]
    tokens, lengths = padded(
        [[*q, *texts.encode(f" {a}")[:60], texts.end] for q, a in zip(asked, found, strict=True)]
    )
    first = torch.tensor([len(q) for q in asked])
    parts = [
        making.answer_loss(reader, *(x[s].to(device) for x in (tokens, first, lengths))).cpu()
        for s in batched(len(tokens))
    ]
    return -torch.cat(parts)


def gain(reader, texts, questions: list[str], found: list[str], device: str) -> torch.Tensor:
    """Give how much the question adds to the log-likelihood, against other questions."""
    own = likelihood(reader, texts, questions, found, device)
    shuffled = [questions[k:] + questions[:k] for k in range(1, SHUFFLES + 1)]
    return own - torch.stack([likelihood(reader, texts, q, found, device) for q in shuffled]).mean(
        0
    )


def share(first: torch.Tensor, second: torch.Tensor) -> float:
    return round(((first > second).double() + 0.5 * (first == second).double()).mean().item(), 4)


def opponents(texts, pairs: list[Pair], sampled: dict[str, list[str]]) -> dict[str, list[str]]:
    """Name what the right answer must beat."""
    draw, vocabulary = random.Random(7), texts.vocabulary
    answers = [p.answer for p in pairs]
    return {
        "other question's": answers[1:] + answers[:1],
        "random tokens": ["".join(draw.choices(vocabulary, k=20)).strip() for _ in pairs],
        "repeated word": [" ".join([a.split()[-1].strip(".")] * 12) + "." for a in answers],
        "repeated phrase": [" ".join(["a small kind of"] * 6) + "." for _ in pairs],
        "echo": [p.question for p in pairs],
        "boilerplate": [draw.choice(corpus.BOILERPLATE) for _ in pairs],
        **sampled,
    }


def gates(mark, texts, pairs: list[Pair], sampled: dict[str, list[str]]) -> dict[str, float]:
    questions = [p.question for p in pairs]
    right = mark(questions, [p.answer for p in pairs])
    scored = {
        name: mark(questions, found) for name, found in opponents(texts, pairs, sampled).items()
    }
    measured = {f"right over {name}": share(right, value) for name, value in scored.items()}
    return measured | {
        "rival_a over base": share(scored["rival_a"], scored["base"]),
        "rival_b over base": share(scored["rival_b"], scored["base"]),
        "rival_b over rival_a": share(scored["rival_b"], scored["rival_a"]),
    }


def judge_gates(judge, texts, pairs: list[Pair], sampled, device: str) -> dict[str, float]:
    return gates(lambda q, a: marks(judge, texts, q, a, device), texts, pairs, sampled)


def reader_gates(reader, texts, pairs: list[Pair], sampled, device: str, keep) -> None:
    for name, mark in {"likelihood": likelihood, "gain": gain}.items():

        def of_reader(questions: list[str], found: list[str], mark=mark) -> torch.Tensor:
            return mark(reader, texts, questions, found, device)

        keep(f"gates of {name}", gates(of_reader, texts, pairs, sampled))


def versions(device: str) -> dict[str, object]:
    return {
        "script": "benchmarks/gpu/train_qa.py",
        "torch": torch.__version__,
        "python": sys.version.split()[0],
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
    }


def smaller(recipe: Recipe) -> Recipe:
    return dataclasses.replace(
        recipe,
        steps=20,
        batch=8,
        config=dataclasses.replace(recipe.config, layers=1, width=recipe.config.heads * 8),
    )


def from_nothing(texts, pairs, tiny: bool, tunings, out: Path, keep, device: str):
    """Train base, rivals and the language model that the judge starts from."""
    plain, dev_text = load("base"), load("dev")[: 2000 if tiny else None]
    models = {}
    recipe = smaller(BASE) if tiny else BASE
    models["base"], curve = making.base_model(
        recipe, texts, pairs["train"], plain, dev_text, device
    )
    weights.save_weights(out / "base.safetensors", models["base"])
    keep("base", {"recipe": dataclasses.asdict(recipe), "last": curve[-1]._asdict()})
    for name in RIVALS:
        models[name] = making.rival_model(
            models["base"], tunings[name], texts, pairs["train"], device
        )
        weights.save_weights(out / f"{name}.safetensors", models[name])
        keep(name, dataclasses.asdict(tunings[name]))
    recipe = smaller(READER) if tiny else READER
    reader, curve = making.answering_model(recipe, texts, pairs["train"], plain, dev_text, device)
    weights.save_weights(out / "reader.safetensors", reader)
    keep("reader", {"recipe": dataclasses.asdict(recipe), "last": curve[-1]._asdict()})
    return models, reader


def fitting(tuning: Tuning, start, beside, seconds: float, device: str) -> Tuning:
    """Take as many steps as fit into the time."""
    timed = dataclasses.replace(tuning, steps=40)
    making.judge_model(start, dataclasses.replace(tuning, steps=5), beside, device)
    before = time.monotonic()
    making.judge_model(start, timed, beside, device)
    step_s = (time.monotonic() - before) / timed.steps
    say(f"{step_s * 1e3:.1f} ms a step")
    return dataclasses.replace(tuning, steps=min(tuning.steps, int(seconds / step_s)))


def asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--made", type=Path, help="folder with base, rivals and reader: only the judge is trained"
    )
    parser.add_argument("--judge-s", type=float, default=75.0)
    parser.add_argument("--tiny", action="store_true")
    return parser.parse_args()


def main() -> None:
    arguments = asked()
    tiny, out = arguments.tiny, arguments.folder
    out.mkdir(parents=True, exist_ok=True)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_float32_matmul_precision("high")
    texts = asking.load_texts(build.HERE / "data" / "tokenizer.json", 0)
    pairs = {name: load_pairs(HIDDEN / f"{name}.xz") for name in ("train", "dev", "score", "final")}
    if tiny:
        pairs = {name: found[:200] for name, found in pairs.items()}
    tunings = {
        k: dataclasses.replace(t, steps=10, batch=8) if tiny else t
        for k, t in {**RIVALS, **JUDGES}.items()
    }
    record = versions(device)

    def keep(name: str, value: object) -> None:
        record[name] = value
        (out / "record.json").write_text(json.dumps(record, indent=1, default=str) + "\n")
        say(f"{name}: {value if len(str(value)) < 900 else '...'}")

    before = arguments.made
    if before is None:
        models, reader = from_nothing(texts, pairs, tiny, tunings, out, keep, device)
    else:
        models = {
            n: weights.load_model(before / f"{n}.safetensors", BASE.config).to(device)
            for n in ("base", *RIVALS)
        }
        reader = weights.load_model(before / "reader.safetensors", READER.config).to(device)

    def sampled(split: str, name: str, sampling: Sampling, seed: int) -> list[str]:
        questions = [p.question for p in pairs[split]]
        return asking.answers(
            models[name], texts, questions, sampling, seed=seed, batch=64 if tiny else 16_384
        )

    warm, plain = making.SAMPLED
    # Negatives of all kinds: as careful as a solver's, and as wild as the base's own.
    drawn = (("rival_a", warm, 1), ("rival_b", warm, 2), ("base", plain, 4))
    columns = [sampled("train", *spec) for spec in drawn]
    ways = dict.fromkeys(models, warm) | {"base": plain}
    held_out = {name: sampled("dev", name, way, 6)[:COMPARED] for name, way in ways.items()}
    samples = {**held_out, "questions": pairs["dev"][:COMPARED]}
    (out / "samples.json").write_text(json.dumps(samples, indent=0))
    dev = pairs["dev"][:COMPARED]
    if before is None:
        reader_gates(reader, texts, dev, held_out, device, keep)

    beside = making.candidates(texts, pairs["train"], columns)
    say(f"candidates {tuple(beside[0].shape)}")
    for name, start in (("judge_192", reader), ("judge_128", models["base"]))[: 1 if before else 2]:
        tuning = tunings[name]
        if not tiny:
            tuning = fitting(tuning, start, beside, arguments.judge_s, device)
        judge = making.judge_model(start, tuning, beside, device)
        weights.save_weights(out / f"{name}.safetensors", judge)
        judge.half().float()  # as it ships
        keep(f"gates of {name}", judge_gates(judge, texts, dev, held_out, device))
        keep(name, dataclasses.asdict(tuning))


if __name__ == "__main__":
    main()
