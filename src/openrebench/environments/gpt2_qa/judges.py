"""The judges: a small model that ships, SmolLM2, and any model that Inspect can reach."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, final

import torch
from safetensors.torch import load

from openrebench.environments.gpt2_qa.judge_model import JudgeModel, padded
from openrebench.environments.gpt2_qa.judging import Comparison
from openrebench.environments.gpt2_qa.questions import prompt

if TYPE_CHECKING:
    from openrebench.environments.gpt2_qa.asking import Texts
    from openrebench.textbase.gpt import GPTConfig

BATCH = 64
REMEMBERED = 50_000


@final
class MarkJudge:
    """Prefers the answer to which its model gives the better mark. Order can't matter to it.

    Args:
        model: In evaluation mode, on any device.
        texts: Its tokenizer.
    """

    def __init__(self, model: JudgeModel, texts: "Texts") -> None:
        self._model, self._texts = model, texts
        self._known: dict[tuple[str, str], float] = {}

    def verdicts(self, comparisons: Sequence[Comparison]) -> list[float]:
        """Compare marks; equal marks tie (see `judging.Judge`)."""
        if len(self._known) > REMEMBERED:
            self._known.clear()
        wanted = [(c.question, answer) for c in comparisons for answer in (c.first, c.second)]
        self._mark([key for key in dict.fromkeys(wanted) if key not in self._known])
        marks = [self._known[key] for key in wanted]
        pairs = zip(marks[::2], marks[1::2], strict=True)
        return [0.5 + 0.5 * ((first > second) - (first < second)) for first, second in pairs]

    @torch.no_grad()
    def _mark(self, new: list[tuple[str, str]]) -> None:
        rows = self._rows(new)
        order = sorted(range(len(new)), key=lambda i: len(rows[i]))  # little padding in a batch
        device = self._model.mark.weight.device
        for first in range(0, len(new), BATCH):
            chosen = order[first : first + BATCH]
            tokens, lengths = padded([rows[i] for i in chosen])
            marks = self._model(tokens.to(device), lengths.to(device)).tolist()
            self._known.update(zip((new[i] for i in chosen), marks, strict=True))

    def _rows(self, pairs: list[tuple[str, str]]) -> list[list[int]]:
        questions = self._texts.encode_all([prompt(question) for question, _ in pairs])
        answers = self._texts.encode_all([f" {answer}" for _, answer in pairs])
        return [self._texts.marked(q, a) for q, a in zip(questions, answers, strict=True)]


@cache
def load_judge_model(path: Path, config: "GPTConfig", device: str) -> JudgeModel:
    """Read a judge of ours, in fp32 and evaluation mode."""
    model = JudgeModel(config)
    model.load_state_dict({name: value.float() for name, value in load(path.read_bytes()).items()})
    return model.eval().to(device)
