"""Score a masked language model: its graph is exported in the sandbox and run by this side.

What the model's code does beyond the recorded operations is moot: only the graph is scored.
"""

import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, final

from openrebench.core.card import Profile
from openrebench.core.environment import Environment, Measurement
from openrebench.core.seed import Seed
from openrebench.errors import InvalidSubmission, Reason, ReBenchError
from openrebench.isolation import snapshot
from openrebench.isolation.runner import Runner, RunResult
from openrebench.textbase import source

if TYPE_CHECKING:
    from torch import Tensor

    from openrebench.environments.restricted_mlm.checker.interpret import Graph

CHECKER = Path(__file__).parent / "checker"
START_VOCABULARY = 2048  # of agent/weights.safetensors
START_WIDTH, START_HIDDEN = 32, 64  # of agent/model.py
OUT = "exported"
MAX_EXPORT_BYTES = 1 << 30
CLOSE_TO_OFFSET = 0.05  # nats; no model of this kind gets there


@final
class RestrictedMLM(Environment):
    """Give the masked cross-entropy of a graph of allowed operations on hidden text."""

    def unavailable(self, profile: Profile) -> str | None:
        """Say what the profile misses here."""
        return source.unavailable(profile)

    def fetch(self, profile: str) -> None:
        """Get or make base models and text that do not ship."""
        source.fetch(self.card.profile(profile))

    def prepare(self, workspace: Path, profile: Profile, *, seed: Seed) -> None:
        """Add the text, the sizes and the checker to the workspace."""
        source.write_tokens(workspace / "tokens.bin", profile, ("base", "dev"))
        source.write_sizes(workspace / "sizes.json", profile)
        source.write_vocabulary(workspace / "vocabulary.json", profile)
        if profile.integer("vocabulary") != START_VOCABULARY:
            _write_unigram_start(workspace / "weights.safetensors", profile)
        _copy_checker(workspace)

    def reference(self, profile: str) -> Path:
        """Give the reference, which has the vocabulary that ships."""
        if self.card.profile(profile).integer("vocabulary") != START_VOCABULARY:
            raise ReBenchError(
                f"{self.card.label(profile)} has no reference yet; raw scores need none"
            )
        return super().reference(profile)

    def score(
        self, submission: Path, runner: Runner, profile: Profile, *, seed: Seed
    ) -> Measurement:
        """Give the cross-entropy in nats at masked positions (see `Environment.score`)."""
        return self._measure(submission, runner, profile, "score")

    def score_final(
        self, submission: Path, runner: Runner, profile: Profile, *, seed: Seed
    ) -> Measurement:
        """Give the same on the final split (see `Environment.score_final`)."""
        return self._measure(submission, runner, profile, "final")

    def _measure(
        self, submission: Path, runner: Runner, profile: Profile, split: str
    ) -> Measurement:
        graph = self._checked(_export(submission, runner, profile), profile)
        deadline = time.monotonic() + profile.limits.call_timeout_s
        with source.one_thread():
            raw = round(_masked_loss(graph, profile, split, deadline), 4)
        if raw < self.card.score.offset + CLOSE_TO_OFFSET:
            raise InvalidSubmission(Reason.IMPOSSIBLE, f"a loss of {raw} nats is not believable")
        return Measurement(
            raw=raw,
            message=f"masked cross-entropy {raw} nats; the graph has {len(graph.nodes)} operations",
            details={"split": split, "operations": len(graph.nodes)},
        )

    def _checked(self, graph: "Graph", profile: Profile) -> "Graph":
        """Check rules, sizes and shapes; give the graph on the profile's device."""
        import torch

        from openrebench.environments.restricted_mlm.checker import interpret

        shape = profile.integer("batch"), profile.integer("positions")
        try:
            interpret.check(
                graph, torch.zeros(shape, dtype=torch.int64), profile.integer("vocabulary")
            )
        except interpret.RuleBroken as error:
            raise InvalidSubmission(Reason.RULE_BROKEN, f"{error}") from error
        except interpret.BadGraph as error:
            raise InvalidSubmission(Reason.WRONG_OUTPUT, f"{error}") from error
        return graph.to(profile.device)


def _export(submission: Path, runner: Runner, profile: Profile) -> "Graph":
    """Record the forward pass in the sandbox; read back data only."""
    from openrebench.environments.restricted_mlm.checker import interpret
    from openrebench.textbase.weights import parse_tensors

    limits = profile.limits.model_copy(update={"call_timeout_s": profile.limits.load_timeout_s})
    sizes = [str(profile.integer(name)) for name in ("batch", "positions", "vocabulary")]
    with tempfile.TemporaryDirectory(prefix="openrebench-export-") as folder:
        workspace = Path(folder) / "workspace"
        shutil.copytree(submission, workspace)
        _copy_checker(workspace)
        source.write_sizes(workspace / "sizes.json", profile)
        done = runner.run(
            ["python", "-m", "checker.export", OUT, *sizes],
            workspace=workspace,
            limits=limits,
            env={"OMP_NUM_THREADS": "1"},
        )
        _check_run(done, limits.call_timeout_s)
        taken = snapshot.take(workspace, [f"{OUT}/*"], MAX_EXPORT_BYTES).files
    constants = parse_tensors("constants", taken.get(f"{OUT}/constants.safetensors", b""))
    try:
        return interpret.parse(taken.get(f"{OUT}/graph.json", b""), constants)
    except interpret.BadGraph as error:
        raise InvalidSubmission(Reason.WRONG_OUTPUT, str(error)) from error


def _check_run(done: RunResult, timeout_s: float) -> None:
    """Turn an export that failed into one sentence.

    Raises:
        InvalidSubmission: It failed.
    """
    if done.timed_out:
        raise InvalidSubmission(
            Reason.TIMED_OUT, f"importing and running model.py once took over {timeout_s:.0f} s"
        )
    if done.out_of_memory:
        raise InvalidSubmission(Reason.OUT_OF_MEMORY, "running model.py once took too much memory")
    if done.returncode != 0:
        lines = done.output.decode("utf-8", "replace").strip().splitlines() or ["no message"]
        text = "".join(c for c in lines[-1] if c.isprintable())[:300]
        reason = Reason.CRASHED if done.returncode < 0 else Reason.IMPORT_FAILED
        raise InvalidSubmission(reason, f"model.py could not be exported: {text}")


def _masked_loss(graph: "Graph", profile: Profile, name: str, deadline: float) -> float:
    """Give the mean cross-entropy in nats at the masked positions of a hidden split."""
    import torch
    from torch.nn import functional

    from openrebench.environments.restricted_mlm.hidden.masking import masked

    tokens = source.tokens(profile, name)
    total, count = 0.0, 0
    for hidden, shown, mask in masked(tokens, profile, name):
        logits = _logits(graph, shown.to(profile.device), deadline)
        wanted, at = hidden.to(profile.device), mask.to(profile.device)
        total += functional.cross_entropy(logits[at].double(), wanted[at], reduction="sum").item()
        count += int(mask.sum())
    if not torch.isfinite(torch.tensor(total)):
        raise InvalidSubmission(Reason.NON_FINITE, "the logits hold a NaN or an infinity")
    return total / count


def _logits(graph: "Graph", tokens: "Tensor", deadline: float) -> "Tensor":
    from openrebench.environments.restricted_mlm.checker import interpret

    try:
        return interpret.run(graph, tokens, deadline)
    except interpret.RuleBroken as error:
        raise InvalidSubmission(Reason.RULE_BROKEN, str(error)) from error
    except interpret.BadGraph as error:
        raise InvalidSubmission(Reason.WRONG_OUTPUT, str(error)) from error
    except TimeoutError as error:
        message = "running the graph on the hidden text takes too long"
        raise InvalidSubmission(Reason.TIMED_OUT, message) from error


def _write_unigram_start(path: Path, profile: Profile) -> None:
    """Write weights of agent/model.py that guess by frequency, as the trained start does."""
    import torch

    from openrebench.textbase.weights import save_tensors

    vocabulary = profile.integer("vocabulary")
    counts = torch.bincount(source.tokens(profile, "dev"), minlength=vocabulary) + 1.0
    weights = {
        "embedding.weight": torch.zeros(vocabulary, START_WIDTH),
        "up.weight": torch.zeros(START_HIDDEN, START_WIDTH),
        "up.bias": torch.zeros(START_HIDDEN),
        "out.weight": torch.zeros(vocabulary, START_HIDDEN),
        "out.bias": (counts / counts.sum()).log(),
    }
    save_tensors(path, weights)


def _copy_checker(workspace: Path) -> None:
    target = workspace / CHECKER.name
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(CHECKER, target, ignore=shutil.ignore_patterns("__pycache__"))
