# OpenRE-Bench hidden material. Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51: do not publish, do not train on.
"""Guess which row of the damaged embedding belongs to which token, by statistics alone.

Both models, given one token, predict the next one nearly as bigram counts would. The two tables of
predictions are therefore the same table, noise aside, but for an unknown order of one's rows and
columns. First rows are matched by their sorted values, which no order can change; then by their
values in the columns that are matched so far; at last by a linear map from the small embedding.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from openrebench.textbase.gpt import GPT

ROUNDS, MAPS = 4, 7
QUANTILES = 64
TOP = 32
NEIGHBOURS = 10  # for correcting for rows that are near to everything
RIDGE = 5.0


class Guess(NamedTuple):
    """What statistics say of each token.

    Attributes:
        rows: (v,), int64: the row of the damaged embedding that looks most like the token's own.
        sure: (v, 1), 1.0 where the row's nearest token is this one, else 0.0.
        mapped: (v, width): the small embedding, mapped to the large one's space.
    """

    rows: Tensor
    sure: Tensor
    mapped: Tensor


@torch.no_grad()
def guess(damaged: GPT, little: GPT) -> Guess:
    """Match all tokens with rows in a few seconds, without training anything."""
    a, b = _predictions(little), _predictions(damaged)
    similarity = -torch.cdist(_signature(a), _signature(b))
    for _ in range(ROUNDS):
        similarity = _by_matched_columns(a, b, similarity)
    rows, pairs = matched(similarity)
    for _ in range(MAPS):
        mapped = _mapped(little.tokens.weight, damaged.tokens.weight, pairs, rows[pairs])
        rows, pairs = matched(corrected(cosine(mapped, damaged.tokens.weight)))
    return Guess(rows, sure(rows, pairs), mapped)


def sure(rows: Tensor, pairs: Tensor) -> Tensor:
    """Give 1.0 for the tokens among `pairs` and 0.0 for the others, (v, 1)."""
    found = torch.zeros(len(rows), 1, device=rows.device)
    found[pairs] = 1.0
    return found


def _predictions(model: GPT) -> Tensor:
    """Give log-probabilities of the next token after one token, (v, v)."""
    device = model.positions.weight.device
    alone = torch.arange(model.config.vocabulary, device=device)[:, None]
    return functional.log_softmax(model(alone)[:, 0], -1)


def _signature(table: Tensor) -> Tensor:
    """Describe each token in a way that does not depend on the order of the others."""
    count = len(table)
    ranks = torch.cat([torch.arange(TOP), torch.linspace(0, count - 1, QUANTILES).long()])
    ranks = ranks.to(table.device)
    views = (table, table.T, table - table.mean(0))
    parts = [view.sort(1, descending=True).values[:, ranks] for view in views]
    parts += [table.diagonal()[:, None], table.mean(0)[:, None]]
    joined = torch.cat(parts, 1)
    return (joined - joined.mean(0)) / joined.std(0)


def _by_matched_columns(a: Tensor, b: Tensor, similarity: Tensor) -> Tensor:
    rows, pairs = matched(similarity)
    total = torch.zeros_like(similarity)
    for left, right in ((a, b), (a.T, b.T)):
        left, right = left - left.mean(0), right - right.mean(0)
        total += _correlation(left[:, pairs], right[:, rows[pairs]])
    return corrected(total)


def matched(similarity: Tensor) -> tuple[Tensor, Tensor]:
    """Give each token's nearest row, and the tokens for which that is mutual."""
    rows = similarity.argmax(1)
    mutual = similarity.argmax(0)[rows] == torch.arange(len(rows), device=rows.device)
    return rows, mutual.nonzero()[:, 0]


def _mapped(little: Tensor, damaged: Tensor, pairs: Tensor, rows: Tensor) -> Tensor:
    """Map the small embedding to the large one's space by ridge regression on the matched pairs."""
    scaled = (little - little.mean(0)) / little.std(0)
    x = torch.cat([scaled, torch.ones_like(scaled[:, :1])], 1)
    known = x[pairs]
    system = known.T @ known + RIDGE * torch.eye(x.shape[1], device=x.device)
    return x @ torch.linalg.solve(system, known.T @ damaged[rows])


def cosine(a: Tensor, b: Tensor) -> Tensor:
    a, b = a - a.mean(0), b - b.mean(0)
    return functional.normalize(a, dim=1) @ functional.normalize(b, dim=1).T


def _correlation(a: Tensor, b: Tensor) -> Tensor:
    a, b = a - a.mean(1, keepdim=True), b - b.mean(1, keepdim=True)
    return functional.normalize(a, dim=1) @ functional.normalize(b, dim=1).T


def corrected(similarity: Tensor) -> Tensor:
    """Take away what a row, or a column, has in common with its nearest ones anyway."""
    by_row = similarity.topk(NEIGHBOURS, 1).values.mean(1, keepdim=True)
    by_column = similarity.topk(NEIGHBOURS, 0).values.mean(0, keepdim=True)
    return 2 * similarity - by_row - by_column
