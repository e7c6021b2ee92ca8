"""The model on rows without padding: linear layers see real tokens only.

Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51
"""

import torch
from torch.nn import functional as F


class Layout:
    """Where the tokens of a batch lie when its rows stand one behind the other."""

    def __init__(self, rows, device):
        lengths = [len(tokens) for tokens, _ in rows]
        self.longest, self.rows = max(lengths), len(rows)
        positions = torch.cat([torch.arange(n) for n in lengths])
        owners = torch.repeat_interleave(torch.arange(len(rows)), torch.tensor(lengths))
        learned, labels, start = [], [], 0
        for tokens, first in rows:
            learned += range(start + first - 1, start + len(tokens) - 1)
            labels += tokens[first:]
            start += len(tokens)
        tokens = torch.tensor([t for row, _ in rows for t in row])
        self.tokens, self.positions = tokens.to(device), positions.to(device)
        self.slots = (owners * self.longest + positions).to(device)
        self.learned, self.labels = torch.tensor(learned), torch.tensor(labels)
        self.learned, self.labels = self.learned.to(device), self.labels.to(device)

    def pad(self, x):
        padded = x.new_zeros(self.rows * self.longest, x.shape[-1])
        return padded.index_copy(0, self.slots, x).view(self.rows, self.longest, -1)

    def unpad(self, x):
        return x.reshape(self.rows * self.longest, -1).index_select(0, self.slots)


def attend(qkv, layout, heads):
    """Causal attention within each row; padding stands behind, so nobody sees it."""
    b, t, width = layout.rows, layout.longest, qkv.shape[-1] // 3
    split = layout.pad(qkv).view(b, t, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
    mixed = F.scaled_dot_product_attention(split[0], split[1], split[2], is_causal=True)
    return layout.unpad(mixed.transpose(1, 2))


def norm(x, weight):
    return F.layer_norm(x, weight.shape, weight, None, 1e-5)


def loss_sum(weights, sizes, layout, smoothing, z_loss):
    """Sum the loss of a batch over its targets."""
    w = lambda name: weights["transformer." + name]
    x = F.embedding(layout.tokens, w("wte.weight")) + F.embedding(layout.positions, w("wpe.weight"))
    for i in range(sizes["n_layers"]):
        part = lambda name: w(f"blocks.{i}.{name}.weight")
        qkv = F.linear(norm(x, part("norm_1")), part("attn.Wqkv"))
        x = x + F.linear(attend(qkv, layout, sizes["n_heads"]), part("attn.out_proj"))
        hidden = F.linear(norm(x, part("norm_2")), part("ffn.up_proj"))
        x = x + F.linear(F.gelu(hidden, approximate="tanh"), part("ffn.down_proj"))
    x = norm(x.index_select(0, layout.learned), w("norm_f.weight"))
    logits = F.linear(x, w("wte.weight")).float()
    loss = F.cross_entropy(logits, layout.labels, label_smoothing=smoothing, reduction="sum")
    if z_loss:
        loss = loss + z_loss * torch.logsumexp(logits, dim=-1).square().sum()
    return loss
