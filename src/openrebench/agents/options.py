"""Read the options of an agent, so that a wrong one is told before anything runs."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

Options = TypeVar("Options", bound=BaseModel)


def read_options(kind: type[Options], agent: str, given: Mapping[str, Any]) -> Options:
    """Check the arguments of an agent.

    Raises:
        ValueError: One is wrong; the text says which and how.
    """
    try:
        return kind.model_validate(dict(given))
    except ValidationError as error:
        problem = error.errors()[0]
        name = ".".join(str(part) for part in problem["loc"])
        raise ValueError(
            f"{agent}: option {name} is {problem['input']!r}: {problem['msg']}"
        ) from error
