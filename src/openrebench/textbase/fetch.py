"""Download or make what profiles need: `python -m openrebench.textbase.fetch`.

Profiles to name: `fix_embedding/full`, `restricted_mlm/full` (online), `fix_embedding/gpu`.
"""

import sys

from openrebench.core.card import Profile
from openrebench.core.catalog import find_card
from openrebench.errors import ReBenchError
from openrebench.textbase import hub, made

DEFAULT = ("fix_embedding/full", "restricted_mlm/full")


def fetch(profile: Profile) -> None:
    """Get what one profile needs; nothing for what ships.

    Raises:
        ReBenchError: It can't be got; one sentence says why.
    """
    if profile.parameters["source"] == "hub":
        hub.fetch(profile)
    elif profile.parameters["source"] == "made":
        made.make()


def main() -> None:
    """Fetch what the profiles named on the command line need."""
    for label in sys.argv[1:] or DEFAULT:
        name, _, profile = label.partition("/")
        try:
            fetch(find_card(name).profile(profile))
        except ReBenchError as error:
            sys.exit(str(error))


if __name__ == "__main__":
    main()
