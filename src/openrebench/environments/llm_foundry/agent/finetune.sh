#!/usr/bin/env bash
# Finetune base_model/ on train_data.jsonl as finetune.yaml says; the result goes to trained_model/.
set -euo pipefail
cd "$(dirname "$0")"

CONFIG=finetune.yaml
WORK=work
export PYTHONPATH="$PWD"
export TOKENIZERS_PARALLELISM=false

rm -rf "$WORK" trained_model
mkdir -p "$WORK"

# 1. Text to token shards.
python scripts/data_prep/tokenize_finetuning_data.py "$CONFIG" \
    --input train_data.jsonl --out_root "$WORK/tokens/train"

# There is no validation set: the training split stands in for it.
cp -r "$WORK/tokens/train" "$WORK/tokens/eval"

# 2. Training, one process for each GPU; they talk over the loopback, which needs no names.
export NCCL_SOCKET_IFNAME=lo GLOO_SOCKET_IFNAME=lo
GPUS=$(ls /dev 2>/dev/null | grep -c '^nvidia[0-9]\+$' || true)
if [ "$GPUS" -gt 0 ]; then
    LAUNCH="python -m torch.distributed.run --nproc_per_node=$GPUS --master_addr=127.0.0.1 --master_port=29500"
else
    LAUNCH="python"
fi
$LAUNCH scripts/train/train.py "$CONFIG" \
    train_loader.dataset.local="$WORK/tokens/train" \
    eval_loader.dataset.local="$WORK/tokens/eval" \
    save_folder="$WORK/checkpoints" \
    loggers.file.folder="$WORK/logs"

# 3. Training checkpoint to a model for inference.
python scripts/inference/convert_checkpoint.py "$CONFIG" \
    --checkpoint "$WORK/checkpoints/latest.pt" \
    --logs "$WORK/logs" --out trained_model
