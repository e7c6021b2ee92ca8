"""What every callback can hear of."""

from typing import Any

from foundry.config import Config, parse_time
from foundry.tokenizer import Tokenizer


class Callback:
    """Called at events of training; by default does nothing."""

    def __init__(self, settings: Config, config: Config, tokenizer: Tokenizer) -> None:
        self.settings = settings
        self.config = config
        self.tokenizer = tokenizer
        self.every = max(1, parse_time(settings.get("interval", "1ba")).value)

    def due(self, batch: int) -> bool:
        """Tell whether this is a batch to report on."""
        return batch % self.every == 0

    def fit_start(self, state: Any, logger: Any) -> None:
        """Training begins."""

    def batch_start(self, state: Any, logger: Any) -> None:
        """A batch was loaded."""

    def batch_end(self, state: Any, logger: Any) -> None:
        """A step was taken."""

    def epoch_end(self, state: Any, logger: Any) -> None:
        """All rows were seen once more."""

    def eval_end(self, state: Any, logger: Any) -> None:
        """An evaluation is done."""

    def fit_end(self, state: Any, logger: Any) -> None:
        """Training is over."""
