"""The published size, on tiny stand-ins of the same formats; nothing of it was run as a whole."""

import json
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from openrebench.core.card import Profile  # noqa: E402
from openrebench.core.catalog import find_card, load_environment  # noqa: E402
from openrebench.core.seed import Seed  # noqa: E402
from openrebench.core.workspace import stage  # noqa: E402
from openrebench.errors import ReBenchError  # noqa: E402

CARD = find_card("llm_foundry")

from openrebench.environments.llm_foundry import full, material, variants, verdict  # noqa: E402

CONVERTER = "scripts/data_prep/convert_finetuning_dataset.py"


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> tuple[Path, str]:
    """A repository with two commits, of which the first is the pinned one."""
    folder = tmp_path / "llm-foundry"
    (folder / CONVERTER).parent.mkdir(parents=True)
    git(tmp_path, "init", "--quiet", str(folder))
    commits = []
    for text in ("first\n", "second\n"):
        (folder / CONVERTER).write_text(text)
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "-m", text)
        commits.append(git(folder, "rev-parse", "--short", "HEAD"))
    return folder, commits[0]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model of the architecture of deepseek-coder with 0.01 million weights."""
    folder = tmp_path / "model"
    config = transformers.LlamaConfig(
        vocab_size=2048, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=2, tie_word_embeddings=False,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).half().save_pretrained(folder)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(material.assets.shipped("data/tokenizer.json")), eos_token="<|end|>"
    )
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def profile(
    repository: tuple[Path, str], model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Profile:
    monkeypatch.setenv("OPENREBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(full, "WORKER_NEEDS", ())
    stand_ins = {"repository": str(repository[0]), "commit": repository[1], "model": str(model)}
    whole = CARD.profile("full")
    return whole.model_copy(
        update={"parameters": {**whole.parameters, **stand_ins, "rows": 20}, "device": "cpu"}
    )


def test_one_sentence_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENREBENCH_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    sentence = full.missing(CARD.profile("full"))
    assert sentence is not None and "\n" not in sentence
    assert all(part in sentence for part in ("deepseek-coder-1.3b-base", "77f9ab1", full.COMMAND))


def test_fetched_stand_ins_make_a_workspace(profile: Profile, tmp_path: Path) -> None:
    assert "not downloaded" in (full.missing(profile) or "")
    full.fetch(profile)
    full.fetch(profile)  # nothing is left to do
    assert full.missing(profile) is None
    environment = type(load_environment("llm_foundry"))(
        CARD.model_copy(update={"profiles": {"full": profile}})
    )
    assert environment.unavailable(profile) is None
    workspace = tmp_path / "workspace"
    stage(environment, "full", workspace, seed=Seed.fresh())
    assert (workspace / CONVERTER).read_text() == "first\n"
    assert "composer" in (workspace / "finetune.sh").read_text()
    assert not (workspace / "foundry").exists() and not (workspace / ".git").exists()
    assert len((workspace / material.ROWS).read_text().splitlines()) == 20
    loaded = transformers.AutoModelForCausalLM.from_pretrained(workspace / material.BASE)
    assert loaded.dtype == __import__("torch").float32


def test_variants_change_an_option_of_llm_foundry(profile: Profile) -> None:
    full.fetch(profile)
    for k in range(10):
        changed = variants.draw_options(Seed(bytes([k]) * 32).rng("x"), profile, short=False)
        assert set(changed) - {"seed"} <= set(full.SAME_WORK)
        assert changed != material.options_of(profile)
        material.configuration(profile, changed)


def test_weights_in_several_files_are_compared(
    profile: Profile, model: Path, tmp_path: Path
) -> None:
    full.write_base(tmp_path / "base", profile)
    trained = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "base")
    for parameter in trained.parameters():
        parameter.data *= 1.01
    trained.save_pretrained(tmp_path / "truth")
    trained.save_pretrained(tmp_path / "output", max_shard_size="20KB")
    index = json.loads((tmp_path / "output/model.safetensors.index.json").read_text())
    assert len(set(index["weight_map"].values())) > 1
    found = verdict.judge(*(tmp_path / n for n in ("output", "truth", "base")), profile)
    assert set(found.distance.drift.values()) == {0.0} and found.loss_gap is None


@pytest.mark.parametrize("name", ["repository", "commit"])
def test_what_can_not_be_fetched_is_said_in_one_sentence(profile: Profile, name: str) -> None:
    wrong = profile.model_copy(update={"parameters": {**profile.parameters, name: "no-such-thing"}})
    with pytest.raises(ReBenchError, match="git .* failed") as caught:
        full.fetch(wrong)
    assert "\n" not in str(caught.value)
