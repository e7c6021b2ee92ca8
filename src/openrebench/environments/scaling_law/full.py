"""The published size: configurations for nanoGPT on OpenWebText, and the tokens they train on.

There is no loss surface at this size here, so the profile `full` can't be scored. What is here
prepares the runs that would give one:

    python -m openrebench.environments.scaling_law.full FOLDER [DATASET_FOLDER]

downloads OpenWebText (or reads a copy of it), writes `train.bin` and `val.bin` as nanoGPT reads
them, and one `config/*.py` for each cell of a sweep. Source of sizes and rate: the published
environment (see docs/environments/scaling_law.md).
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from openrebench.errors import ReBenchError

LAYERS, HEADS, CONTEXT, BATCH = 4, 8, 1024, 64
BUDGET = 5e17
WIDTHS = (256, 384, 512, 640, 768, 1024, 1280, 1536, 2048)
AROUND = (0.9, 1.0, 1.1)
DATASET = "Skylion007/openwebtext"
VALIDATION_EVERY = 2000  # one document in so many
CONFIG = """\
# {flop:.4g} FLOP; python train.py config/{name}.py
out_dir = "out/{name}"
dataset = "openwebtext"
n_layer, n_head, n_embd = {layers}, {heads}, {n_embd}
block_size, batch_size, gradient_accumulation_steps = {context}, {batch}, 1
bias, dropout = False, 0.0
max_iters, lr_decay_iters, warmup_iters = {max_iters}, {max_iters}, 0
learning_rate, min_lr = {rate:.6g}, {least:.6g}
beta1, beta2, weight_decay, grad_clip = 0.9, 0.95, 0.1, 1.0
eval_interval, eval_iters = {max_iters}, 200
seed = {seed}
"""


def flop(n_embd: int, max_iters: int) -> int:
    """Count a run's FLOP by the published rule, embeddings left out."""
    return 6 * 12 * LAYERS * n_embd**2 * CONTEXT * BATCH * max_iters


def peak_rate(n_embd: int, max_iters: int) -> float:
    """Give the published learning rate of a run."""
    return float(0.15 / n_embd * (max_iters / 5000) ** -0.4)


def config(name: str, n_embd: int, max_iters: int, seed: int = 1) -> str:
    """Write one configuration file of nanoGPT."""
    rate = peak_rate(n_embd, max_iters)
    return CONFIG.format(
        name=name,
        flop=flop(n_embd, max_iters),
        layers=LAYERS,
        heads=HEADS,
        n_embd=n_embd,
        context=CONTEXT,
        batch=BATCH,
        max_iters=max_iters,
        rate=rate,
        least=rate / 10,
        seed=seed,
    )


def write_sweep(folder: Path) -> list[Path]:
    """Write the configurations of a sweep around the budget; gives their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for n_embd in WIDTHS:
        for share in AROUND:
            steps = int(share * BUDGET / flop(n_embd, 1))
            path = folder / f"w{n_embd}_c{round(100 * share)}.py"
            path.write_text(config(path.stem, n_embd, steps), encoding="utf-8")
            paths.append(path)
    return paths


def documents(dataset: Path | None) -> Iterator[str]:
    """Yield the documents of OpenWebText from the hub, or from a folder of Parquet files.

    Raises:
        ReBenchError: The hub can't be reached, or the folder has no Parquet files.
    """
    try:
        from datasets import load_dataset

        if dataset is None:
            rows = load_dataset(DATASET, split="train", streaming=True)
        else:
            files = sorted(str(path) for path in dataset.rglob("*.parquet"))
            rows = load_dataset("parquet", data_files=files, split="train", streaming=True)
    except Exception as error:
        raise ReBenchError(
            f"OpenWebText is missing ({type(error).__name__}); get {DATASET} from the Hugging Face "
            "hub where it can be reached, and name its folder: re-bench assets scaling_law"
        ) from error
    for row in rows:
        yield row["text"]


def write_tokens(
    texts: Iterable[str], encode: Callable[[str], Sequence[int]], end: int, folder: Path
) -> dict[str, int]:
    """Write `train.bin` and `val.bin`: uint16, documents joined by an end token.

    Args:
        texts: Documents.
        encode: Gives a document's tokens.
        end: Token after each document.
        folder: Where to.

    Returns:
        Tokens of each split.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = {"train": 0, "val": 0}
    with (folder / "train.bin").open("wb") as train, (folder / "val.bin").open("wb") as val:
        for number, text in enumerate(texts):
            tokens = np.array([*encode(text), end], dtype="<u2")
            split = "train" if number % VALIDATION_EVERY else "val"
            (train if split == "train" else val).write(tokens.tobytes())
            written[split] += len(tokens)
    return written


def main() -> None:
    """Prepare tokens and configurations in a folder."""
    import tiktoken

    folder = Path(sys.argv[1])
    copy = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    write_sweep(folder / "config")
    encoding = tiktoken.get_encoding("gpt2")
    texts = documents(copy)
    write_tokens(texts, encoding.encode_ordinary, encoding.eot_token, folder / "data/openwebtext")


if __name__ == "__main__":
    main()
