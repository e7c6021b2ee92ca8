"""Best-of-2 preference finetuning: write two answers, ask which is better, learn to write that one.

    python rl_finetune.py --rounds 2
"""

import argparse
import json
import random
from types import SimpleNamespace

import torch
from generation import generate
from judge import compare, left
from model import GPT, GPTConfig
from safetensors.torch import load_file, save_file
from torch.nn import functional

# What is done, and how. Change anything.
QUESTIONS = 256  # of a round
NEW_TOKENS = 60  # the scorer's number
BATCH = 16
RATE = 2e-4
SAMPLING = SimpleNamespace(temperature=1.0, top_k=0, top_p=1.0)
SIZES = json.load(open("sizes.json"))
DEVICE, END = SIZES["device"], SIZES["end"]


def load_model(file: str) -> GPT:
    model = GPT(GPTConfig(**SIZES["model"]))
    model.load_state_dict({name: value.float() for name, value in load_file(file).items()})
    return model.to(DEVICE)


def save_model(model: GPT, file: str) -> None:
    """Write the weights as they are submitted: the same names and shapes, in float16."""
    half = {name: value.half().cpu().contiguous() for name, value in model.state_dict().items()}
    save_file(half, file)


def answers(model: GPT, prompts: list[list[int]], draw: torch.Generator) -> list[list[int]]:
    """Write one answer to each prompt, as tokens; the end is not among them."""
    model.eval()
    return generate(
        model, prompts, new_tokens=NEW_TOKENS, end=END, sampling=SAMPLING, draw=draw
    )


def better_ones(model: GPT, prompts: list[dict], draw: torch.Generator) -> list[tuple]:
    """Give (prompt tokens, tokens of the better of two answers), where there is a better one."""
    chosen = random.sample(range(len(prompts)), QUESTIONS)
    asked = [prompts[i]["tokens"] for i in chosen]
    first, second = answers(model, asked, draw), answers(model, asked, draw)
    verdicts = compare(list(zip(chosen, first, second)))
    print(f"{verdicts.count(0.5)} of {QUESTIONS} pairs tie", flush=True)
    return [
        (prompt, one if verdict == 1 else other)
        for prompt, one, other, verdict in zip(asked, first, second, verdicts)
        if verdict != 0.5
    ]


def loss_of(model: GPT, rows: list[tuple]) -> torch.Tensor:
    """Give the mean cross-entropy of the answers' tokens, and of the end if they have one."""
    longest = max(len(prompt) + len(answer) for prompt, answer in rows) + 1
    tokens = torch.full((len(rows), longest), END)
    targets = torch.full((len(rows), longest), -100)
    for i, (prompt, answer) in enumerate(rows):
        ended = [*answer, END] if len(answer) < NEW_TOKENS else answer
        row = torch.tensor([*prompt, *ended])
        tokens[i, : len(row)] = row
        targets[i, len(prompt) : len(row)] = row[len(prompt) :]
    logits = model(tokens[:, :-1].to(DEVICE))
    return functional.cross_entropy(logits.flatten(0, 1), targets[:, 1:].flatten().to(DEVICE))


def learn(model: GPT, rows: list[tuple]) -> None:
    """Go over the better answers once."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    model.train()
    random.shuffle(rows)
    for first in range(0, len(rows), BATCH):
        loss = loss_of(model, rows[first : first + BATCH])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()
    print(f"loss of the last batch {loss.item():.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--init", default="base_model.safetensors")
    parser.add_argument("--rounds", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    model, draw = load_model(arguments.init), torch.Generator(DEVICE).manual_seed(0)
    prompts = [json.loads(line) for line in open("prompts.jsonl", encoding="utf-8")]
    for number in range(arguments.rounds):
        print(f"round {number + 1}: the judge has {left()['left']} comparisons left", flush=True)
        learn(model, better_ones(model, prompts, draw))
        save_model(model, "model.safetensors")


if __name__ == "__main__":
    main()
