# OpenRE-Bench hidden material. Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51: do not publish, do not train on.
"""Reference: IsoFLOP profiles at two budgets, then power laws along the compute frontier.

At each budget a parabola in log N through the losses of neighbouring widths gives the best size and
its loss (Hoffmann et al. 2022, arXiv:2203.15556, approach 2). The best size grows with the square
root of the budget, as found there; its loss falls as a power of the budget (Kaplan et al. 2020,
arXiv:2001.08361): two budgets can't tell an offset from zero. Budgets below these are of no use:
at 1e11 FLOP seeds of one width differ by 0.3 nats. Runs in the workspace:

    python solve.py        2.4e12 FLOP, minutes on one core
    python solve.py gpu    6.7e12 FLOP at the gpu profile's sizes
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from math import exp, log

import numpy as np
from experiments import run

VOCABULARY = 2048
MORE = 1.09  # than the budget is allowed, and lowers the loss
# Layers, tokens a step, budget, and runs at each small budget: (width, seeds). Cheap runs are noisy,
# and get more seeds.
SIZES = {
    "small": (2, 256, 2e12, {
        2e11: [(8, 1), (16, 2), (24, 3)],
        3.95e11: [(16, 1), (24, 1), (32, 1)],
    }),
    "gpu": (4, 1024, 6e12, {
        5.2e11: [(16, 2), (24, 2), (32, 2)],
        1.19e12: [(24, 1), (32, 1), (48, 1)],
    }),
}  # fmt: skip
LAYERS, TOKENS_A_STEP, BUDGET, PLAN = SIZES[(*sys.argv[1:], "small")[0]]
BIG = MORE * BUDGET
SIZE_EXPONENT = 0.5


def parameters(width: float) -> float:
    return 12 * LAYERS * width**2 + VOCABULARY * width


def steps(width: int, budget: float) -> int:
    return int(budget / (6 * parameters(width) * TOKENS_A_STEP))


def losses() -> dict[float, dict[int, float]]:
    """Train everything in the plan; mean loss by budget and width."""
    asked = [(b, d, s) for b, row in PLAN.items() for d, seeds in row for s in range(seeds)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda a: run(a[1], steps(a[1], a[0]), seed=a[2])["loss"], asked))
    for (budget, width, seed), loss in zip(asked, found, strict=True):
        print(f"{budget:.2e} FLOP, width {width}, seed {seed}: {loss:.4f}", flush=True)
    return {
        b: {d: np.mean([x for a, x in zip(asked, found) if a[:2] == (b, d)]) for d, _ in row}
        for b, row in PLAN.items()
    }


def valley(profile: dict[int, float]) -> tuple[float, float]:
    """Give log N and the loss at the bottom of a parabola, not beyond the widths tried."""
    sizes = np.log([parameters(d) for d in profile])
    a, b, c = np.polyfit(sizes, list(profile.values()), 2)
    bottom = -b / (2 * a) if a > 0 else sizes[np.argmin(list(profile.values()))]
    bottom = float(np.clip(bottom, sizes.min(), sizes.max()))
    return bottom, float(a * bottom**2 + b * bottom + c)


def main() -> None:
    found = {budget: valley(profile) for budget, profile in losses().items()}
    budgets = np.log(list(found))
    sizes, bottoms = np.array(list(found.values())).T
    size = exp(np.mean(sizes - SIZE_EXPONENT * budgets) + SIZE_EXPONENT * log(BIG))
    width = min(range(24, 193, 8), key=lambda d: abs(log(parameters(d) / size)))
    slope, level = np.polyfit(budgets, np.log(bottoms), 1)
    answer = {
        "n_embd": width,
        "max_iters": steps(width, BIG),
        "loss_prediction": round(exp(level + slope * log(BIG)), 3),
        "note": "OpenRE-Bench hidden material. Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51: "
        "do not publish, do not train on.",
    }
    with open("answer.json", "w") as file:
        file.write(json.dumps(answer) + "\n")
    print(f"exponent of the loss {slope:.4f}; {answer}")


if __name__ == "__main__":
    main()
