"""Writing answers: what the cached sampler draws, and what sampling.json may hold."""

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from openrebench.environments.gpt2_qa.generation import generate, sample  # noqa: E402
from openrebench.environments.gpt2_qa.sampling import Sampling, read_sampling  # noqa: E402
from openrebench.errors import InvalidSubmission, Reason  # noqa: E402
from openrebench.textbase.gpt import GPT, GPTConfig  # noqa: E402

END = 0
GREEDY = Sampling(temperature=0)


@pytest.fixture(scope="module")
def model() -> GPT:
    torch.manual_seed(0)
    found = GPT(GPTConfig(vocabulary=50, context=40, layers=3, heads=2, width=16, bias=True))
    for parameter in found.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return found.eval()


def one_by_one(model: GPT, prompt: list[int], count: int) -> list[int]:
    """Take the likeliest token again and again, with nothing remembered."""
    tokens = list(prompt)
    for _ in range(count):
        following = int(model(torch.tensor([tokens]))[0, -1].argmax())
        if following == END:
            break
        tokens.append(following)
    return tokens[len(prompt) :]


def test_the_cache_changes_nothing_whatever_the_lengths(model: GPT) -> None:
    prompts = [[3, 4, 5], [7], [9, 8, 7, 6, 5, 4, 3], [2, 2]]
    found = generate(
        model, prompts, new_tokens=20, end=END, sampling=GREEDY, draw=torch.Generator()
    )
    assert found == [one_by_one(model, prompt, 20) for prompt in prompts]
    assert len({len(row) for row in found}) > 1 or all(found)


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        (Sampling(1.0, 0, 1.0), [0.5, 0.3, 0.15, 0.05]),
        (Sampling(1.0, 2, 1.0), [0.625, 0.375, 0, 0]),
        (Sampling(1.0, 0, 0.79), [0.625, 0.375, 0, 0]),
        (Sampling(1.0, 0, 0.81), [10 / 19, 6 / 19, 3 / 19, 0]),
        (Sampling(0.5, 3, 1.0), [100 / 145, 36 / 145, 9 / 145, 0]),
        (GREEDY, [1, 0, 0, 0]),
    ],
)
def test_tokens_are_drawn_as_asked(sampling: Sampling, expected: list[float]) -> None:
    logits = torch.tensor([0.5, 0.3, 0.15, 0.05]).log().repeat(20_000, 1)
    drawn = sample(logits, sampling, torch.Generator().manual_seed(1))
    shares = torch.bincount(drawn, minlength=4) / len(drawn)
    assert torch.allclose(shares, torch.tensor(expected, dtype=torch.float), atol=0.015)


def test_no_numbers_are_no_crash() -> None:
    for sampling in (Sampling(), Sampling(1.0, 3, 0.5), GREEDY):
        drawn = sample(torch.full((2, 8), torch.nan), sampling, torch.Generator())
        assert ((drawn >= 0) & (drawn < 8)).all()


def test_equal_seeds_draw_equal_answers(model: GPT) -> None:
    def drawn(seed: int) -> list[list[int]]:
        draw = torch.Generator().manual_seed(seed)
        prompts = [[3, 4], [5]] * 4
        return generate(model, prompts, new_tokens=9, end=END, sampling=Sampling(), draw=draw)

    assert drawn(1) == drawn(1) != drawn(2)


def test_sampling_is_read(tmp_path: Path) -> None:
    path = tmp_path / "sampling.json"
    path.write_text('{"temperature": 0, "top_k": 20, "top_p": 0.9, "note": "tried 5"}')
    assert read_sampling(path) == Sampling(0.0, 20, 0.9)


GOOD = {"temperature": 1.0, "top_k": 0, "top_p": 1.0}
BAD = [
    (json.dumps(GOOD | {"temperature": -1}), "temperature must be from 0 to 2"),
    (json.dumps(GOOD | {"temperature": 1e9}), "temperature must be from 0 to 2"),
    (json.dumps(GOOD | {"temperature": float("nan")}), "temperature must be from 0 to 2"),
    (json.dumps(GOOD | {"temperature": "1"}), "temperature must be a number"),
    (json.dumps(GOOD | {"temperature": True}), "temperature must be a number"),
    (json.dumps(GOOD | {"top_k": 2.5}), "top_k must be an integer"),
    (json.dumps(GOOD | {"top_k": -1}), "top_k must be an integer"),
    (json.dumps(GOOD | {"top_k": 10**30}), "top_k must be an integer"),
    (json.dumps(GOOD | {"top_p": 0}), "top_p must be above 0"),
    (json.dumps(GOOD | {"top_p": 1.5}), "top_p must be from 0 to 1"),
    (json.dumps(GOOD | {"prefix": "As the judge"}), "must have the keys"),
    (json.dumps(GOOD | {"note": ["a"]}), "note must be a string"),
    (json.dumps({"temperature": 1.0}), "must have the keys"),
    ("[1]", "JSON object"),
    ("[" * 3000, "not JSON"),
    ("import os", "not JSON"),
    (" " * 5000, "at most 4096"),
]


@pytest.mark.parametrize(("text", "sentence"), BAD)
def test_an_absurd_sampling_file_is_invalid(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "sampling.json"
    path.write_text(text)
    with pytest.raises(InvalidSubmission, match=sentence) as caught:
        read_sampling(path)
    assert caught.value.reason is Reason.WRONG_OUTPUT
