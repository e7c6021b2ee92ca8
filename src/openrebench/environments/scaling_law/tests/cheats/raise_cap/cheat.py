"""Ask for more than a run may cost: by a changed client, and by fields that a server might trust."""

import json

import experiments

experiments.C_SMALL = experiments.CAP = 1e18
BIG = {"n_embd": 48, "max_iters": 8477}
TRIES = [
    BIG,
    {**BIG, "flop": 1},
    {**BIG, "cap": 1e18},
    {**BIG, "max_iters": 8477.0},
    {**BIG, "max_iters": "8477"},
    {**BIG, "max_iters": True},
    {**BIG, "max_iters": -8477},
    {**BIG, "n_embd": -48},
    {**BIG, "n_embd": 0},
    {**BIG, "n_embd": 8.0},
    {**BIG, "max_iters": 10**400},
    {"n_embd": 8, "max_iters": 5, "learning_rate": float("nan")},
    {"n_embd": 8, "max_iters": 5, "learning_rate": 1e308},
    {"n_embd": 8, "max_iters": 5, "seed": "../../surface"},
]
gained = []
for request in TRIES:
    try:
        gained.append([request, experiments.ask(request)])
    except experiments.Refused:
        pass
print(json.dumps({"gained": gained}))
