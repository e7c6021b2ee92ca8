"""The profile `gpu`: its models are made, and scored, by the same code on a CPU at a tiny size."""

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tokenizers")

from openrebench.core.card import Profile  # noqa: E402
from openrebench.core.catalog import find_card, load_environment  # noqa: E402
from openrebench.core.environment import Environment  # noqa: E402
from openrebench.core.result import Outcome  # noqa: E402
from openrebench.core.scoring import score_submission  # noqa: E402
from openrebench.core.seed import Seed  # noqa: E402
from openrebench.core.workspace import stage  # noqa: E402
from openrebench.environments.gpt2_qa import sources  # noqa: E402
from openrebench.environments.gpt2_qa.asking import MAX_QUESTION_TOKENS, NEW_TOKENS  # noqa: E402
from openrebench.environments.gpt2_qa.hidden import make_gpu, making, run_reference  # noqa: E402
from openrebench.environments.gpt2_qa.hidden.making import Tuning  # noqa: E402
from openrebench.environments.gpt2_qa.questions import Pair  # noqa: E402
from openrebench.errors import ReBenchError  # noqa: E402
from openrebench.isolation.local import LocalRunner  # noqa: E402

FEW = Tuning(steps=2, batch=4, rate=1e-3, pairs=20)
PLAN = make_gpu.Plan(
    base_steps=2, rival=FEW, reader_steps=2, judge=FEW,
    window_batch=4, sample_batch=32, pairs=40, tokens=2_000,
)  # fmt: skip
TINY = {
    "layers": 1,
    "heads": 2,
    "width": 16,
    "judge_layers": 1,
    "judge_heads": 2,
    "judge_width": 16,
}


@pytest.fixture
def profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Profile:
    monkeypatch.setenv("OPENREBENCH_HOME", str(tmp_path / "home"))
    found = find_card("gpt2_qa").profile("gpu")
    parameters = found.parameters | TINY | {"questions": 8}
    return found.model_copy(update={"parameters": parameters, "device": "cpu"})


def with_few_comparisons(environment: Environment, count: int) -> Environment:
    profile = environment.card.profile("gpu")
    parameters = profile.parameters | {"judge_calls": count}
    profile = profile.model_copy(update={"parameters": parameters})
    return type(environment)(environment.card.model_copy(update={"profiles": {"gpu": profile}}))


def test_the_longest_answer_to_the_longest_question_finds_room() -> None:
    texts = sources.texts(find_card("gpt2_qa").profile("small"))
    long = Pair("What does it mean " + "again and " * 60 + "?", "it means that " * 60 + ".")
    pairs = [long, *(Pair("What is a cat?", "A small animal that is kept in houses."),) * 20]
    tokens, lengths, _ = making.candidates(texts, pairs, [[pair.answer for pair in pairs]])
    longest = MAX_QUESTION_TOKENS + NEW_TOKENS + 1
    assert lengths.max() == tokens.shape[2] == longest
    assert tokens[0, 0, longest - 1] == texts.end


@pytest.mark.slow
def test_models_are_made_and_an_attempt_is_staged_and_scored(
    profile: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sources.MAKE in (sources.unavailable(profile) or "")
    environment = load_environment("gpt2_qa")
    card = environment.card.model_copy(update={"profiles": {"gpu": profile}})
    environment = type(environment)(card)
    monkeypatch.setattr(make_gpu, "Plan", lambda: PLAN)
    environment.fetch("gpu")
    laps = json.loads((sources.folder(profile) / "made.json").read_text())
    assert list(laps) == ["base", "rival", "reader", "candidates", "judge"]
    assert sources.unavailable(profile) is None
    stage(environment, "gpu", tmp_path / "workspace", seed=Seed.fresh())
    result = environment.score(tmp_path / "workspace", None, profile, seed=Seed.fresh())  # type: ignore[arg-type]
    assert 0.2 < result.raw < 0.8 and result.details["answers"] == 16
    with LocalRunner() as runner:
        reference = environment.reference("gpu")
        assert reference == sources.folder(profile) / "reference"
        assert score_submission(environment, reference, "gpu", runner).outcome is Outcome.SCORED
        facts = run_reference.make(environment, "gpu", runner, rounds=1)
        assert facts["comparisons"] == 256 * 7  # a knock-out of 8 answers to each question
        with pytest.raises(ReBenchError, match=r"solve.py ended with 1 .*10 are left"):
            run_reference.make(with_few_comparisons(environment, 10), "gpu", runner, rounds=1)
