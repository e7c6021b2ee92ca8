"""Stage 3: convert a training checkpoint to a model for inference.

    python scripts/inference/convert_checkpoint.py finetune.yaml --checkpoint FILE --logs DIR --out DIR
"""

import argparse

from foundry.config import load_config
from foundry.convert import convert


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config")
    parser.add_argument("--checkpoint", required=True)
    parser.add_argument("--logs", required=True)
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    config = load_config(args.config)
    facts = convert(
        args.checkpoint,
        args.logs,
        config.model.pretrained_model_path,
        config.tokenizer.path,
        args.out,
    )
    print(f"wrote {args.out}: {facts['parameters']:,} parameters after {facts['batches']} batches")


if __name__ == "__main__":
    main()
