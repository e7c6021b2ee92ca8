# OpenRE-Bench hidden material. Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51: do not publish, do not train on.
"""Train the base model, the supervised-finetuned rival and the judge.

`benchmarks/gpu/train_qa.py` runs this for the models that ship.
"""

import dataclasses
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from openrebench.environments.gpt2_qa.asking import MAX_QUESTION_TOKENS, NEW_TOKENS, Texts
from openrebench.environments.gpt2_qa.hidden import corpus
from openrebench.environments.gpt2_qa.judge_model import JudgeModel, padded
from openrebench.environments.gpt2_qa.questions import Pair, prompt
from openrebench.environments.gpt2_qa.sampling import Sampling
from openrebench.textbase import training
from openrebench.textbase.gpt import GPT
from openrebench.textbase.training import Recipe

CLIP_NORM = 1.0
SAMPLED = (Sampling(0.7, 40, 1.0), Sampling(1.0, 0, 1.0))  # what the judge learns to look through
LONGEST = MAX_QUESTION_TOKENS + NEW_TOKENS + 1  # tokens of a question with an answer, ended
OTHERS = 10  # right answers to other questions, beside every question
SHOWN = 5  # of these in a step
READING = 0.3  # weight of predicting right answers while learning to judge
CHANCE_SEED = 20261130


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """How a model is trained further.

    Args:
        steps: Optimiser steps.
        batch: Questions of a step.
        rate: Peak learning rate.
        pairs: Questions used, or None for all.
    """

    steps: int
    batch: int
    rate: float
    pairs: int | None = None


def base_model(
    recipe: Recipe, texts: Texts, pairs: Sequence[Pair], plain: Tensor, dev: Tensor, device: str
) -> tuple[GPT, list[training.Point]]:
    """Train the model that attempts start from: plain text, and pages with questions."""
    draw = random.Random(CHANCE_SEED)
    snippets = [texts.decode(plain[i : i + 30].tolist()) for i in range(0, 300_000, 300)]
    written = texts.joined(corpus.pages(pairs, [s.replace("\n", " ") for s in snippets], draw))
    return training.train(recipe, torch.cat([plain, written]), dev, device)


def answering_model(
    recipe: Recipe, texts: Texts, pairs: Sequence[Pair], plain: Tensor, dev: Tensor, device: str
) -> tuple[GPT, list[training.Point]]:
    """Train a model on plain text and right answers from the beginning."""
    order = list(pairs)
    random.Random(CHANCE_SEED).shuffle(order)
    written = texts.joined([corpus.conversation(pair) for pair in order])
    return training.train(recipe, torch.cat([plain, written, written]), dev, device)


def rival_model(base: GPT, tuning: Tuning, texts: Texts, pairs: Sequence[Pair], device: str) -> GPT:
    """Finetune the base on some right answers; only answers count in the loss."""
    model = GPT(base.config).to(device)
    model.load_state_dict(base.state_dict())
    rows = [texts.dialogue(p.question, p.answer) for p in pairs[: tuning.pairs]]
    tokens, lengths = padded(rows)
    first = torch.tensor([len(texts.encode(prompt(p.question))) for p in pairs[: tuning.pairs]])
    at = torch.arange(1, tokens.shape[1])
    counted = (at >= first[:, None]) & (at < lengths[:, None])
    targets = torch.where(counted, tokens[:, 1:], -100).to(device)
    tokens = tokens.to(device)

    def loss(chosen: Tensor) -> Tensor:
        logits = model(tokens[chosen, :-1]).float()
        return functional.cross_entropy(logits.flatten(0, 1), targets[chosen].flatten())

    tune(model, tuning, len(rows), loss, device)
    return model.eval()


def tune(
    model: torch.nn.Module,
    tuning: Tuning,
    count: int,
    loss_of: Callable[[Tensor], Tensor],
    device: str,
) -> None:
    """Train on batches of row numbers below `count`: linear rise, cosine fall."""
    draw = torch.Generator(device).manual_seed(CHANCE_SEED)
    optimiser = torch.optim.AdamW(model.parameters(), lr=tuning.rate, betas=(0.9, 0.98), weight_decay=0.05)
    model.train()
    for step in range(1, tuning.steps + 1):
        for group in optimiser.param_groups:
            group["lr"] = tuning.rate * min(1.0, step / 50) * training.schedule(step + 200, tuning.steps + 200)
        chosen = torch.randint(count, (tuning.batch,), generator=draw, device=device)
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            loss = loss_of(chosen)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP_NORM)
        optimiser.step()
        optimiser.zero_grad()
        if step % max(1, tuning.steps // 8) == 0:
            print(f"  step {step}: loss {loss.item():.4f}", flush=True)


def candidates(
    texts: Texts, pairs: Sequence[Pair], samples: Sequence[Sequence[str]]
) -> tuple[Tensor, Tensor, list[list[int]]]:
    """Put answers beside every question: right, others', samples of models, spoiled.

    Args:
        texts: Encodes.
        pairs: Questions with right answers.
        samples: For every model, its answer to every question.

    Returns:
        Tokens (n, answers, t), int16; lengths (n, answers); groups of columns of which a step
        takes one each.
    """
    draw, vocabulary = random.Random(CHANCE_SEED), texts.vocabulary
    answers = _encoded(texts, [p.answer for p in pairs])
    shuffles = [draw.sample(range(len(pairs)), len(pairs)) for _ in range(OTHERS)]
    columns = [answers, *([answers[i] for i in shuffle] for shuffle in shuffles)]
    columns += [_encoded(texts, column) for column in samples]
    for shuffle in shuffles[:3]:
        beside = zip(pairs, (pairs[i] for i in shuffle), strict=True)
        spoiled = [corpus.spoiled(p, other, vocabulary, draw) for p, other in beside]
        columns.append(_encoded(texts, spoiled))
    questions = texts.encode_all([prompt(p.question) for p in pairs])
    tokens = np.zeros((len(pairs), len(columns), LONGEST), np.int16)
    lengths = np.zeros(tokens.shape[:2], np.int64)
    for c, column in enumerate(columns):
        for i, (question, answer) in enumerate(zip(questions, column, strict=True)):
            row = texts.marked(question, answer)
            tokens[i, c, : len(row)], lengths[i, c] = row, len(row)
    end = 1 + OTHERS + len(samples)
    groups = [[*range(1 + k, 1 + OTHERS, SHOWN)] for k in range(SHOWN)]
    groups += [[c] for c in range(1 + OTHERS, end)]
    groups.append([*range(end, len(columns))])
    return torch.from_numpy(tokens[:, :, : lengths.max()]), torch.from_numpy(lengths), groups


def _encoded(texts: Texts, answers: Sequence[str]) -> list[list[int]]:
    return texts.encode_all([f" {answer}" for answer in answers])


def judge_model(
    start: GPT,
    tuning: Tuning,
    beside: tuple[Tensor, Tensor, list[list[int]]],
    device: str,
    dropout: float = 0.1,
) -> JudgeModel:
    """Train a judge to find the right answer among others, from a language model's weights."""
    judge = JudgeModel(dataclasses.replace(start.config, dropout=dropout)).to(device)
    judge.trunk.load_state_dict(start.state_dict())
    tokens, lengths = (part.to(device) for part in beside[:2])
    groups = beside[2]
    draw = torch.Generator(device).manual_seed(CHANCE_SEED)

    def loss(chosen: Tensor) -> Tensor:
        picks = [torch.zeros_like(chosen)]
        for group in groups:
            which = torch.randint(len(group), chosen.shape, generator=draw, device=device)
            picks.append(torch.tensor(group, device=device)[which])
        columns, rows = torch.stack(picks, 1), chosen[:, None]
        seen, ends = tokens[rows, columns].flatten(0, 1).long(), lengths[rows, columns].flatten()
        hidden = judge.hidden(seen)
        marks = judge.mark(hidden[torch.arange(len(hidden), device=device), ends - 1])
        right = torch.arange(0, len(seen), columns.shape[1], device=device)
        read = _reading_loss(judge.trunk, hidden[right], seen[right], ends[right])
        marks = marks.view(columns.shape).float()
        return functional.cross_entropy(marks, torch.zeros_like(chosen)) + READING * read

    tune(judge, tuning, len(tokens), loss, device)
    return judge.eval()


def _reading_loss(trunk: GPT, hidden: Tensor, tokens: Tensor, ends: Tensor) -> Tensor:
    """Keep a judge able to predict right answers: what it knows of words comes from there."""
    logits = functional.linear(hidden[:, :-1], trunk.tokens.weight).float()
    at = torch.arange(1, tokens.shape[1], device=tokens.device)
    targets = torch.where(at < ends[:, None], tokens[:, 1:], -100)
    return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


@torch.no_grad()
def answer_loss(model: GPT, tokens: Tensor, first: Tensor, lengths: Tensor) -> Tensor:
    """Give the mean loss in nats of each row's tokens from `first` to its length.

    Args:
        tokens: (b, t), int64, filled up on the right.
        first: (b,), int64, index of the first token that counts, at least 1.
        lengths: (b,), int64.

    Returns:
        (b,).
    """
    logits = model(tokens[:, :-1]).float()
    losses = functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), reduction="none")
    at = torch.arange(1, tokens.shape[1], device=tokens.device)
    counted = (at >= first[:, None]) & (at < lengths[:, None])
    return (losses.view(len(tokens), -1) * counted).sum(1) / counted.sum(1)
