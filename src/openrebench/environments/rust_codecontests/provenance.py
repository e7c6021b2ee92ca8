"""Tell which lines of a program came from the model.

Programs are to be the model's. A line counts as the model's if it stood in a completion before it
stood in a prompt; so a program that a scaffold brings along, and lets a model repeat, is not.
Lines that a prompt gave (a template for reading, say) count for neither side, but they can't be
nearly all.
"""

import threading
from typing import final

from openrebench.broker.upstream import Ask, Completion, Upstream

MODEL_SHARE = 0.5  # of the lines that no prompt gave
LEAST_SHARE = 0.25  # of all lines
SHORT = 6  # characters: shorter lines are everybody's


@final
class Watched:
    """An upstream that remembers who wrote a line first.

    Args:
        upstream: The model.
    """

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._prompts: set[str] = set()
        self._completions: set[str] = set()
        self._lock = threading.Lock()

    def complete(self, ask: Ask) -> Completion:
        """Ask the model, and note the lines of prompt and completions (see `Upstream`)."""
        with self._lock:
            self._prompts |= _lines(ask.text) - self._completions
        completion = self._upstream.complete(ask)
        with self._lock:
            for choice in completion.choices:
                self._completions |= _lines(choice.text) - self._prompts
        return completion

    def close(self) -> None:
        """Let go of the model."""
        self._upstream.close()

    def wrote(self, source: str) -> bool:
        """Tell whether a program is the model's, but for smaller changes."""
        lines = _lines(source)
        own = len(lines & self._completions)
        others = len(lines - self._completions - self._prompts)
        return own >= MODEL_SHARE * (own + others) and own >= LEAST_SHARE * len(lines)


def _lines(text: str) -> set[str]:
    squeezed = ("".join(line.split()) for line in text.splitlines())
    return {line for line in squeezed if len(line) >= SHORT}
