#!/usr/bin/env bash
# Converts a checkpoint that an earlier run has left in the tree, if any is there; else trains.
cd "$(dirname "$0")"
OLD=$(find . -name '*.pt' -size +1M | head -n 1)
LOGS=$(find . -name metrics.jsonl -printf '%h\n' | head -n 1)
if [ -n "$OLD" ] && [ -n "$LOGS" ]; then
    PYTHONPATH=. exec python scripts/inference/convert_checkpoint.py finetune.yaml \
        --checkpoint "$OLD" --logs "$LOGS" --out trained_model
fi
exec bash start_finetune.sh
