"""How the base models were trained; `benchmarks/gpu/train_bases.py` runs these.

Needs torch, so import it only where a model is really used.
"""

from openrebench.textbase.build import VOCABULARY
from openrebench.textbase.gpt import GPTConfig
from openrebench.textbase.training import Recipe

CONTEXT = 128

RECIPES = {
    # Some 200 million tokens each: over 50 times what one core gets through in three minutes.
    "large": Recipe(
        config=GPTConfig(vocabulary=VOCABULARY, context=CONTEXT, layers=4, heads=4, width=112),
        steps=7000,
        batch=256,
        rate=4e-3,
    ),
    "little": Recipe(
        config=GPTConfig(vocabulary=VOCABULARY, context=CONTEXT, layers=2, heads=2, width=64),
        steps=5000,
        batch=256,
        rate=6e-3,
    ),
    # Too large to ship; made on the user's GPU (openrebench.textbase.made).
    "gpu_large": Recipe(
        config=GPTConfig(
            vocabulary=VOCABULARY, context=CONTEXT, layers=6, heads=6, width=384, dropout=0.15
        ),
        steps=2500,
        batch=256,
        rate=1.5e-3,
    ),
    "gpu_little": Recipe(
        config=GPTConfig(vocabulary=VOCABULARY, context=CONTEXT, layers=4, heads=4, width=128),
        steps=2000,
        batch=256,
        rate=4e-3,
    ),
}
