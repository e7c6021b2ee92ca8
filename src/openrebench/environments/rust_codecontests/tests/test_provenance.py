"""Whose program is it?"""

import pytest

from openrebench.broker.upstream import Ask, Choice, Completion, Message
from openrebench.environments.rust_codecontests.provenance import Watched

MODELS = (
    "fn main() {\n    let total = count();\n    let other = count();\n    show(total, other);\n}\n"
)
BROUGHT = "fn main() {\n    let clever = trick();\n    let more = tricks();\n    print(more);\n}\n"


class Says:
    """A model that says one thing."""

    def __init__(self, text: str) -> None:
        self.text = text

    def complete(self, ask: Ask) -> Completion:
        return Completion(choices=[Choice(self.text)], prompt_tokens=1, completion_tokens=1)

    def close(self) -> None:
        pass


def watched(prompt: str, answer: str) -> Watched:
    model = Watched(Says(answer))
    model.complete(Ask(messages=(Message("user", prompt),), n=1, max_tokens=9))
    return model


def test_a_program_of_the_model_is_its_own_also_after_a_small_repair() -> None:
    model = watched("solve it", MODELS)
    assert model.wrote(MODELS) and model.wrote("use std::io;\n" + MODELS.replace("    ", "\t"))


@pytest.mark.parametrize("prompt", ["solve it", f"repeat this: \n{BROUGHT}"])
def test_a_program_that_was_brought_along_is_not(prompt: str) -> None:
    assert not watched(prompt, MODELS).wrote(BROUGHT)
    assert not watched(prompt, BROUGHT if "repeat" in prompt else MODELS).wrote(BROUGHT)


def test_a_program_quoted_back_stays_the_models() -> None:
    model = watched("solve it", MODELS)
    model.complete(Ask(messages=(Message("user", "repair\n" + MODELS),), n=1, max_tokens=9))
    assert model.wrote(MODELS)


def test_a_template_in_the_prompt_does_not_make_a_program_foreign() -> None:
    template = "use std::io::Read;\nlet mut text = String::new();\n"
    assert watched("use this: \n" + template, template + MODELS).wrote(template + MODELS)
