"""Sweep the loss surface of `scaling_law` on one GPU (or, patiently, a CPU).

PYTHONPATH=src python benchmarks/gpu/sweep_scaling.py OUT_FOLDER small tune main

`tune` tries learning rates and fits a power of width and steps; `main` trains every cell of the
surface with that rule and several seeds. Models of one width train side by side as one batched
model whose step is one CUDA graph, and the widths run on streams of their own: alone, a model of
this size is bound by launches. Weights and order of the text are those of the same seed in
`trainer.py`, so a run here and a run of the service differ by rounding only.
"""

import argparse
import json
import math
import platform
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from openrebench.environments.scaling_law import recipe, trainer
from openrebench.environments.scaling_law.recipe import Family

EVALUATED_AT_ONCE = 16
AT_ONCE = 16  # models in one stack
STREAMS = 12
URGENT = 3  # the longest stacks go first on the device
AROUND = (0.88, 1.0, 1.14)  # budgets of the surface, relative to the big one
RATE_CHECK = (0.5, 2.0)  # of the rule's rate, at the big budget with two seeds


Row = dict[str, float]


class Member(NamedTuple):
    n_embd: int
    steps: int
    rate: float
    seed: int
    budget: float


class Plan(NamedTuple):
    family: Family
    c_big: float
    tune_widths: dict[float, tuple[int, ...]]
    rates: tuple[float, ...]
    tune_seeds: int
    big_widths: tuple[int, ...]
    big_seeds: int
    small_widths: dict[float, tuple[int, ...]]
    small_seeds: int
    tf32: bool


PLANS = {
    "small": Plan(
        family=Family(layers=2, context=64, batch=4, rate=0.25, rate_width=-1.0, rate_steps=0.0),
        c_big=2e12,
        tune_widths={1e11: (8, 16, 32, 64), 3e12: (16, 32, 64, 128, 256)},
        rates=(2.5e-3, 5e-3, 1e-2, 2e-2, 4e-2),
        tune_seeds=2,
        big_widths=(24, 32, 40, 48, 64, 80, 96, 128, 160, 192),
        big_seeds=3,
        small_widths={b: (8, 16, 24, 32, 48) for b in (1.25e10, 2.5e10, 5e10, 1e11)},
        small_seeds=3,
        tf32=False,
    ),
    "gpu": Plan(
        family=Family(layers=4, context=64, batch=16, rate=0.4, rate_width=-1.0, rate_steps=0.0),
        c_big=6e12,
        tune_widths={6e11: (16, 32, 64, 128), 2e13: (48, 96, 192)},
        rates=(2.5e-3, 5e-3, 1e-2, 2e-2),
        tune_seeds=1,
        big_widths=(32, 48, 64, 96, 128, 192),
        big_seeds=3,
        small_widths={b: (16, 24, 32, 48, 64) for b in (3.75e10, 7.5e10, 1.5e11, 3e11)},
        small_seeds=2,
        tf32=True,
    ),
}


class Stack:
    """Models of one width, trained side by side; a member stands still once its steps are done."""

    def __init__(self, family: Family, members: list[Member], device: str) -> None:
        self.family, self.members, self.device = family, members, device
        self.width, self.count = members[0].n_embd, len(members)
        models = [trainer.initial_model(family, m.n_embd, m.seed) for m in members]
        self.shapes = {name: p.shape for name, p in models[0].named_parameters()}
        rows = [torch.cat([p.detach().flatten() for p in m.parameters()]) for m in models]
        self.flat = torch.stack(rows).to(device).requires_grad_()
        self.flat.grad = torch.zeros_like(self.flat)
        self.first, self.second = torch.zeros_like(self.flat), torch.zeros_like(self.flat)
        decay = [
            torch.full((s.numel(),), recipe.DECAY if len(s) > 1 else 0.0)
            for s in self.shapes.values()
        ]
        self.decay = torch.cat(decay).to(device)
        self.steps = max(m.steps for m in members)
        orders = [trainer.order(family, m.steps, m.seed) for m in members]
        padded = [functional.pad(o, (0, 0, 0, self.steps - len(o))) for o in orders]
        self.order = torch.stack(padded, 1).int().to(device)  # (steps, members, batch)
        self.ends = torch.tensor([float(m.steps) for m in members], device=device)
        self.peaks = torch.tensor([m.rate for m in members], device=device)
        self.step = torch.zeros(1, dtype=torch.int64, device=device)
        self.text = trainer.text("base").to(device)
        self.reach = torch.arange(family.context + 1, device=device)
        self.offsets = torch.arange(self.count, device=device) * trainer.build.VOCABULARY

    def losses(self, tokens: Tensor) -> Tensor:
        """Mean loss of each member: tokens (members, b, t + 1) to (members,)."""
        weights = self._weights()
        x, targets = tokens[..., :-1], tokens[..., 1:]
        m, b, t = x.shape
        table = weights["tokens.weight"]
        ids = (x + self.offsets[:, None, None]).flatten()
        h = table.flatten(0, 1).index_select(0, ids).view(m, b * t, self.width)
        h = h + weights["positions.weight"][:, :t].repeat(1, b, 1)
        for k in range(self.family.layers):
            h = self._block(h, b, t, weights, f"blocks.{k}.")
        logits = self._norm(h, weights["norm.weight"]) @ table.transpose(1, 2)
        loss = functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
        return loss.view(m, -1).mean(1)

    def advance(self) -> None:
        """One step of every member; everything it needs is on the device."""
        starts = self.order.index_select(0, self.step)[0].long()
        tokens = self.text[starts[..., None] + self.reach]
        loss = self.losses(tokens).sum()
        (grad,) = torch.autograd.grad(loss, self.flat)
        with torch.no_grad():
            norm = grad.norm(dim=1, keepdim=True)
            grad = grad * (recipe.CLIP_NORM / (norm + 1e-6)).clamp(max=1.0)
            self.step += 1
            now = self.step.float()
            rate = (self.peaks * self._schedule(now))[:, None]
            self.first.lerp_(grad, 1 - recipe.BETAS[0])
            self.second.mul_(recipe.BETAS[1]).addcmul_(grad, grad, value=1 - recipe.BETAS[1])
            root = (self.second / (1 - recipe.BETAS[1] ** now)).sqrt_().add_(1e-8)
            self.flat.mul_(1 - rate * self.decay)
            self.flat.sub_(self.first / root * (rate / (1 - recipe.BETAS[0] ** now)))

    @torch.no_grad()
    def validate(self) -> list[float]:
        dev = trainer.text("dev")[: trainer.VALIDATION_TOKENS].to(self.device)
        windows = dev.unfold(0, self.family.context + 1, self.family.context)
        total = torch.zeros(self.count, dtype=torch.float64, device=self.device)
        for part in windows.split(EVALUATED_AT_ONCE):
            total += self.losses(part.expand(self.count, -1, -1)).double() * len(part)
        return (total / len(windows)).tolist()

    def _weights(self) -> dict[str, Tensor]:
        parts = self.flat.split([s.numel() for s in self.shapes.values()], dim=1)
        named = zip(self.shapes.items(), parts, strict=True)
        return {name: part.view(self.count, *shape) for (name, shape), part in named}

    def _block(self, h: Tensor, b: int, t: int, w: dict[str, Tensor], at: str) -> Tensor:
        m, heads = self.count, self.width // recipe.HEAD_WIDTH
        normed = self._norm(h, w[f"{at}norm_1.weight"])
        qkv = normed @ w[f"{at}attention.qkv.weight"].transpose(1, 2)
        q, k, v = qkv.view(m * b, t, 3, heads, recipe.HEAD_WIDTH).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        joined = mixed.transpose(1, 2).reshape(m, b * t, self.width)
        h = h + joined @ w[f"{at}attention.out.weight"].transpose(1, 2)
        up = self._norm(h, w[f"{at}norm_2.weight"]) @ w[f"{at}up.weight"].transpose(1, 2)
        return h + functional.gelu(up, approximate="tanh") @ w[f"{at}down.weight"].transpose(1, 2)

    def _norm(self, h: Tensor, gain: Tensor) -> Tensor:
        return functional.layer_norm(h, (self.width,)) * gain[:, None]

    def _schedule(self, now: Tensor) -> Tensor:
        fall = 0.5 * (1 + torch.cos(math.pi * (now / self.ends).clamp(max=1.0)))
        rise = (now / (recipe.WARM_UP_SHARE * self.ends)).clamp(max=1.0)
        shape = rise * (recipe.LAST_RATE + (1 - recipe.LAST_RATE) * fall)
        return torch.where(now <= self.ends, shape, torch.zeros_like(shape))


def run_stack(stack: Stack, graph: torch.cuda.CUDAGraph | None, *, urgent: bool) -> list[float]:
    """Train a stack to its end; the first step may have been made while capturing."""
    left = stack.steps - int(stack.step.item())
    if graph is None:
        for _ in range(left):
            stack.advance()
        return stack.validate()
    stream = torch.cuda.Stream(priority=-1 if urgent else 0)
    with torch.cuda.stream(stream):
        for k in range(left):
            graph.replay()
            if k % 256 == 255:
                stream.synchronize()  # so that no stream fills the device's queue
        stream.synchronize()
        return stack.validate()


def captured(stack: Stack) -> torch.cuda.CUDAGraph:
    """Capture one step as a graph, after steps that warm up libraries."""
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(2):
            stack.advance()
        stream.synchronize()
    torch._C._cuda_clearCublasWorkspaces()  # each graph gets one of its own: they run side by side
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        stack.advance()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.synchronize()
    return graph


def stacks_of(plan: Plan, members: list[Member], device: str) -> list[Stack]:
    """Group members of one width and like length."""
    by_width: dict[int, list[Member]] = defaultdict(list)
    for member in sorted(members, key=lambda m: (m.n_embd, m.steps)):
        by_width[member.n_embd].append(member)
    found = []
    for group in by_width.values():
        part: list[Member] = []
        for member in group:
            if part and (len(part) == AT_ONCE or member.steps > 1.5 * part[0].steps):
                found.append(Stack(plan.family, part, device))
                part = []
            part.append(member)
        found.append(Stack(plan.family, part, device))
    return sorted(found, key=lambda s: -s.steps)


def run_all(plan: Plan, members: list[Member], device: str, path: Path) -> list[Row]:
    """Train all members; one row each, written as soon as its stack is done."""
    started = time.monotonic()
    stacks = stacks_of(plan, members, device)
    graphs = [captured(s) if device == "cuda" else None for s in stacks]
    print(
        f"{len(members)} runs in {len(stacks)} stacks, ready after "
        f"{time.monotonic() - started:.1f} s",
        flush=True,
    )
    rows: list[Row] = []
    with ThreadPoolExecutor(STREAMS if device == "cuda" else 1) as pool, path.open("w") as file:
        jobs = {
            pool.submit(run_stack, s, g, urgent=k < URGENT): s
            for k, (s, g) in enumerate(zip(stacks, graphs, strict=True))
        }
        for job in as_completed(jobs):
            pairs = zip(jobs[job].members, job.result(), strict=True)
            found = [{**m._asdict(), "loss": round(loss, 5)} for m, loss in pairs]
            file.writelines(json.dumps(row) + "\n" for row in found)
            file.flush()
            rows += found
            print(
                f"{time.monotonic() - started:6.1f} s: width {found[0]['n_embd']}, "
                f"{len(found)} of {jobs[job].steps} steps",
                flush=True,
            )
    seconds = time.monotonic() - started
    flop = sum(plan.family.flop(m.n_embd, m.steps) for m in members)
    print(f"{flop:.2e} FLOP in {seconds:.1f} s: {flop / seconds:.2e} FLOP/s", flush=True)
    return rows


def tuning_members(plan: Plan) -> list[Member]:
    return [
        Member(d, plan.family.iterations(d, budget), rate, 1000 + s, budget)
        for budget, widths in plan.tune_widths.items()
        for d in widths
        for rate in plan.rates
        for s in range(plan.tune_seeds)
    ]


def fit_rule(rows: list[Row]) -> tuple[float, float, float]:
    """Fit log(best rate) = a + p log(width) + q log(steps) to the vertices of parabolas."""
    cells: dict[tuple[float, float], dict[float, list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for r in rows:
        cells[r["n_embd"], r["steps"]][r["rate"]].append(r["loss"])
    points = []
    for (d, steps), by_rate in cells.items():
        rates = np.log(sorted(by_rate))
        losses = np.array([np.mean(by_rate[k]) for k in sorted(by_rate)])
        k = int(np.clip(losses.argmin(), 1, len(rates) - 2))
        a, b, _ = np.polyfit(rates[k - 1 : k + 2], losses[k - 1 : k + 2], 2)
        best = -b / (2 * a) if a > 0 else rates[losses.argmin()]
        best = float(np.clip(best, rates[0], rates[-1]))
        points.append((1.0, math.log(d), math.log(steps), best))
        print(
            f"d {d:4d} steps {steps:6d}: best rate {math.exp(best):.4f}; "
            + " ".join(f"{x:.4f}" for x in losses),
            flush=True,
        )
    table = np.array(points)
    a, p, q = np.linalg.lstsq(table[:, :3], table[:, 3], rcond=None)[0]
    return float(f"{math.exp(a):.3g}"), round(float(p), 2), round(float(q), 2)


def main_members(plan: Plan) -> list[Member]:
    cells = [(plan.c_big * k, d, plan.big_seeds, 1.0) for k in AROUND for d in plan.big_widths]
    cells += [(plan.c_big, d, 2, k) for k in RATE_CHECK for d in plan.big_widths]
    cells += [(b, d, plan.small_seeds, 1.0) for b, ds in plan.small_widths.items() for d in ds]
    return [
        Member(d, steps, factor * plan.family.peak_rate(d, steps), 1 + s, budget)
        for budget, d, seeds, factor in cells
        for steps in [plan.family.iterations(d, budget)]
        for s in range(seeds)
    ]


def hardware(device: str) -> dict[str, str]:
    name = torch.cuda.get_device_name() if device == "cuda" else platform.processor()
    return {"device": name, "torch": torch.__version__, "python": platform.python_version()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("profile", choices=list(PLANS))
    parser.add_argument("stages", nargs="+", choices=["tune", "main"])
    arguments = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    plan = PLANS[arguments.profile]
    torch.backends.cuda.matmul.allow_tf32 = plan.tf32
    trainer.text("base"), trainer.text("dev")
    for stage in arguments.stages:
        started = time.monotonic()
        members = tuning_members(plan) if stage == "tune" else main_members(plan)
        path = arguments.folder / f"{arguments.profile}-{stage}"
        rows = run_all(plan, members, device, path.with_suffix(".jsonl"))
        if stage == "tune":
            print("rule", fit_rule(rows), flush=True)
        record = {
            "script": "benchmarks/gpu/sweep_scaling.py",
            "stage": stage,
            "family": vars(plan.family),
            "hardware": hardware(device),
            "seconds": round(time.monotonic() - started, 1),
        }
        path.with_suffix(".json").write_text(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
