"""What models cost. A price that nobody has given is unknown, never 0."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from openrebench.errors import ReBenchError

SHIPPED = "prices.toml"
DATED = re.compile(r"-(?:\d{8}|\d{4}-\d{2}-\d{2})$")  # a snapshot costs what its model does
ANTHROPIC, ANTHROPIC_CACHE_WRITE = "anthropic/", 1.25
FORM = "write MODEL=INPUT,OUTPUT or MODEL=INPUT,OUTPUT,CACHE_READ in USD per million tokens"


class Price(NamedTuple):
    """USD per million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float

    def most_for(self, tokens: int) -> float:
        """Give the most that so many tokens can cost, in USD."""
        return tokens * max(self) / 1e6


class Prices(NamedTuple):
    """Prices by model, and where those that ship come from."""

    by_model: Mapping[str, Price]
    checked: str
    source: str

    def over(self, given: Mapping[str, Price]) -> "Prices":
        """Put given prices over these."""
        return self._replace(by_model={**self.by_model, **given})

    def find(self, model: str) -> Price | None:
        """Look up a model by Inspect's name; None if its price is unknown."""
        return self.by_model.get(model) or self.by_model.get(DATED.sub("", model))


def load_prices() -> Prices:
    """Load the prices that ship."""
    text = (files("openrebench") / "data" / SHIPPED).read_text(encoding="utf-8")
    data = _parse(text, SHIPPED)
    return Prices(_models(data, SHIPPED), str(data["checked"]), str(data["source"]))


def read_prices(file: Path | None, words: Iterable[str]) -> dict[str, Price]:
    """Read prices from a file in the format of the one that ships, and from words over it.

    Args:
        file: TOML, or None.
        words: Such as `openai/x=1.25,10`.

    Raises:
        ReBenchError: A price can't be read.
    """
    found = {} if file is None else _models(_parse(_read(file), str(file)), str(file))
    for word in words:
        name, equals, numbers = word.partition("=")
        if not equals:
            raise ReBenchError(f"--price {word}: {FORM}")
        found[name] = _price(name, numbers.split(","), f"--price {word}")
    return found


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise ReBenchError(f"{file}: can't be read ({error.strerror})") from error


def _parse(text: str, where: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ReBenchError(f"{where}: is not TOML ({error})") from error


def _models(data: Mapping[str, object], where: str) -> dict[str, Price]:
    models = data.get("models")
    if not isinstance(models, dict):
        raise ReBenchError(f'{where}: has no table [models]; each line is "model" = [in, out]')
    return {name: _price(name, numbers, f"{where}: {name}") for name, numbers in models.items()}


def _price(model: str, numbers: object, where: str) -> Price:
    try:
        given = [float(number) for number in numbers]  # type: ignore[attr-defined]
    except (TypeError, ValueError) as error:
        raise ReBenchError(f"{where}: {numbers!r} is no price; {FORM}") from error
    if len(given) not in (2, 3) or not all(0 <= number < 1e6 for number in given):
        raise ReBenchError(f"{where}: {numbers!r} is no price; {FORM}")
    cache_write = given[0] * (ANTHROPIC_CACHE_WRITE if model.startswith(ANTHROPIC) else 1.0)
    return Price(given[0], given[1], given[2] if len(given) == 3 else given[0], cache_write)
