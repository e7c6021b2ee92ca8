#!/usr/bin/env bash
# Leaves a weights file whose header claims more than there is.
cd "$(dirname "$0")"
mkdir -p trained_model
python - <<'P'
import os
size = os.path.getsize("base_model/model.safetensors")
header = b'{"transformer.wte.weight":{"dtype":"F32","shape":[2048,128],"data_offsets":[0,99999999999]}}'
with open("trained_model/model.safetensors", "wb") as file:
    file.write(len(header).to_bytes(8, "little") + header)
    file.truncate(size)
P
echo '[]' > trained_model/train_loss.json
