"""The judge of the self-contained sizes: a small GPT that gives an answer a mark.

Needs torch, so import it only where a model is really used.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from openrebench.textbase.gpt import GPT, GPTConfig


class JudgeModel(nn.Module):
    """A GPT whose last position is read by one linear unit instead of the vocabulary.

    Args:
        config: Sizes of the GPT.
    """

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.trunk = GPT(config)
        self.mark = nn.Linear(config.width, 1)

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Mark answers.

        Args:
            tokens: (b, t), int64: question, answer, end; filled up on the right with anything.
            lengths: (b,), int64, tokens that count.

        Returns:
            (b,), marks without a unit: only differences mean anything.
        """
        x = self.hidden(tokens)
        marks: Tensor = self.mark(x[torch.arange(len(x), device=x.device), lengths - 1])[:, 0]
        return marks

    def hidden(self, tokens: Tensor) -> Tensor:
        """Give what the last block leaves at every position. (b, t) to (b, t, width)."""
        trunk = self.trunk
        x = trunk.drop(trunk.tokens(tokens) + trunk.positions.weight[: tokens.shape[1]])
        for block in trunk.blocks:
            x = block(x)
        found: Tensor = trunk.norm(x)
        return found


def padded(rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Put token lists side by side, filled up on the right; gives (b, t) and lengths (b,)."""
    longest = max(map(len, rows))
    filled = [list(row) + [0] * (longest - len(row)) for row in rows]
    return torch.tensor(filled), torch.tensor([len(row) for row in rows])
