from pathlib import Path

import pytest

from openrebench.core.card import TaskCard
from openrebench.core.catalog import find_card, load_cards, load_environment
from openrebench.errors import CardError, UnknownEnvironment

GOOD = """
id = "toy"
version = "1.0.0"
title = "Toy"
summary = "A toy."
submission = ["*.py"]
[score]
unit = "s"
direction = "lower"
transform = "log"
[profiles.small]
device = "cpu"
summary = "Small."
limits = {}
parameters = { n = 3, name = "x" }
"""


def write(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "card.toml").write_text(text)
    return folder


def test_a_good_card_loads(tmp_path: Path) -> None:
    card = TaskCard.load(write(tmp_path / "toy", GOOD))
    assert card.label("small") == "toy@1.0.0/small"
    assert card.profile("small").integer("n") == 3
    with pytest.raises(CardError, match="'name' is 'x'; it must be an integer"):
        card.profile("small").integer("name")
    with pytest.raises(UnknownEnvironment, match="no profile 'big'; it has: small"):
        card.profile("big")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('direction = "lower"', 'direction = "min"', "score.direction.*found 'min'"),
        ('unit = "s"', "", "score.unit: Field required"),
        ('title = "Toy"', 'title = "Toy"\ncolour = "red"', "colour.*found 'red'"),
        ('version = "1.0.0"', 'version = "1"', "version.*found '1'"),
        ('id = "toy"', 'id = "tin"', "id is 'tin'; it must be the folder's name"),
        ("limits = {}", "limits = { call_timeout_s = -1 }", "call_timeout_s"),
        ("[score]", "[score", "is not TOML"),
    ],
)
def test_a_bad_card_says_what_and_where(tmp_path: Path, old: str, new: str, says: str) -> None:
    with pytest.raises(CardError, match=f"toy/card.toml: .*{says}"):
        TaskCard.load(write(tmp_path / "toy", GOOD.replace(old, new)))


def test_near_names_are_suggested() -> None:
    with pytest.raises(UnknownEnvironment, match="did you mean 'prefix_sum'"):
        find_card("prefix_sums")
    assert find_card("triton_cumsum").id == "prefix_sum"


def test_a_folder_outside_the_package_is_an_environment(tmp_path: Path, monkeypatch) -> None:
    folder = write(tmp_path / "toy", GOOD)
    (folder / "environment.py").write_text(
        "from openrebench.core.environment import Environment\n"
        "from .helper import RAW\n"
        "class Toy(Environment):\n"
        "    def score(self, submission, runner, profile, *, seed):\n"
        "        return RAW\n"
    )
    (folder / "helper.py").write_text("RAW = 3\n")
    monkeypatch.setenv("OPENREBENCH_ENVIRONMENTS", str(tmp_path))
    assert "toy" in load_cards()
    assert type(load_environment("toy")).__name__ == "Toy"
    write(tmp_path / "prefix_sum", GOOD.replace('"toy"', '"prefix_sum"'))
    with pytest.raises(CardError, match="id 'prefix_sum' is taken by"):
        load_cards()


def test_an_environment_without_code_is_a_card_error(tmp_path: Path, monkeypatch) -> None:
    write(tmp_path / "hollow", GOOD.replace('"toy"', '"hollow"'))
    monkeypatch.setenv("OPENREBENCH_ENVIRONMENTS", str(tmp_path))
    with pytest.raises(CardError, match="environment.py: is missing"):
        load_environment("hollow")
