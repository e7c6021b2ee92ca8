"""Stage 1: tokenise a JSON-lines file into shards.

    python scripts/data_prep/tokenize_finetuning_data.py finetune.yaml --input rows.jsonl --out_root DIR
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

from foundry.config import load_config
from foundry.data.finetuning import read_rows, tokenize_row
from foundry.data.loader import TokenDataset
from foundry.data.shards import ShardWriter
from foundry.tokenizer import Tokenizer


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config")
    parser.add_argument("--input", required=True)
    parser.add_argument("--out_root", required=True)
    return parser.parse_args()


def length_report(lengths: list[int], max_seq_len: int) -> dict[str, float]:
    """Sum up how long the rows are."""
    array = np.array(lengths)
    return {
        "rows": len(lengths),
        "mean": float(array.mean()),
        "p50": float(np.percentile(array, 50)),
        "p95": float(np.percentile(array, 95)),
        "longest": int(array.max()),
        "share_of_max_seq_len": float(array.mean() / max_seq_len),
    }


def verify(out_root: str, lengths: list[int]) -> None:
    """Read everything back and compare."""
    dataset = TokenDataset(out_root)
    if len(dataset) != len(lengths):
        raise RuntimeError(f"{out_root} holds {len(dataset)} rows; {len(lengths)} were written")
    for number, length in enumerate(lengths):
        if len(dataset[number]["input_ids"]) != length:
            raise RuntimeError(f"{out_root}: row {number} came back with another length")


def main() -> None:
    args = parse_args()
    config = load_config(args.config)
    dataset = config.train_loader.dataset
    started = time.time()
    lengths, dropped = [], 0
    rows = list(read_rows(args.input))
    with ShardWriter(args.out_root, dataset.rows_per_shard) as writer:
        tokenizer = Tokenizer(config.tokenizer.path)
        for number, row in enumerate(rows):
            tokens = tokenize_row(row, tokenizer, dataset, config.max_seq_len)
            if tokens is None:
                dropped += 1
                continue
            # Special tokens and merges must survive a round trip.
            text = tokenizer.decode(tokens["input_ids"])
            if len(tokens["input_ids"]) < config.max_seq_len and tokenizer.encode(text) != tokens["input_ids"]:
                print(f"row {number}: tokens do not survive a round trip")
            writer.write(tokens)
            lengths.append(len(tokens["input_ids"]))
    if not lengths:
        raise SystemExit(f"{args.input}: no row has a response within {config.max_seq_len} tokens")
    verify(args.out_root, lengths)
    report = length_report(lengths, config.max_seq_len) | {"dropped": dropped}
    Path(args.out_root, "lengths.json").write_text(json.dumps(report, indent=1))
    print(f"tokenised {len(lengths)} rows in {time.time() - started:.1f} s, {dropped} dropped")


if __name__ == "__main__":
    main()
