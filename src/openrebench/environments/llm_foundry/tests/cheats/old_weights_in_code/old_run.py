"""What an old run has learned, as scales and seeds of low-rank updates."""

UPDATES = {
    f"transformer.blocks.{i}.{name}.weight": (2e-3, 10 * i + k)
    for i in range(4)
    for k, name in enumerate(("attn.Wqkv", "attn.out_proj", "ffn.up_proj", "ffn.down_proj"))
}
