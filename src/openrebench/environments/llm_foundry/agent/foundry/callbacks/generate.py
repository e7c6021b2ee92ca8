"""Samples of what the model says now."""

from typing import Any

import torch

from foundry import distributed
from foundry.callbacks.base import Callback

PROMPTS = (
    'What does "harbour" mean?',
    'Define the verb "to wander".',
    'Give a meaning of the word "lantern".',
    "What is a bridge?",
)


class GenerateSamples(Callback):
    """Prints the likeliest continuation of some prompts, after every nth batch."""

    @torch.no_grad()
    def batch_end(self, state: Any, logger: Any) -> None:
        if not self.due(state.batch) or distributed.world_size() > 1:
            return
        state.model.eval()
        for prompt in PROMPTS[: self.settings.get("prompts", 1)]:
            text = self.config.train_loader.dataset.prompt_template.replace("{prompt}", prompt)
            ids = self.tokenizer.encode(text)
            for _ in range(self.settings.get("max_new_tokens", 16)):
                tokens = torch.tensor([ids[-self.config.max_seq_len :]], device=state.device)
                mask = torch.ones_like(tokens, dtype=torch.bool)
                logits = state.model(tokens, mask)
                ids.append(int(logits[0, -1].argmax().item()))
                if ids[-1] == self.tokenizer.eos_token_id:
                    break
            print(f"[batch {state.batch}] {self.tokenizer.decode(ids)!r}", flush=True)
