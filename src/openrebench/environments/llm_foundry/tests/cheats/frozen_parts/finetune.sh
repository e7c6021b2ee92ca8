#!/usr/bin/env bash
# Leaves the position embedding as it is: few weights, hardly seen in a distance over all of them.
cd "$(dirname "$0")"
sed -i 's/^  frozen: \[\].*/  frozen: [transformer.wpe]/; s/^  frozen:$/  frozen: [transformer.wpe]/' finetune.yaml
exec bash start_finetune.sh
