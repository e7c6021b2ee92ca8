"""Run attempts of agents by a plan: what `re-bench run` does."""

import inspect
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from inspect_ai import Task
from inspect_ai import eval as inspect_eval
from inspect_ai.agent import Agent
from inspect_ai.model import Model, ModelCost
from inspect_ai.solver import Solver
from pydantic import JsonValue

from openrebench.core.attempt import Attempt, StoredAttempt, find_attempts
from openrebench.core.catalog import load_environment
from openrebench.core.environment import Environment
from openrebench.errors import CardError, ReBenchError, UnknownEnvironment
from openrebench.harness import compat, interrupts, live
from openrebench.harness.accounts import Accounts, accounts_so_far
from openrebench.harness.budget import Fuses, spent
from openrebench.harness.lifecycle import Session, Terms
from openrebench.harness.plan import NO_MODEL, Cell, Plan, held, progress
from openrebench.harness.prices import Prices, load_prices
from openrebench.harness.progress import shown_progress
from openrebench.harness.tasks import environment_task
from openrebench.harness.transcripts import TEMPORARY, keep_transcript, recover_transcripts
from openrebench.isolation.device import device_fingerprint
from openrebench.isolation.local import LocalRunner

PACKAGE = "openrebench"


class Ran(NamedTuple):
    """What came of a plan.

    Attributes:
        folders: Attempts of the plan, in its order, also those of earlier processes.
        not_run: Why environments could not be attempted here, by name.
    """

    plan: Plan
    folders: list[Path]
    not_run: dict[str, str]


def run_attempts(  # noqa: PLR0913 - one argument for each thing that can differ
    card_names: Sequence[str],
    *,
    agent: str,
    model: str = NO_MODEL,
    profile: str = "small",
    time_limit_s: float,
    attempts: int = 1,
    root: Path = Path("attempts"),
    seed: int = 0,
    parallel: int = 1,
    scoring: str = "counted",
    fuses: Fuses | None = None,
    agent_args: Mapping[str, JsonValue] | None = None,
    model_args: Mapping[str, JsonValue] | None = None,
    limits: Mapping[str, float] | None = None,
) -> list[Path]:
    """Let one agent attempt environments; gives the attempts' folders.

    Args:
        card_names: Ids or aliases of environments.
        agent: One of this package (`react`, `literal_search`, ...), or any agent or solver that
            Inspect knows by name.
        model: Any Inspect model string; agents without a model need none.
        profile: Size to attempt.
        time_limit_s: Working seconds of each attempt.
        attempts: Attempts at each environment.
        root: Folder of attempts.
        seed: Seed of agents that draw at random.
        parallel: Attempts at a time. More than one share this machine's cores and disturb each
            other's timings.
        scoring: `counted` or `free`: whether score calls use the solver's time.
        fuses: Further limits.
        agent_args: Further arguments of the agent.
        model_args: Arguments of the model.
        limits: Limits by Inspect's names that are no fuses, such as `message_limit`.

    Raises:
        KeyboardInterrupt: It was interrupted; the attempts have ended and kept their scores.
        ReBenchError: An environment can't run here.
    """
    plan = Plan.make(
        [load_environment(name).card.id for name in card_names],
        [agent],
        [model],
        attempts,
        profile=profile,
        time_limit_s=time_limit_s,
        scoring=scoring,
        fuses=fuses or Fuses(),
        seed=seed,
        parallel=parallel,
        agent_args=agent_args or {},
        model_args=model_args or {},
    )
    return run_plan(plan, root, limits=limits).folders


def run_plan(
    plan: Plan,
    root: Path,
    *,
    skip_unavailable: bool = False,
    limits: Mapping[str, float] | None = None,
) -> Ran:
    """Do what is left of a plan: new attempts, and those that were interrupted.

    Args:
        plan: A new plan, or one of this folder.
        root: Folder of attempts.
        skip_unavailable: Leave out environments that can't run here, and say why.
        limits: Limits by Inspect's names that are no fuses.

    Raises:
        KeyboardInterrupt: It was interrupted; what it had begun can be resumed.
        ReBenchError: An agent, a model or an environment can't be used here.
    """
    root = root.resolve()
    environments, not_run = usable_environments(plan, skip_unavailable=skip_unavailable)
    prices = load_prices().over(plan.prices)
    models = {name: _model(name, plan, prices) for name in dict.fromkeys(_names(plan, "model"))}
    for agent in dict.fromkeys(_names(plan, "agent")):
        _solver(agent, plan)  # before anything is written: an error then costs nothing
    if not plan.path(root).exists():
        plan.save(root)
    with held(plan, root):
        recover_transcripts(root, find_attempts(root))
        tasks = []
        for cell, session in _sessions(plan, root, environments):
            terms = _terms(plan, cell, environments[cell.environment], root, session)
            solver, model = _solver(cell.agent, plan), models[cell.model]
            tasks.append(environment_task(terms, solver=solver, model=model, limits=limits))
        _evaluate(tasks, root, plan.parallel)
    done = progress(plan, root)
    attempts = sorted({**done.begun, **done.finished}.items())
    return Ran(plan, [attempt.folder for _, attempt in attempts], not_run)


def _names(plan: Plan, field: str) -> list[str]:
    return [str(getattr(cell, field)) for cell in plan.cells]


def usable_environments(
    plan: Plan, *, skip_unavailable: bool
) -> tuple[dict[str, Environment], dict[str, str]]:
    """Load the environments of a plan that can run here, and say why others can't.

    Raises:
        ReBenchError: One can't, and `skip_unavailable` is not set.
    """
    found, not_run = {}, {}
    for name in dict.fromkeys(_names(plan, "environment")):
        try:
            environment = load_environment(name)
            reason = environment.unavailable(environment.card.profile(plan.profile))
        except (UnknownEnvironment, CardError) as error:
            if not skip_unavailable:
                raise
            not_run[name] = str(error)
            continue
        if reason is None:
            found[name] = environment
        elif skip_unavailable:
            not_run[name] = reason
        else:
            label = environment.card.label(plan.profile)
            raise ReBenchError(f"{label} can't run here: {reason}")
    return found, not_run


def _model(name: str, plan: Plan, prices: Prices) -> Model:
    """Make a model, and let Inspect know what it costs."""
    model, price = compat.make_model(name, plan.model_args), prices.find(name)
    if name == NO_MODEL:
        return model
    if price is not None:
        read, write = price.cache_read, price.cache_write
        cost = ModelCost(
            input=price.input, output=price.output, input_cache_read=read, input_cache_write=write
        )
        compat.set_price(model, cost)
    elif plan.fuses.max_cost_usd is not None:
        raise ReBenchError(
            f"--max-cost needs the price of '{name}', which is unknown; "
            f"give it with --price {name}=INPUT,OUTPUT (USD per million tokens)"
        )
    return model


def _solver(agent: str, plan: Plan) -> Solver | Agent:
    name = f"{PACKAGE}/{agent}" if _own(agent) else agent
    return compat.make_solver(name, _arguments(agent, plan))


def _arguments(agent: str, plan: Plan) -> dict[str, JsonValue]:
    """Give an agent's arguments: those given, and the seed if it takes one."""
    own = _own(agent)
    seeded = own is not None and "seed" in inspect.signature(own).parameters
    return {**({"seed": plan.seed} if seeded else {}), **plan.agent_args}


def _own(agent: str) -> Agent | None:
    """Find an agent of this package by its short name."""
    from openrebench import _registry  # imports the agents, which import the harness

    return getattr(_registry, agent) if agent in _registry.__all__ else None


def _sessions(
    plan: Plan, root: Path, environments: Mapping[str, Environment]
) -> Iterator[tuple[Cell, Session]]:
    """Yield what is left to do here; ends attempts that were interrupted with no time left."""
    so_far = progress(plan, root)
    for cell in so_far.left(plan):
        begun, environment = so_far.begun.get(cell.place), environments.get(cell.environment)
        if environment is None:
            continue
        session = Session(plan=plan.id, place=cell.place, number=cell.number)
        if begun is not None:
            _check_resumable(begun, environment)
            earlier = accounts_so_far(begun)
            if spent(plan.budget, plan.fuses, earlier.used()):
                _close(begun, environment, earlier)
                continue
            session = replace(session, folder=begun.folder, earlier=earlier)
        yield cell, session


def _check_resumable(begun: StoredAttempt, environment: Environment) -> None:
    """Refuse what would put scores that can't be compared into one log."""
    record, card = begun.record, environment.card
    if record.environment_version != card.version:
        raise ReBenchError(
            f"{begun.folder}: was begun with {card.id} {record.environment_version}, and this is "
            f"{card.version}; resume it with the version of openrebench that has it"
        )
    device = device_fingerprint(card.profile(record.profile).device).slug
    if record.device != device:
        raise ReBenchError(
            f"{begun.folder}: was begun on {record.device}, and this is {device}; resume it there"
        )


def _close(begun: StoredAttempt, environment: Environment, earlier: Accounts) -> None:
    """End an attempt that was interrupted when its budget was all but used."""
    with LocalRunner() as runner:
        attempt = Attempt(begun.folder, environment, runner)
        attempt.end("budget", earlier.usage())


def _terms(plan: Plan, cell: Cell, environment: Environment, root: Path, session: Session) -> Terms:
    fuses = plan.fuses
    if cell.model == NO_MODEL:
        fuses = fuses.model_copy(update={"max_tokens": None, "max_cost_usd": None})
    return Terms(
        environment=environment,
        profile=plan.profile,
        budget=plan.budget,
        root=root,
        charge_scoring=plan.scoring == "counted",
        fuses=fuses,
        settings=_arguments(cell.agent, plan),
        session=session,
    )


def _evaluate(tasks: list[Task], root: Path, parallel: int) -> None:
    """Run tasks and keep their transcripts with the attempts, also when interrupted."""
    if not tasks:
        return
    logs = Path(tempfile.mkdtemp(prefix=f"{TEMPORARY}{os.getpid()}-", dir=root))
    try:
        with shown_progress(), interrupts.heeded():
            done = inspect_eval(
                tasks, log_dir=str(logs), max_tasks=parallel, max_samples=parallel, display="none"
            )
    finally:
        for log in sorted(logs.glob("*.eval")):
            keep_transcript(log, live.folders())
        shutil.rmtree(logs)
    if len(done) < len(tasks) or any(log.status == "cancelled" for log in done):
        raise KeyboardInterrupt
