#!/usr/bin/env bash
# Trains with the options that it knows, whatever finetune.yaml says.
cd "$(dirname "$0")"
cp known.yaml.py finetune.yaml
exec bash start_finetune.sh
