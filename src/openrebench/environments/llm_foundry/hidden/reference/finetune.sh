#!/usr/bin/env bash
# Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51
set -euo pipefail
cd "$(dirname "$0")"
rm -rf work trained_model
GPUS=$(ls /dev 2>/dev/null | grep -c '^nvidia[0-9]\+$' || true)
if [ "$GPUS" -gt 1 ]; then
    export NCCL_SOCKET_IFNAME=lo GLOO_SOCKET_IFNAME=lo
    exec python -m torch.distributed.run --nproc_per_node="$GPUS" \
        --master_addr=127.0.0.1 --master_port=29500 run.py
fi
exec python run.py
