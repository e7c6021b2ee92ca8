# OpenRE-Bench hidden material. Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51: do not publish, do not train on.
"""Rounds of: many answers to every question, a knock-out among them, supervised steps on winners.

    python solve.py --rounds 6 [--done 4]     # the second goes on from round-4.safetensors

Runs in a workspace, beside the starter's rl_finetune.py, whose helpers it uses.
"""

import argparse
import json
import random
import time
from types import SimpleNamespace

import rl_finetune as starter
import torch
from generation import generate
from judge import compare, left

QUESTIONS = 256  # of a round
WAYS = 8  # answers to each
NEW_TOKENS = 40  # answers are short: the rest would be cut off or wasted
AT_ONCE = 1024
PASSES = 2
RATE = 3e-4
EXPLORING = SimpleNamespace(temperature=1.0, top_k=0, top_p=0.95)
CANARY = "Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51"
SUBMITTED = {"temperature": 0.7, "top_k": 50, "top_p": 1.0, "note": CANARY}


def candidates(model, asked: list[list[int]], draw: torch.Generator) -> list[list[list[int]]]:
    """Write WAYS answers to each prompt."""
    model.eval()
    prompts = [prompt for prompt in asked for _ in range(WAYS)]
    found = []
    for first in range(0, len(prompts), AT_ONCE):
        found += generate(
            model, prompts[first : first + AT_ONCE],
            new_tokens=NEW_TOKENS, end=starter.END, sampling=EXPLORING, draw=draw,
        )
    return [found[i : i + WAYS] for i in range(0, len(found), WAYS)]


def knock_out(numbers: list[int], groups: list[list[list[int]]]) -> list[list[int]]:
    """Let the answers to each question meet in pairs until one is left; a tie is drawn by lot."""
    while len(groups[0]) > 1:
        half = len(groups[0]) // 2
        meetings = [
            (number, group[2 * i], group[2 * i + 1])
            for number, group in zip(numbers, groups) for i in range(half)
        ]
        verdicts = iter(compare(meetings))
        groups = [
            [
                group[2 * i] if next(verdicts) + random.uniform(-0.1, 0.1) > 0.5 else group[2 * i + 1]
                for i in range(half)
            ]
            for group in groups
        ]
    return [group[0] for group in groups]


def learn(model, rows: list[tuple], rate: float) -> float:
    """Take supervised steps on the winners; gives the last loss."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.98), weight_decay=0.01)
    model.train()
    for _ in range(PASSES):
        random.shuffle(rows)
        for first in range(0, len(rows), starter.BATCH):
            loss = starter.loss_of(model, rows[first : first + starter.BATCH])
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad()
    return loss.item()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--done", type=int, default=0, help="rounds finished earlier")
    options = parser.parse_args()
    rounds, done = options.rounds, options.done
    torch.set_num_threads(1)
    torch.manual_seed(0)
    random.seed(0)
    model = starter.load_model(f"round-{done}.safetensors" if done else "base_model.safetensors")
    draw = torch.Generator(starter.DEVICE).manual_seed(done)
    prompts = [json.loads(line) for line in open("prompts.jsonl", encoding="utf-8")]
    order = random.sample(range(len(prompts)), len(prompts))
    started = time.monotonic()
    for number in range(done, rounds):
        chosen = [order[(number * QUESTIONS + i) % len(order)] for i in range(QUESTIONS)]
        asked = [prompts[i]["tokens"] for i in chosen]
        winners = knock_out(chosen, candidates(model, asked, draw))
        loss = learn(model, list(zip(asked, winners)), RATE * (1 - 0.5 * number / rounds))
        starter.save_model(model, f"round-{number + 1}.safetensors")
        row = {"round": number + 1, "wall_s": time.monotonic() - started,
               "cpu_s": time.process_time(), "loss": loss, **left()}
        print(json.dumps(row), flush=True)
    starter.save_model(model, "model.safetensors")
    json.dump(SUBMITTED, open("sampling.json", "w"))


if __name__ == "__main__":
    main()
