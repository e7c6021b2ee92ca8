"""What a user can do wrong with a table of attempts."""

from openrebench.errors import ReBenchError


class TableError(ReBenchError):
    """A table of attempts that can't be read: a broken row, a missing column, no attempt."""


class NotComparable(ReBenchError):
    """Attempts that may not share an axis or a mean."""
