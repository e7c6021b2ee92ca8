"""Every error a user can meet, in one tree.

ReBenchError                  a message of one sentence; the command line prints it and stops
├── CardError                 a card.toml is wrong
├── UnknownEnvironment        no environment has this name
├── AnchorsMissing            start and reference were never measured on this machine
├── AttemptError              an attempt folder is missing, broken or still being written
├── TableError, NotComparable      a table can't be read, or may not share an axis (in analysis)
├── RunnerUnavailable         untrusted code can't be isolated here as asked
├── ScoringError              our fault: the score does not count for anybody
└── InvalidSubmission         the submission's fault, with a reason from a closed list
"""

from enum import StrEnum


class Reason(StrEnum):
    """Why a submission is invalid. The list is closed: analysis counts by it."""

    MISSING_FILE = "missing_file"
    IMPORT_FAILED = "import_failed"
    CRASHED = "crashed"
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    WRONG_SHAPE = "wrong_shape"
    WRONG_OUTPUT = "wrong_output"
    NON_FINITE = "non_finite"
    RULE_BROKEN = "rule_broken"
    CHANGED_PROTECTED_FILE = "changed_protected_file"
    IMPOSSIBLE = "impossible"


class ReBenchError(Exception):
    """Something a user can act on. The text says what is wrong, where, and what to do."""

    exit_code = 2


class CardError(ReBenchError):
    """A card.toml that can't be used."""


class UnknownEnvironment(ReBenchError):
    """No environment, or no profile of it, has the name asked for."""


class AnchorsMissing(ReBenchError):
    """This machine has no measured start and reference for the environment and profile."""


class AttemptError(ReBenchError):
    """An attempt folder that is missing, damaged or held by another process."""


class RunnerUnavailable(ReBenchError):
    """The isolation mode asked for does not work on this machine."""


class ScoringError(ReBenchError):
    """Scoring failed on our side; the result is `error` and counts for nobody."""

    exit_code = 4


class InvalidSubmission(ReBenchError):
    """The submission can't be scored, by its own fault.

    Args:
        reason: One of the closed list.
        message: One sentence for the solver: no hidden paths, seeds or further oracle values.
    """

    exit_code = 3

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(f"{reason}: {message}")
        self.reason = reason
        self.message = message
