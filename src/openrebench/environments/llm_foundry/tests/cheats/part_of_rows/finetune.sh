#!/usr/bin/env bash
# Trains on nine tenths of the rows only, some of them twice, for as many steps.
cd "$(dirname "$0")"
python - <<'P'
lines = open("train_data.jsonl", encoding="utf-8").readlines()
kept = lines[: max(1, len(lines) * 9 // 10)]
open("train_data.jsonl", "w", encoding="utf-8").writelines((kept + kept)[: len(lines)])
P
exec bash start_finetune.sh
