import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from click.testing import CliRunner  # noqa: E402
from safetensors.torch import save_file  # noqa: E402

from openrebench.cli import cli  # noqa: E402
from openrebench.core.catalog import find_card  # noqa: E402
from openrebench.errors import InvalidSubmission, Reason, ReBenchError  # noqa: E402
from openrebench.textbase import (  # noqa: E402
    assets,
    build,
    corpora,
    made,
    recipes,
    source,
    training,
    weights,
)
from openrebench.textbase.gpt import GPT, GPTConfig, mean_loss  # noqa: E402
from openrebench.textbase.tokens import load_tokens, save_tokens  # noqa: E402

TINY = GPTConfig(vocabulary=50, context=16, layers=2, heads=2, width=16)
MAX_SHIPPED_BYTES = 8 << 20


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def test_token_files_give_back_what_was_saved(tmp_path: Path) -> None:
    tokens = np.random.default_rng(0).integers(0, 2048, 1000, dtype=np.uint16)
    save_tokens(tmp_path / "a.xz", tokens)
    save_tokens(tmp_path / "b.xz", tokens)
    assert np.array_equal(load_tokens(tmp_path / "a.xz"), tokens)
    assert (tmp_path / "a.xz").read_bytes() == (tmp_path / "b.xz").read_bytes()


def test_shipped_files_are_whole_and_small() -> None:
    assert assets.problems() == []
    sizes = [assets.shipped(name).stat().st_size for name in assets.sums()]
    assert sum(sizes) < MAX_SHIPPED_BYTES


def test_a_damaged_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "dev.xz").write_bytes(b"other")
    monkeypatch.setattr(assets, "HERE", tmp_path)
    assets.shipped.cache_clear()
    with pytest.raises(ReBenchError, match=r"dev\.xz is damaged"):
        assets.shipped("data/dev.xz")
    with pytest.raises(ReBenchError, match=r"base\.xz is missing"):
        assets.shipped("data/base.xz")
    assets.shipped.cache_clear()


def test_splits_have_their_sizes_and_do_not_overlap() -> None:
    splits = {name: assets.split(name) for name in ("base", "dev", "score", "final")}
    assert {name: len(splits[name]) for name in build.SPLITS} == build.SPLITS
    seen = {name: windows_of(tokens) for name, tokens in splits.items()}
    for name in ("score", "final", "dev"):
        for other in set(splits) - {name}:
            shared = len(seen[name] & seen[other]) / len(seen[name])
            assert shared < 0.02, (name, other, shared)


def windows_of(tokens: np.ndarray, length: int = 24) -> set[bytes]:
    """Every window that begins a document; quotations apart, two splits share none."""
    starts = np.flatnonzero(tokens[:-length] == 0) + 1
    return {tokens[i : i + length].tobytes() for i in starts.tolist()}


def test_only_public_domain_blocks_of_the_dictionary_are_kept() -> None:
    entry = (
        "Word \\Word\\, n. [OE. word.]\n   An {old} sense -- of some length, and more of it.\n"
        "   [1913 Webster]\n   A new sense that somebody added.\n   [PJC]\n"
    )
    text = corpora._public_part(entry)
    assert "old sense" in text
    assert "added" not in text and "OE." not in text and "\\" not in text


def test_a_synset_becomes_one_line() -> None:
    line = "00001740 03 n 02 entity 0 living_thing 0 000 | that which is; own existence  "
    assert (
        corpora._synset(line, "noun") == "entity, living thing (noun): that which is; own existence"
    )


def test_loss_of_a_model_that_knows_nothing_is_that_of_guessing() -> None:
    model = GPT(TINY)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    tokens = torch.randint(50, (200,))
    assert mean_loss(model, tokens, batch=3) == pytest.approx(np.log(50), abs=1e-5)


def test_mean_loss_does_not_depend_on_the_batch() -> None:
    torch.manual_seed(0)
    model, tokens = GPT(TINY), torch.randint(50, (200,))
    assert mean_loss(model, tokens, batch=1) == pytest.approx(
        mean_loss(model, tokens, batch=5), rel=1e-6
    )


def test_training_learns_a_repeating_text() -> None:
    tokens = torch.arange(8).repeat(100)
    recipe = training.Recipe(config=TINY, steps=80, batch=8, rate=6e-2)
    model, curve = training.train(recipe, tokens, tokens[:200], "cpu")
    assert curve[-1].dev_loss < 0.5 < curve[0].dev_loss
    assert not model.training


@pytest.mark.parametrize("name", ["large", "little"])
def test_shipped_models_are_what_their_provenance_says(name: str) -> None:
    folder = build.HERE / ("hidden" if name == "large" else "data")
    record = json.loads((folder / f"{name}.json").read_text())
    assert "H200" in record["hardware"]["device"]
    assert record["recipe"]["config"] == recipes.RECIPES[name].config.as_dict()
    model = weights.load_model(folder / f"{name}.safetensors", recipes.RECIPES[name].config)
    dev = torch.from_numpy(assets.split("dev")[:8193].astype(np.int64))
    assert mean_loss(model, dev, batch=16) == pytest.approx(
        record["curve"][-1]["dev_loss"], abs=0.2
    )


def submitted(tmp_path: Path, **changes: object) -> Path:
    """Write a tiny model's weights with some tensors replaced, or left out where None."""
    tensors = {k: v.half() for k, v in GPT(TINY).state_dict().items()} | changes
    path = tmp_path / "fixed_model.safetensors"
    save_file({k: v for k, v in tensors.items() if v is not None}, path)
    return path


def test_right_weights_are_read(tmp_path: Path) -> None:
    found = weights.read_submitted(submitted(tmp_path), TINY)
    assert weights.model_of(found, TINY).config == TINY


@pytest.mark.parametrize(
    ("changes", "reason", "says"),
    [
        ({"norm.weight": None}, Reason.WRONG_OUTPUT, "norm.weight"),
        ({"extra": torch.zeros(1)}, Reason.WRONG_OUTPUT, "extra"),
        ({"norm.weight": torch.zeros(15).half()}, Reason.WRONG_SHAPE, "[16]"),
        ({"norm.weight": torch.zeros(16)}, Reason.WRONG_OUTPUT, "float32"),
        ({"norm.weight": torch.full((16,), torch.nan).half()}, Reason.NON_FINITE, "NaN"),
        ({"norm.weight": torch.full((16,), torch.inf).half()}, Reason.NON_FINITE, "infinity"),
    ],
)
def test_wrong_weights_get_one_clear_sentence(
    tmp_path: Path, changes: dict[str, object], reason: Reason, says: str
) -> None:
    with pytest.raises(InvalidSubmission, match="fixed_model") as caught:
        weights.read_submitted(submitted(tmp_path, **changes), TINY)
    assert caught.value.reason == reason and says in caught.value.message


@pytest.mark.parametrize("content", [b"", b"{}", b"\x80\x04K\x01.", b"\xff" * 64])
def test_what_is_no_safetensors_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "fixed_model.safetensors"
    path.write_bytes(content)
    with pytest.raises(InvalidSubmission, match="not a safetensors file"):
        weights.read_submitted(path, TINY)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENREBENCH_HOME", str(tmp_path))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    return tmp_path


def assets_command(*labels: str) -> str:
    done = CliRunner().invoke(cli, ["assets", *labels])
    return done.output + str(done.exception or "")


def test_the_command_says_what_each_profile_lacks(own_cache: Path) -> None:
    said = dict(line.split(": ", 1) for line in assets_command().splitlines())
    assert "NVIDIA GPU" in said["restricted_mlm/full"]
    assert not [label for label in said if label.endswith("/small")]


def test_the_command_gets_what_a_profile_needs(own_cache: Path) -> None:
    assert assets_command("fix_embedding/small") == "fix_embedding/small: all is here\n"
    assert "no environment named 'no_such'" in assets_command("no_such/small")
    assert "has no profile 'huge'" in assets_command("fix_embedding/huge")
    for label in ("fix_embedding/gpu", "gpt2_qa/gpu"):
        assert "are trained on a GPU; none was found" in assets_command(label)


def test_a_package_that_is_missing_is_named(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(profile: object) -> None:
        raise ModuleNotFoundError(name="datasets")

    monkeypatch.setattr(source, "fetch", fetch)
    said = assets_command("fix_embedding/full")
    assert "'datasets'" in said and "pip install 'openrebench[full]'" in said


def test_only_its_owner_reads_the_cache(own_cache: Path) -> None:
    assert assets.cache_folder().parent == own_cache
    assert assets.cache_folder().stat().st_mode & 0o777 == 0o700


def test_base_models_of_the_gpu_profile_must_be_made_first(own_cache: Path) -> None:
    with pytest.raises(ReBenchError, match="missing; run: re-bench assets fix_embedding/gpu"):
        made.model("large")


def test_made_models_are_read_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENREBENCH_HOME", str(tmp_path))
    recipe = training.Recipe(config=TINY, steps=1, batch=1, rate=1e-3)
    monkeypatch.setattr(recipes, "RECIPES", dict.fromkeys(made.NAMES.values(), recipe))
    for name in made.NAMES.values():
        weights.save_weights(assets.cache_folder() / f"{name}.safetensors", GPT(TINY))
    profile = find_card("fix_embedding").profile("gpu")
    assert made.missing(profile) is None
    assert source.model(profile, "large").config == TINY
