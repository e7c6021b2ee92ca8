"""What a profile consists of: its problems by split, and the model behind its broker."""

import os
import uuid
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

from openrebench.broker.meter import Amounts, Cap, Meter, Prices
from openrebench.broker.service import Broker
from openrebench.broker.upstream import Upstream
from openrebench.core.card import Profile
from openrebench.core.service import Journal
from openrebench.environments.rust_codecontests import coder, full
from openrebench.environments.rust_codecontests.coder import Program, SimulatedCoder
from openrebench.environments.rust_codecontests.hidden import bank
from openrebench.environments.rust_codecontests.problems import Problem

MODEL_VARIABLE = "OPENREBENCH_RUST_MODEL"
# Of seeds 0 to 19, those whose start and reference lie nearest to the means over all of them.
CODER_SEEDS = {"dev": "seed 0", "score": "seed 18", "final": "seed 12"}
DEV_DRESS = 20_240  # fixed: dev problems look the same for everybody


class Session(NamedTuple):
    """Which broker's calls belong together: the solver's workspace, or one score call."""

    name: str
    cap: str


WORKSPACE = Session("workspace", "attempt")


def score_session() -> Session:
    """Name a new score call."""
    return Session(f"score {uuid.uuid4().hex[:12]}", "call")


def is_simulated(profile: Profile) -> bool:
    """Tell whether problems and model are the project's own."""
    return profile.parameters["problems"] == "shipped"


def problems(profile: Profile, split: str, rng: np.random.Generator) -> list[Problem]:
    """Give the problems of `dev`, `score` or `final`, dressed and ordered by `rng`."""
    if not is_simulated(profile):
        found = full.load(split)
        return [found[k] for k in rng.permutation(len(found))]
    keys = bank.keys(split)[: _how_many(profile)]
    order = rng.permutation(len(keys))
    return [bank.problem(keys[k], rng, number) for number, k in enumerate(order, 1)]


def dev_problems(profile: Profile) -> list[Problem]:
    """Give the problems that belong to the solver, the same for everybody."""
    return problems(profile, "dev", np.random.default_rng(DEV_DRESS))


def model_name(profile: Profile) -> str:
    """Name the model as requests have to: an Inspect model string, or the simulated coder."""
    chosen = os.environ.get(MODEL_VARIABLE)
    return chosen if chosen and not is_simulated(profile) else str(profile.parameters["model"])


def upstream(
    profile: Profile, split: str, found: Sequence[Problem], seed: str | None = None
) -> Upstream:
    """Give the model that answers for these problems."""
    if not is_simulated(profile):
        from openrebench.broker.inspect_model import InspectModel

        return InspectModel(model_name(profile))
    keys = bank.keys(split)
    odds = coder.skills(
        keys,
        most=float(profile.parameters["most_skill"]),
        power=float(profile.parameters["skill_power"]),
    )
    pools = {problem.key: pool(problem.key) for problem in found}
    return SimulatedCoder(found, pools, odds, seed or CODER_SEEDS[split])


@cache
def pool(key: str) -> tuple[Program, ...]:
    """Give the pool of a problem with its kinds, from the stored labels."""
    rows = {row["name"]: row for row in bank.recorded("labels.json")["problems"][key]}

    def program(candidate: bank.Candidate) -> Program:
        row, parent = rows[candidate.name], rows.get(candidate.parent, {})
        kind = coder.kind_of(row["label"], row.get("test"), parent.get("label", ""), bank.PUBLIC)
        broken = kind in ("near", "broken")
        return Program(candidate.name, candidate.source, kind, candidate.parent if broken else "")

    return tuple(program(candidate) for candidate in bank.candidates(key))


def broker(profile: Profile, journal: Journal, session: Session, model: Upstream) -> Broker:
    """Give a broker with the profile's caps."""
    meter = Meter(
        journal=journal,
        session=session.name,
        attempt_cap=Cap("attempt", _amounts(profile, "attempt")),
        session_cap=Cap(session.name.split()[0], _amounts(profile, session.cap)),
    )
    parameters = profile.parameters
    return Broker(
        model,
        model=model_name(profile),
        meter=meter,
        prices=Prices(
            prompt_usd=float(parameters["prompt_usd_per_million"]),
            completion_usd=float(parameters["completion_usd_per_million"]),
        ),
        max_n=profile.integer("max_n"),
        max_tokens=profile.integer("max_tokens"),
    )


def unusual(profile: Profile, found: Sequence[Problem]) -> tuple[str, ...]:
    """Flag what makes a score differ from the published version's."""
    if is_simulated(profile):
        return ()
    flags = []
    if len(found) != full.EXPECTED_PROBLEMS:
        flags.append(f"selection: {len(found)} problems, published are {full.EXPECTED_PROBLEMS}")
    if model_name(profile) != profile.parameters["model"]:
        flags.append(f"model: {model_name(profile)}, published is {profile.parameters['model']}")
    return tuple(flags)


def missing_model(profile: Profile) -> str | None:
    """Say in one sentence what the profile's model needs that is not here, or give None."""
    if is_simulated(profile):
        return None
    name = model_name(profile)
    if find_spec("inspect_ai") is None:
        return f"needs Inspect to ask {name}: pip install openrebench[agents]"
    if name.startswith("openai/") and not os.environ.get("OPENAI_API_KEY"):
        return f"needs OPENAI_API_KEY for {name}, or another model's name in {MODEL_VARIABLE}"
    return None


def _how_many(profile: Profile) -> int | None:
    most = profile.parameters.get("most_problems")
    return int(most) if most else None


def _amounts(profile: Profile, kind: str) -> Amounts:
    values = (profile.parameters[f"{kind}_{name}"] for name in Amounts._fields)
    return Amounts(*(float(value) for value in values))
