"""The solver's judge: dev questions only, every comparison counted, whoever asks and how often."""

import json
import socket
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("tokenizers")

from openrebench.core.card import Profile
from openrebench.core.service import Door, Journal, Refused, reply_to
from openrebench.environments.gpt2_qa import sources
from openrebench.environments.gpt2_qa.judging import Comparison
from openrebench.environments.gpt2_qa.metering import MeteredJudge, beyond, used


class Longer:
    """A judge that prefers the longer answer, and remembers what it saw."""

    def __init__(self) -> None:
        self.seen: list[Comparison] = []

    def verdicts(self, comparisons: Sequence[Comparison]) -> list[float]:
        self.seen += comparisons
        return [float(len(c.first) > len(c.second)) for c in comparisons]


@pytest.fixture
def capped(profile: Profile) -> Profile:
    return profile.model_copy(update={"parameters": profile.parameters | {"judge_calls": 100}})


@pytest.fixture
def metered(capped: Profile, tmp_path: Path) -> MeteredJudge:
    return MeteredJudge(capped, Journal(tmp_path / "judge.jsonl"), judge=Longer())


def tokens(profile: Profile, text: str) -> list[int]:
    return sources.texts(profile).encode(f" {text}")


def row(profile: Profile, number: int = 0) -> dict[str, object]:
    first = tokens(profile, "a dog with long cords of hair, from Hungary.")
    return {"question": number, "first": first, "second": tokens(profile, "a very small dog.")}


def test_answers_are_compared_as_text_and_counted(metered: MeteredJudge, profile: Profile) -> None:
    one = row(profile, 3)
    turned = one | {"first": one["second"], "second": one["first"]}
    reply = metered.answer({"comparisons": [one, turned, one | {"second": one["first"]}]})
    assert reply == {"preferred": [1.0, 0.0, 0.5], "used": 3, "left": 97}
    assert metered.answer({}) == {"used": 3, "left": 97}
    seen = metered._judge.seen[0]  # type: ignore[union-attr]
    assert seen == Comparison(
        sources.pairs(profile, "dev")[3].question,
        "a dog with long cords of hair, from Hungary.",
        "a very small dog.",
    )


def test_an_answer_ends_at_its_end(metered: MeteredJudge, profile: Profile) -> None:
    one = row(profile)
    longer = [*one["second"], sources.texts(profile).end, *one["first"]]  # type: ignore[misc]
    assert metered.answer({"comparisons": [one | {"second": longer}]})["preferred"] == [1.0]


BAD = [
    ({"comparisons": []}, "from 1 to 64"),
    ({"comparisons": [{}] * 65}, "from 1 to 64"),
    ({"comparisons": "all"}, "with a list"),
    ({"comparisons": [1], "split": "score"}, "nothing else"),
    ({"question": 1}, "nothing else"),
    ({"comparisons": [{"question": 0}]}, "exactly the keys"),
    ({"comparisons": [{"question": "What is a dog?", "first": [], "second": []}]}, "a number of"),
    ({"comparisons": [{"question": -1, "first": [], "second": []}]}, "a number of"),
    ({"comparisons": [{"question": 10**6, "first": [], "second": []}]}, "a number of"),
    ({"comparisons": [{"question": True, "first": [], "second": []}]}, "a number of"),
    ({"comparisons": [{"question": 0, "first": "a dog.", "second": []}]}, "at most 60 tokens"),
    ({"comparisons": [{"question": 0, "first": [1] * 61, "second": []}]}, "at most 60 tokens"),
    ({"comparisons": [{"question": 0, "first": [2048], "second": []}]}, "from 0 to 2047"),
    ({"comparisons": [{"question": 0, "first": [1.5], "second": []}]}, "from 0 to 2047"),
]


@pytest.mark.parametrize(("request_", "sentence"), BAD)
def test_a_malformed_request_is_refused_and_free(
    metered: MeteredJudge, request_: dict[str, object], sentence: str
) -> None:
    with pytest.raises(Refused, match=sentence):
        metered.answer(request_)  # type: ignore[arg-type]
    assert metered.journal.rows() == []


def test_what_goes_beyond_the_limit_is_refused_and_noted(
    metered: MeteredJudge, profile: Profile
) -> None:
    metered.answer({"comparisons": [row(profile)] * 64})
    with pytest.raises(Refused, match="37 comparisons were asked for; 36 of 100 are left"):
        metered.answer({"comparisons": [row(profile)] * 37})
    assert metered.answer({"comparisons": [row(profile)] * 36})["left"] == 0
    rows = metered.journal.rows()
    assert (used(rows), beyond(rows)) == (100, 37)


def test_a_fault_of_ours_is_not_charged(capped: Profile, tmp_path: Path) -> None:
    class Broken:
        def verdicts(self, comparisons: Sequence[Comparison]) -> list[float]:
            raise RuntimeError("no judge")

    service = MeteredJudge(capped, Journal(tmp_path / "judge.jsonl"), judge=Broken())
    reply = reply_to(service, json.dumps({"comparisons": [row(capped)]}).encode())
    assert "not charged" in str(reply["error"]) and service.answer({})["used"] == 0


def test_racing_requests_share_one_limit(capped: Profile, tmp_path: Path) -> None:
    service = MeteredJudge(capped, Journal(tmp_path / "judge.jsonl"), judge=Longer())
    line = json.dumps({"comparisons": [row(capped)] * 30}).encode() + b"\n"
    replies: list[dict[str, object]] = []

    def ask() -> None:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(tmp_path / "judge.sock"))
            connection.sendall(line)
            replies.append(json.loads(connection.makefile("rb").readline()))

    with Door(service, tmp_path):
        threads = [threading.Thread(target=ask) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sum("preferred" in reply for reply in replies) == 3
    assert used(service.journal.rows()) == 90


def test_the_tools_judge_is_the_scorers(profile: Profile, tmp_path: Path) -> None:
    service = MeteredJudge(profile, Journal(tmp_path / "judge.jsonl"))
    reply = service.answer({"comparisons": [row(profile)]})
    theirs = sources.judge(profile)
    pair = sources.pairs(profile, "dev")[0]
    texts = ("a dog with long cords of hair, from Hungary.", "a very small dog.")
    assert reply["preferred"] == theirs.verdicts([Comparison(pair.question, *texts)])
