"""Write answers with a GPT: sampling with a cache of keys and values, many prompts at a time.

Needs torch, so import it only where a model is really used.
"""

from __future__ import annotations  # so that a copy in a workspace needs nothing of the package

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

import torch
from torch import Tensor
from torch.nn import functional

if TYPE_CHECKING:
    from openrebench.environments.gpt2_qa.sampling import Sampling
    from openrebench.textbase.gpt import GPT, Attention, Block

DROPPED_SHARE = 0.2  # of the rows; when more have ended, only the others go on


class _Cache(NamedTuple):
    """Keys and values of all positions so far, (layers, b, heads, longest, width of a head)."""

    keys: Tensor
    values: Tensor

    @classmethod
    def empty(cls, model: GPT, rows: int, longest: int) -> _Cache:
        c, like = model.config, model.tokens.weight
        shape = (c.layers, rows, c.heads, longest, c.width // c.heads)
        return cls(like.new_zeros(shape), like.new_zeros(shape))

    def of(self, rows: Tensor) -> _Cache:
        """Keep some rows."""
        return _Cache(self.keys[:, rows], self.values[:, rows])


@torch.no_grad()
def generate(
    model: GPT,
    prompts: Sequence[Sequence[int]],
    *,
    new_tokens: int,
    end: int,
    sampling: Sampling,
    draw: torch.Generator,
) -> list[list[int]]:
    """Continue prompts until each has ended or has all its new tokens.

    Args:
        model: In evaluation mode, on any device.
        prompts: Token ids; the longest and the new ones together fit the model's context.
        new_tokens: Most tokens of a continuation.
        end: Token that ends a continuation; it is not part of what is returned.
        sampling: How the next token is drawn.
        draw: Source of randomness, on the model's device.

    Returns:
        The new tokens of every prompt.
    """
    tokens, padding = _padded(prompts, model.tokens.weight.device)
    rows, given = tokens.shape
    cache = _Cache.empty(model, rows, given + new_tokens)
    written = tokens.new_full((rows, new_tokens), end)
    alive, done = torch.arange(rows, device=tokens.device), padding < 0
    start = 0
    for step in range(new_tokens):
        following = sample(_next_logits(model, tokens, padding, cache, start), sampling, draw)
        start, tokens = given + step, following[:, None]
        written[alive, step] = following
        done = done | (following == end)
        if bool(done.all()):
            break
        if done.float().mean() > DROPPED_SHARE:
            kept = ~done
            cache, done = cache.of(kept), done[kept]
            tokens, padding, alive = tokens[kept], padding[kept], alive[kept]
    return [row[: row.index(end)] if end in row else row for row in written.tolist()]


def sample(logits: Tensor, sampling: Sampling, draw: torch.Generator) -> Tensor:
    """Draw one token a row: the `top_k` likeliest, of these the fewest that hold `top_p`.

    Args:
        logits: (b, vocabulary).
        sampling: Temperature 0 takes the likeliest token.
        draw: Source of randomness.

    Returns:
        (b,), int64.
    """
    if sampling.temperature == 0:
        return logits.argmax(1)
    shares, tokens = (logits.float() / sampling.temperature).softmax(1), None
    if sampling.top_k or sampling.top_p < 1:
        count = min(sampling.top_k or logits.shape[1], logits.shape[1])
        shares, tokens = shares.topk(count, 1)
        shares = shares / shares.sum(1, keepdim=True)
        before = shares.cumsum(1) - shares
        shares = torch.where(before < sampling.top_p, shares, 0.0)
    reached = shares.cumsum(1)
    aim = reached[:, -1:] * torch.rand(len(shares), 1, generator=draw, device=shares.device)
    index = torch.searchsorted(reached, aim, right=True).clamp(max=shares.shape[1] - 1)
    return index[:, 0] if tokens is None else tokens.gather(1, index)[:, 0]


def _padded(prompts: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Put prompts side by side, filled up on the left; gives tokens (b, t) and padding (b,)."""
    longest = max(map(len, prompts))
    rows = [[0] * (longest - len(prompt)) + list(prompt) for prompt in prompts]
    padding = [longest - len(prompt) for prompt in prompts]
    return torch.tensor(rows, device=device), torch.tensor(padding, device=device)


def _next_logits(model: GPT, tokens: Tensor, padding: Tensor, cache: _Cache, start: int) -> Tensor:
    """Run the model on new tokens after `start` earlier ones; gives the last position's logits."""
    reached = start + tokens.shape[1]
    here = torch.arange(start, reached, device=tokens.device)
    seen = torch.arange(reached, device=tokens.device)
    visible = (seen[None] <= here[:, None])[None] & (seen >= padding[:, None])[:, None]
    visible = visible | (seen[None] == here[:, None])[None]  # padding sees itself, to stay finite
    positions = (here[None] - padding[:, None]).clamp(min=0)
    x = model.tokens(tokens) + model.positions(positions)
    for layer, block in enumerate(cast("Iterable[Block]", model.blocks)):
        memory = cache.keys[layer, :, :, :reached], cache.values[layer, :, :, :reached]
        x = x + _attend(block.attention, block.norm_1(x), memory, start, visible[:, None])
        hidden = functional.gelu(block.up(block.norm_2(x)), approximate="tanh")
        x = x + block.down(hidden)
    return functional.linear(model.norm(x[:, -1]), model.tokens.weight)


def _attend(
    attention: Attention, x: Tensor, memory: tuple[Tensor, Tensor], start: int, visible: Tensor
) -> Tensor:
    """Let new positions look at all visible ones, and note their keys and values."""
    b, t, width = x.shape
    heads = attention.heads
    q, k, v = attention.qkv(x).view(b, t, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
    keys, values = memory
    keys[:, :, start:], values[:, :, start:] = k, v
    mixed = functional.scaled_dot_product_attention(q, keys, values, attn_mask=visible)
    joined: Tensor = attention.out(mixed.transpose(1, 2).reshape(b, t, width))
    return joined
