"""Find environments. A folder with a card.toml is one; nothing is registered anywhere.

Looked through, in this order: the folders of this package, the entry points
`openrebench.environments` of installed packages (each names a folder or a package), and the
folders in `$OPENREBENCH_ENVIRONMENTS`. So private environments can stay private.
"""

import difflib
import importlib
import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path
from types import ModuleType

from openrebench.core.card import CARD_NAME, TaskCard
from openrebench.core.environment import Environment
from openrebench.errors import CardError, UnknownEnvironment

PATH_VARIABLE = "OPENREBENCH_ENVIRONMENTS"
ENTRY_POINT_GROUP = "openrebench.environments"


def environment_folders() -> Iterator[Path]:
    """Yield the folder of every environment that can be found."""
    for root in _roots():
        for card in sorted(root.glob(f"*/{CARD_NAME}")):
            yield card.parent


def _roots() -> Iterator[Path]:
    yield Path(str(files("openrebench"))) / "environments"
    for point in entry_points(group=ENTRY_POINT_GROUP):
        yield Path(str(files(point.value)))
    for folder in os.environ.get(PATH_VARIABLE, "").split(os.pathsep):
        if folder:
            yield Path(folder)


def load_cards() -> dict[str, TaskCard]:
    """Load the cards of all environments, by id.

    Raises:
        CardError: A card is wrong, or two environments share an id.
    """
    cards: dict[str, TaskCard] = {}
    for folder in environment_folders():
        card = TaskCard.load(folder)
        if card.id in cards:
            raise CardError(
                f"{folder}: id '{card.id}' is taken by {cards[card.id].folder}; rename one"
            )
        cards[card.id] = card
    return cards


def find_card(name: str) -> TaskCard:
    """Look up a card by id or alias.

    Raises:
        UnknownEnvironment: No environment has this name; near names are suggested.
    """
    cards = load_cards()
    names = {alias: card for card in cards.values() for alias in (card.id, *card.aliases)}
    if name in names:
        return names[name]
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean '{near[0]}'? " if near else ""
    raise UnknownEnvironment(
        f"no environment named '{name}'; {hint}re-bench list shows all {len(cards)}"
    )


def load_environment(name: str) -> Environment:
    """Load an environment by id or alias.

    Raises:
        UnknownEnvironment: No environment has this name.
        CardError: Its environment.py does not define exactly one Environment.
    """
    card = find_card(name)
    module = _import_environment(card.folder)
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Environment) and value is not Environment
    ]
    if len(found) != 1:
        raise CardError(
            f"{card.folder / 'environment.py'}: defines {len(found)} Environments; expected one"
        )
    environment: Environment = found[0](card)
    return environment


@cache
def _import_environment(folder: Path) -> ModuleType:
    """Import an environment from wherever its folder lies, as one of our sub-packages."""
    if not (folder / "environment.py").is_file():
        raise CardError(f"{folder / 'environment.py'}: is missing; an environment needs one")
    name = f"openrebench.environments.{folder.name}"
    package = ModuleType(name)
    package.__path__ = [str(folder)]
    sys.modules[name] = package
    return importlib.import_module(f"{name}.environment")
