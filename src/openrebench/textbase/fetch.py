"""Download or make what profiles need: `re-bench assets [NAME/PROFILE ...]`.

Profiles to name: `fix_embedding/full`, `restricted_mlm/full` (online) and `fix_embedding/gpu`;
with `--check`, nothing is fetched and one line per thing that is missing or damaged is printed.
"""

import argparse
import sys

from openrebench.core.card import Profile
from openrebench.core.catalog import find_card
from openrebench.errors import ReBenchError
from openrebench.textbase import assets, hub, made

ONLINE = ("fix_embedding/full", "restricted_mlm/full")
ALL = (*ONLINE, "fix_embedding/gpu")


def fetch(profile: Profile) -> None:
    """Get what one profile needs; nothing for what ships.

    Raises:
        ReBenchError: It can't be got; one sentence says why.
    """
    if profile.parameters["source"] == "hub":
        hub.fetch(profile)
    elif profile.parameters["source"] == "made":
        made.make()


def lacking(profile: Profile) -> str | None:
    """Say in one sentence which files a profile lacks here, or None."""
    looks = {"hub": hub.missing, "made": made.missing}
    look = looks.get(str(profile.parameters["source"]))
    return look(profile) if look else None


def report() -> list[str]:
    """List damaged files, and what each profile lacks; empty if all is here."""
    found = assets.problems()
    for label in ALL:
        sentence = lacking(profile_of(label))
        found += [f"{label}: {sentence}"] if sentence else []
    return found


def profile_of(label: str) -> Profile:
    """Look up a profile by a label such as `fix_embedding/full`."""
    name, _, profile = label.partition("/")
    return find_card(name).profile(profile)


def main() -> None:
    """Fetch, or check, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("labels", nargs="*", default=ONLINE, metavar="NAME/PROFILE")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if arguments.check:
        print("\n".join(report()) or "all files are here and whole")  # noqa: T201
        return
    try:
        for label in arguments.labels:
            fetch(profile_of(label))
    except ReBenchError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
