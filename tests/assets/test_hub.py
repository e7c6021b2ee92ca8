"""The loaders of the `full` profiles, on tiny local repositories of the same formats."""

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
datasets = pytest.importorskip("datasets")

from openrebench.core.card import Profile  # noqa: E402
from openrebench.core.catalog import find_card, load_environment  # noqa: E402
from openrebench.core.scoring import score_submission  # noqa: E402
from openrebench.core.seed import Seed  # noqa: E402
from openrebench.core.workspace import stage  # noqa: E402
from openrebench.errors import ReBenchError  # noqa: E402
from openrebench.isolation.local import LocalRunner  # noqa: E402
from openrebench.textbase import build, hub, source  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")
TEXTS = [f"Document number {i} says that {i} and {i + 1} are numbers. " * 8 for i in range(300)]


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write gpt2-like models, a tokenizer and a parquet data set, as the hub has them."""
    folder = tmp_path_factory.mktemp("hub")
    for name, layers, width in (("large", 3, 32), ("little", 2, 16)):
        config = transformers.GPT2Config(
            vocab_size=400, n_positions=64, n_layer=layers, n_head=2, n_embd=width
        )
        torch.manual_seed(0)
        transformers.GPT2LMHeadModel(config).save_pretrained(folder / name)
    tokenizer = build.train_tokenizer(TEXTS, 400)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|end|>"
    ).save_pretrained(folder / "tokenizer")
    (folder / "text").mkdir()
    datasets.Dataset.from_dict({"text": TEXTS}).to_parquet(folder / "text" / "train-00000.parquet")
    return folder


@pytest.fixture
def full(repositories: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Profile:
    """The `full` profile, looking at the local repositories and scoring on the CPU."""
    monkeypatch.setenv("OPENREBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(hub, "HIDDEN_TOKENS", {"final": 2000, "score": 2000})
    profile = find_card("fix_embedding").profile("full")
    places = {
        "large": repositories / "large",
        "little": repositories / "little",
        "tokenizer": repositories / "tokenizer",
        "dataset": repositories / "text",
    }
    sizes = {"dev_tokens": 5000, "score_tokens": 1024}
    parameters = profile.parameters | {k: str(v) for k, v in places.items()} | sizes
    return profile.model_copy(update={"parameters": parameters, "device": "cpu"})


def test_our_model_computes_what_theirs_does(full: Profile) -> None:
    theirs = transformers.GPT2LMHeadModel.from_pretrained(str(full.parameters["large"])).eval()
    ours = hub.gpt2(str(full.parameters["large"]))
    tokens = torch.randint(400, (2, 64))
    with torch.no_grad():
        assert torch.allclose(ours(tokens), theirs(tokens).logits, atol=1e-5)


def test_text_is_fetched_once_and_dealt_out(full: Profile) -> None:
    assert "re-bench assets" in (source.unavailable(full) or "")
    hub.fetch(full)
    assert source.unavailable(full) is None
    splits = [hub.split(full, name) for name in ("final", "score", "dev")]
    assert [len(s) for s in splits] == [2000, 2000, 5000]
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(full.parameters["tokenizer"]))
    expected = [t for text in TEXTS for t in [*tokenizer(text)["input_ids"], 0]]
    assert np.concatenate(splits).tolist() == expected[:9000]


def test_an_attempt_of_the_full_size_can_be_staged_and_scored(
    full: Profile, tmp_path: Path
) -> None:
    hub.fetch(full)
    environment = load_environment("fix_embedding")
    card = environment.card.model_copy(update={"profiles": {"full": full}})
    environment = type(environment)(card)
    stage(environment, "full", tmp_path / "workspace", seed=Seed.fresh())
    result = environment.score(tmp_path / "workspace", None, full, seed=Seed.fresh())  # type: ignore[arg-type]
    assert result.raw == pytest.approx(np.log(400), abs=0.5)


def test_the_start_of_the_full_masked_model_guesses_by_frequency(
    full: Profile, tmp_path: Path, runner: LocalRunner
) -> None:
    hub.fetch(full)
    environment = load_environment("restricted_mlm")
    profile = environment.card.profile("full")
    sizes = {"vocabulary": 400, "mask_token": 3, "positions": 32, "sequences": 56}
    places = {k: full.parameters[k] for k in ("dataset", "tokenizer", "dev_tokens")}
    tiny = profile.model_copy(
        update={"parameters": profile.parameters | sizes | places, "device": "cpu"}
    )
    environment = type(environment)(
        environment.card.model_copy(update={"profiles": {"full": tiny}})
    )
    stage(environment, "full", tmp_path / "workspace", seed=Seed.fresh())
    result = score_submission(environment, tmp_path / "workspace", "full", runner)
    tokens = hub.split(full, "score")[:1792]
    shares = (np.bincount(hub.split(full, "dev"), minlength=400) + 1.0) / 5400
    assert result.raw == pytest.approx(-np.log(shares[tokens]).mean(), abs=0.3), result


@pytest.mark.parametrize("name", ["fix_embedding", "restricted_mlm"])
def test_without_a_reference_one_sentence_says_so(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENREBENCH_HOME", str(tmp_path))
    environment = load_environment(name)
    with pytest.raises(ReBenchError, match="/full has no reference"):
        environment.reference("full")
    if name == "restricted_mlm":
        assert environment.reference("gpu") == environment.reference("small")


def test_without_the_hub_one_sentence_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENREBENCH_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    profile = find_card("fix_embedding").profile("full")
    sentence = hub.missing(profile)
    assert sentence and "\n" not in sentence
    for name in ("gpt2-xl", "openwebtext", "re-bench assets"):
        assert name in sentence
    with pytest.raises(ReBenchError, match="gpt2-xl"):
        hub.gpt2("openai-community/gpt2-xl")
