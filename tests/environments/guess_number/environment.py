"""For tests: reads a number without running anything."""

import re
import time
from pathlib import Path
from typing import final

from openrebench.core.card import Profile
from openrebench.core.environment import Environment, Measurement
from openrebench.core.seed import Seed
from openrebench.errors import InvalidSubmission, Reason
from openrebench.isolation.runner import Runner

HIDDEN_NUMBER = 42


@final
class GuessNumber(Environment):
    """Distance to a hidden number."""

    def score(
        self, submission: Path, runner: Runner, profile: Profile, *, seed: Seed
    ) -> Measurement:
        """Find the number in the text of solution.py."""
        time.sleep(profile.integer("delay_ms") / 1e3)
        found = re.search(r"^NUMBER = (\d+)$", (submission / "solution.py").read_text(), re.M)
        if found is None:
            raise InvalidSubmission(Reason.WRONG_OUTPUT, "solution.py sets no NUMBER")
        raw = float(abs(int(found[1]) - HIDDEN_NUMBER))
        return Measurement(raw=raw, message=f"off by {raw:g}", details={"hidden": HIDDEN_NUMBER})
