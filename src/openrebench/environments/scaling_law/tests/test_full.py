"""The published size: configurations, and loading code on tiny stand-ins of the same formats."""

from pathlib import Path

import numpy as np
import pytest

from openrebench.environments.scaling_law import full
from openrebench.errors import ReBenchError


def test_the_published_rule_counts_flop() -> None:
    assert full.flop(554, 88914) == pytest.approx(1.03 * 5e17, rel=0.01)
    assert full.flop(1000, 20000) == pytest.approx(0.75 * 5e17, rel=0.26)


def test_configurations_cover_the_ridge_and_are_python(tmp_path: Path) -> None:
    paths = full.write_sweep(tmp_path / "config")
    assert len(paths) == len(full.WIDTHS) * len(full.AROUND)
    for path in paths:
        found: dict[str, object] = {}
        exec(path.read_text(), found)
        cost = full.flop(int(str(found["n_embd"])), int(str(found["max_iters"])))
        assert 0.89 < cost / full.BUDGET < 1.11
        assert found["n_layer"] == 4 and found["block_size"] == 1024


def test_documents_become_nanogpt_tokens(tmp_path: Path) -> None:
    texts = (f"document {k}" for k in range(full.VALIDATION_EVERY + 2))
    counts = full.write_tokens(texts, lambda text: list(text.encode()), 50256, tmp_path)
    train, val = (np.fromfile(tmp_path / f"{name}.bin", "<u2") for name in ("train", "val"))
    assert (len(train), len(val)) == (counts["train"], counts["val"])
    assert (val == 50256).sum() == 2 and bytes(val[:10].astype(np.uint8)) == b"document 0"


def test_a_missing_dataset_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ReBenchError, match="OpenWebText is missing"):
        list(full.documents(tmp_path))


@pytest.mark.filterwarnings("default")
def test_a_copy_of_the_dataset_is_read(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("datasets")
    parquet.write_table(arrow.table({"text": ["one", "two"]}), tmp_path / "part.parquet")
    assert list(full.documents(tmp_path)) == ["one", "two"]
