"""Show what a model writes: python sample.py small_model.safetensors"""

import json
import sys

import torch
from train import DEVICE, load_model

LENGTH = 100
TEMPERATURE = 0.8


@torch.no_grad()
def sample(model: torch.nn.Module, length: int) -> list[int]:
    tokens = torch.zeros(1, 1, dtype=torch.int64, device=DEVICE)  # 0 ends a document
    for _ in range(length):
        logits = model(tokens[:, -model.config.context :])[0, -1]
        following = torch.multinomial(torch.softmax(logits / TEMPERATURE, -1), 1)
        tokens = torch.cat([tokens, following[None]], 1)
    return tokens[0].tolist()


def main() -> None:
    names = json.load(open("vocabulary.json", encoding="utf-8"))
    model = load_model(sys.argv[1] if len(sys.argv) > 1 else "large_model.safetensors").eval()
    print("".join(names[token] for token in sample(model, LENGTH)))


if __name__ == "__main__":
    main()
