"""Ways to find the secret order without training anything, for tests to measure."""

import random
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from openrebench.environments.fix_embedding.hidden import matching
from openrebench.textbase.gpt import GPT

FIRST = (100, 300, 800)  # frequent tokens that are deciphered before all the others


def seeded(count: int, vocabulary: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield what common generators give for the first seeds."""
    for seed in range(count):
        yield f"numpy default_rng({seed})", np.random.default_rng(seed).permutation(vocabulary)
        yield f"numpy RandomState({seed})", np.random.RandomState(seed).permutation(vocabulary)
        draw = torch.Generator().manual_seed(seed)
        yield f"torch manual_seed({seed})", torch.randperm(vocabulary, generator=draw).numpy()
        shuffled = list(range(vocabulary))
        random.Random(seed).shuffle(shuffled)
        yield f"random.seed({seed})", np.array(shuffled)


def by_keys(rows: Tensor) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the orders in which rows stand, or would stand if sorted by something simple."""
    yield "as they are", np.arange(len(rows))
    yield "backwards", np.arange(len(rows))[::-1]
    keys: dict[str, Callable[[Tensor], Tensor]] = {
        "norm": lambda r: r.norm(dim=1),
        "sum": lambda r: r.sum(1),
        "first value": lambda r: r[:, 0],
        "largest value": lambda r: r.max(1).values,
        "place of the largest": lambda r: r.argmax(1).double(),
    }
    for name, key in keys.items():
        for down in (False, True):
            yield f"by {name}, {down=}", key(rows).argsort(descending=down).numpy()
    raw = [row.numpy().tobytes() for row in rows.half()]
    yield "by bytes", np.array(sorted(range(len(raw)), key=raw.__getitem__))


def by_gram(little: GPT, damaged: GPT) -> Tensor:
    """Match the two embeddings by how each row lies to all others of its own."""
    return _matched(*(m.tokens.weight @ m.tokens.weight.T for m in (little, damaged)))


def by_frequency(damaged: GPT, tokens: Tensor) -> Tensor:
    """Match the most frequent token with the row that the model thinks most frequent, and so on."""
    shares = _shares(matching._predictions(damaged).exp())
    counts = torch.bincount(tokens, minlength=len(shares))
    found = torch.empty(len(shares), dtype=torch.int64)
    found[counts.argsort(descending=True)] = shares.argsort(descending=True)
    return found


def by_deciphering(damaged: GPT, tokens: Tensor, steps: int = 20) -> Tensor:
    """Take the text for a cipher and the damaged model's table for its language.

    Expectation maximisation over soft assignments (rows and columns sum to one), for the frequent
    tokens first; only the damaged model and the text are used.
    """
    table = matching._predictions(damaged)
    count = len(table)
    joint = (table.exp() * _shares(table.exp())[:, None] + 1e-7).log()
    pairs = torch.zeros(count, count)
    pairs.index_put_((tokens[:-1], tokens[1:]), torch.ones(len(tokens) - 1), accumulate=True)
    often, likely = torch.bincount(tokens, minlength=count), _shares(table.exp())
    by_rank = -(((often + 1.0).log()[:, None] - (likely * len(tokens) + 1).log()) ** 2)
    known, rows, soft = None, None, None
    for size in (*FIRST, count):
        token = often.argsort(descending=True)[:size]
        row = likely.argsort(descending=True)[:size]
        prior = by_rank[token][:, row]
        if known is None:
            now = _doubly_stochastic(2 * prior)
        else:
            now = _step(pairs, joint, (token, known), (row, rows), soft, prior, 1.0)
        for k in range(steps):
            heat = 0.3 * 10 ** (k / steps)
            now = _step(pairs, joint, (token, token), (row, row), now, 0.3 * prior, heat)
        known, rows, soft = token, row, now
    found = torch.empty(count, dtype=torch.int64)
    found[token] = row[now.argmax(1)]
    return found


def _step(pairs, joint, tokens, rows, soft, prior, heat) -> Tensor:
    """Score each token with each row by the pairs it stands in, given a soft assignment."""
    (mine, others), (row, other_rows) = tokens, rows
    after, before = pairs[mine][:, others], pairs[others][:, mine]
    score = after @ soft @ joint[row][:, other_rows].T + before.T @ soft @ joint[other_rows][:, row]
    seen = (after.sum(1) + before.sum(0)).clamp(min=1)
    score = score / seen.sqrt()[:, None]
    return _doubly_stochastic((score - score.mean(1, keepdim=True)) * heat + prior)


def _doubly_stochastic(scores: Tensor) -> Tensor:
    for _ in range(20):
        scores = scores - scores.logsumexp(1, keepdim=True)
        scores = scores - scores.logsumexp(0, keepdim=True)
    return scores.exp()


def _shares(table: Tensor) -> Tensor:
    """Give how often each token comes in the long run, by a table of next-token probabilities."""
    shares = torch.full((len(table),), 1 / len(table))
    for _ in range(50):
        shares = shares @ table
    return shares


def _matched(a: Tensor, b: Tensor) -> Tensor:
    similarity = -torch.cdist(matching._signature(a), matching._signature(b))
    for _ in range(8):
        similarity = matching._by_matched_columns(a, b, similarity)
    return similarity.argmax(1)


def cosine_to_small(little: GPT, damaged: GPT) -> Tensor:
    """Match by the leading directions alone, as if both embeddings had the same axes."""
    a, b = (
        torch.linalg.svd(m.tokens.weight - m.tokens.weight.mean(0))[0] for m in (little, damaged)
    )
    width = little.config.width
    return (functional.normalize(a[:, :width]) @ functional.normalize(b[:, :width]).T).argmax(1)
