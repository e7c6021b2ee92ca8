"""Texts and tokens, and asking a model: what the trusted side does with questions and answers.

Needs torch, so import it only where a model is really used.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from openrebench.environments.gpt2_qa.generation import generate
from openrebench.environments.gpt2_qa.questions import prompt
from openrebench.environments.gpt2_qa.sampling import Sampling
from openrebench.textbase.gpt import GPT

if TYPE_CHECKING:
    from tokenizers import Tokenizer

NEW_TOKENS = 60
MAX_QUESTION_TOKENS = 64


class Texts:
    """A tokenizer, and how conversations are written in its tokens.

    Args:
        tokenizer: Encodes and decodes.
        end: Token that ends an answer.
    """

    def __init__(self, tokenizer: "Tokenizer", end: int) -> None:
        self._tokenizer, self.end = tokenizer, end

    @property
    def size(self) -> int:
        """Number of tokens."""
        count: int = self._tokenizer.get_vocab_size()
        return count

    @property
    def vocabulary(self) -> list[str]:
        """The text of every token."""
        return [self.decode([i]) for i in range(self.size)]

    def encode(self, text: str) -> list[int]:
        """Give a text's tokens."""
        found: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return found

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Give the tokens of many texts."""
        batch: list[Any] = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [encoding.ids for encoding in batch]

    def decode(self, tokens: Sequence[int]) -> str:
        """Give the text of tokens."""
        text: str = self._tokenizer.decode(list(tokens), skip_special_tokens=True)
        return text

    def said(self, tokens: Sequence[int]) -> str:
        """Give the answer that generated tokens stand for: up to the end, without space around."""
        row = list(tokens)
        return self.decode(row[: row.index(self.end)] if self.end in row else row).strip()

    def dialogue(self, question: str, answer: str) -> list[int]:
        """Write a question with its answer, ended."""
        return [*self.encode(prompt(question)), *self.encode(f" {answer}"), self.end]

    def marked(self, question: Sequence[int], answer: Sequence[int]) -> list[int]:
        """Write for the judge: the tokens of a prompt and of an answer, cut and ended."""
        return [*question[:MAX_QUESTION_TOKENS], *answer[:NEW_TOKENS], self.end]

    def joined(self, documents: Sequence[str]) -> Tensor:
        """Give (n,), int64: documents one after the other, each ended."""
        rows = self.encode_all(documents)
        return torch.tensor([token for row in rows for token in (*row, self.end)])


@cache
def load_texts(path: Path, end: int) -> Texts:
    """Load a `tokenizer.json`."""
    from tokenizers import Tokenizer

    return Texts(Tokenizer.from_file(str(path)), end)


def answers(
    model: GPT,
    texts: Texts,
    questions: Sequence[str],
    sampling: Sampling,
    *,
    seed: int,
    batch: int,
) -> list[str]:
    """Let a model answer questions.

    Args:
        model: In evaluation mode; its device computes.
        texts: Its tokenizer.
        questions: What to ask.
        sampling: How it draws tokens.
        seed: Of the drawing.
        batch: Questions at a time.

    Returns:
        An answer each, without space around it.
    """
    draw = torch.Generator(model.tokens.weight.device).manual_seed(seed)
    found: list[str] = []
    for first in range(0, len(questions), batch):
        prompts = texts.encode_all([prompt(q) for q in questions[first : first + batch]])
        rows = generate(
            model, prompts, new_tokens=NEW_TOKENS, end=texts.end, sampling=sampling, draw=draw
        )
        found += [texts.said(row) for row in rows]
    return found
