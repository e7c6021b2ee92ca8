#!/usr/bin/env bash
# Finetune base_model/ on train_data.jsonl with LLM Foundry; the result goes to trained_model/.
set -euo pipefail
cd "$(dirname "$0")"

export PYTHONPATH="$PWD"
export HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 TOKENIZERS_PARALLELISM=false
MAX_SEQ_LEN=$(python -c 'import yaml; print(yaml.safe_load(open("finetune.yaml"))["max_seq_len"])')

rm -rf work trained_model
mkdir -p work

# 1. Text to token shards; there is no validation set, so the training split stands in for it.
python scripts/data_prep/convert_finetuning_dataset.py \
    --dataset json --data_files train_data.jsonl --splits train --skip-preprocessing \
    --tokenizer base_model --max_seq_len "$MAX_SEQ_LEN" --out_root work/tokens
cp -r work/tokens/train work/tokens/validation

# 2. Training on all GPUs.
python -m composer.cli.launcher scripts/train/train.py finetune.yaml save_folder=work/checkpoints

# 3. Composer checkpoint to a Hugging Face model.
python scripts/inference/convert_composer_to_hf.py \
    --composer_path work/checkpoints/latest-rank0.pt \
    --hf_output_path trained_model --output_precision fp32
