"""The given repository, the reference, what variants are made of, and that they stay secret."""

import importlib.util
import json
import shutil
import stat
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from openrebench.core.catalog import find_card  # noqa: E402
from openrebench.core.result import Outcome, ScoreResult  # noqa: E402
from openrebench.core.scoring import score_submission  # noqa: E402
from openrebench.core.seed import Seed  # noqa: E402
from openrebench.core.workspace import stage  # noqa: E402
from openrebench.errors import InvalidSubmission, Reason  # noqa: E402

CARD = find_card("llm_foundry")

from openrebench.environments.llm_foundry import (  # noqa: E402
    environment,
    large,
    material,
    variants,
    verdict,
)
from openrebench.environments.llm_foundry.calibration import Calibration, Sample  # noqa: E402
from openrebench.environments.llm_foundry.hidden import honest, pool  # noqa: E402
from openrebench.environments.llm_foundry.runs import finetune  # noqa: E402
from openrebench.isolation.local import LocalRunner  # noqa: E402
from openrebench.isolation.probe import probe_modes  # noqa: E402
from openrebench.isolation.runner import IsolationMode  # noqa: E402

SIZES = ("small", "tiny", "gpu")
TINY = CARD.profile("tiny")
OTHER_MODES = [
    r.mode for r in probe_modes()[1:] if r.available and r.mode is not IsolationMode.SUBPROCESS
]


def load(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def foundry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the workspace's package importable for one test."""
    monkeypatch.syspath_prepend(str(CARD.folder / "agent"))
    yield
    for name in [n for n in sys.modules if n.split(".")[0] == "foundry"]:
        del sys.modules[name]


def test_the_repository_as_given_makes_its_own_truth(start: ScoreResult) -> None:
    assert start.outcome is Outcome.SCORED, start
    (run,) = start.details["runs"]
    assert max(run["drift"].values()) == 0.0 and run["loss_gap"] == 0.0
    assert 0 < run["cpu_s"] and start.raw == float(f"{run['cpu_s']:.4g}")


def test_the_reference_learns_the_same_sooner(tiny, start: ScoreResult) -> None:
    result = tiny.score(tiny.folder / "hidden/reference")
    assert result.outcome is Outcome.SCORED, result
    assert max(result.details["runs"][0]["drift"].values()) < 1e-4
    assert result.raw < start.raw / 2


@pytest.mark.parametrize("mode", OTHER_MODES, ids=str)
def test_every_isolation_mode_can_score(mode: IsolationMode, tiny, start: ScoreResult) -> None:
    with LocalRunner(mode) as runner:
        folder = tiny.folder / "hidden/reference"
        result = score_submission(tiny.environment, folder, "tiny", runner)
    assert result.outcome is Outcome.SCORED, result
    (run,) = result.details["runs"]
    assert result.raw == pytest.approx(run["cpu_s"] or run["wall_s"], rel=1e-3)


@pytest.fixture
def calibrated() -> Calibration:
    parameters = {"calibration_steps": 1, "calibration_s": 2.0, "calibration_every_s": 0.5}
    return Calibration(TINY.model_copy(update={"parameters": TINY.parameters | parameters}))


def test_a_slow_machine_counts_for_less(calibrated: Calibration) -> None:
    assert calibrated.factor("cpu_s") == 1.0
    calibrated.samples += [Sample(cpu_s=4.0, wall_s=8.0), Sample(cpu_s=2.0, wall_s=2.0)]
    assert calibrated.factor("cpu_s") == (2.0 / 4.0 + 2.0 / 2.0) / 2
    assert calibrated.factor("wall_s") == (2.0 / 8.0 + 2.0 / 2.0) / 2


def test_the_calibration_times_the_same_work_again_and_again(calibrated: Calibration) -> None:
    assert calibrated.pauses is not None and calibrated.pauses.every_s == 0.5
    for _ in range(2):
        calibrated.pauses.act()
    assert len(calibrated.samples) == 2
    assert all(0 < sample.cpu_s <= sample.wall_s * 1.1 for sample in calibrated.samples)


def test_sizes_without_a_calibration_are_not_paused() -> None:
    calibration = Calibration(TINY)
    calibration.sample()
    assert calibration.pauses is None and calibration.samples == []


def test_short_runs_are_repeated_and_long_ones_are_not() -> None:
    profile = CARD.profile("small")

    def more(*seconds: float) -> bool:
        timed = [environment.Run(s, s, True, None, None) for s in seconds]
        return environment._more(timed, range(3), profile)

    assert more() and more(6.0) and more(6.0, 6.0)
    assert not more(6.0, 6.0, 6.0) and not more(41.0) and not more(9.0, 9.0)
    assert not environment._more([environment.Run(1, 1, True, None, None)], range(1), profile)


def test_too_much_cpu_time_is_too_late() -> None:
    profile = CARD.profile("small")
    limit = profile.integer("cpu_limit_s")
    environment._check_limit(limit - 1.0, profile)
    with pytest.raises(InvalidSubmission, match="took 76 s; the limit is 75 s") as caught:
        environment._check_limit(limit + 1.0, profile)
    assert caught.value.reason is Reason.TIMED_OUT
    environment._check_limit(1e9, CARD.profile("gpu"))


def test_cpu_time_counts_where_it_is_known() -> None:
    cpu = environment.Run(3.0, 9.0, True, None, None)
    wall = environment.Run(None, 9.0, False, None, None)
    assert (cpu.seconds, cpu.clock, wall.seconds, wall.clock) == (3.0, "cpu_s", 9.0, "wall_s")


@pytest.mark.parametrize("script", ["exit 3\n", "sleep 0\n", "rm -rf base_model\nexit 0\n"])
def test_a_script_that_does_nothing_is_invalid(tiny, tmp_path: Path, script: str) -> None:
    (tmp_path / "finetune.sh").write_text(script)
    result = tiny.score(tmp_path)
    assert result.outcome is Outcome.INVALID, result
    assert "\n" not in result.message and "in a run with another" in result.message


def test_a_submission_without_the_script_is_told_so(tiny, tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("pass\n")
    result = tiny.score(tmp_path)
    assert result.reason is Reason.MISSING_FILE and "finetune.sh" in result.message


def test_what_a_failing_run_prints_is_not_passed_on(tiny, tmp_path: Path) -> None:
    (tmp_path / "finetune.sh").write_text("cat train_data.jsonl\nexit 77\n")
    result = tiny.score(tmp_path)
    assert "77" not in result.message and "prompt" not in result.model_dump_json()


@pytest.mark.parametrize("where", ["agent/foundry/tokenizer.py", "hidden/reference/rows.py"])
def test_tokenizers_agree_with_the_library(where: str) -> None:
    library = pytest.importorskip("tokenizers")
    path = material.assets.shipped("data/tokenizer.json")
    ours = load(CARD.folder / where, "ours").Tokenizer(path)
    theirs = library.Tokenizer.from_file(str(path))
    rows = [*variants.ODD_ROWS, *material.draw_rows("dev", 150, np.random.default_rng(1))]
    texts = [row[key] for row in rows for key in ("prompt", "response") if row[key].isascii()]
    assert [ours.encode(t) for t in texts] == [e.ids for e in theirs.encode_batch(texts)]


def test_no_option_of_a_variant_is_the_size_s_own() -> None:
    for name in SIZES:
        own = material.options_of(CARD.profile(name))
        for table in (variants.SAME_WORK, variants.OTHER_WORK):
            for path, values in table.items():
                found = own
                for part in path.split("."):
                    found = found[part]
                assert found not in values, (name, path)


def test_a_variant_changes_what_it_says_and_nothing_else() -> None:
    import yaml

    for k in range(30):
        rng = Seed(bytes([k]) * 32).rng("options")
        changed = variants.draw_options(rng, TINY, short=bool(k % 2))
        options = yaml.safe_load(material.configuration(TINY, changed))
        own = flat(material.options_of(TINY))
        assert {path for path in own if flat(options)[path] != own[path]} <= set(changed)
        assert len(changed) == (3 if k % 2 else 2)


def flat(options: dict, prefix: str = "") -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in options.items():
        below = flat(value, f"{prefix}{key}.") if isinstance(value, dict) else None
        found |= {prefix + key: value} if below is None else below
    return found


def test_an_unknown_option_is_our_error() -> None:
    with pytest.raises(KeyError, match="no option"):
        material.configuration(TINY, {"optimizer.rate": 1})


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pool.Pool:
    """A pool whose truths cost nothing to make."""
    monkeypatch.setenv("OPENREBENCH_HOME", str(tmp_path))
    monkeypatch.setattr(pool, "finetune", FakeRun)
    return pool.Pool(TINY.model_copy(update={"parameters": {**TINY.parameters, "short_rows": 4}}))


class FakeRun:
    """Gives the base model back."""

    cpu_s = wall_s = 1.0

    def __init__(self, files: Path, variant: variants.Variant, runner: object, profile: object):
        self.output = variant.base

    def __enter__(self) -> "FakeRun":
        return self

    def __exit__(self, *error: object) -> None:
        pass


def test_a_pool_fills_itself_and_can_be_extended(made: pool.Pool) -> None:
    drawn = made.draw(Seed.fresh(), runner=None)
    assert len(drawn) == TINY.integer("pool") == len(made.names())
    made.add(runner=None)
    assert len(made.names()) == TINY.integer("pool") + 1
    first, second = made.variants()
    assert set(first) == {pool.TIMED, pool.SHORT}
    texts = [(v[pool.TIMED].inputs / material.ROWS).read_text() for v in (first, second)]
    assert texts[0] != texts[1] and first[pool.TIMED].changed != second[pool.TIMED].changed
    assert texts[0].count("\n") == TINY.integer("rows")


def test_a_draw_depends_on_the_seed_alone(made: pool.Pool) -> None:
    made.fill(6, runner=None)
    orders = [str(made.draw(Seed(bytes([k % 8]) * 32), runner=None)) for k in range(16)]
    assert orders[:8] == orders[8:] and len(set(orders)) > 4


def test_one_command_extends_the_pool(
    made: pool.Pool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["pool", "--profile", "tiny", "--add", "2"])
    pool.main()
    assert capsys.readouterr().out == "tiny: 2 variants\n"


def test_only_its_owner_can_read_the_pool(made: pool.Pool) -> None:
    made.add(runner=None)
    for folder in (made.folder, made.folder.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_the_workspace_tells_nothing_of_the_pool(tiny, start: ScoreResult, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    stage(tiny.environment, "tiny", workspace, seed=Seed.fresh())
    variant = pool.Pool(TINY).variants()[0][pool.TIMED]
    secret = (variant.inputs / material.ROWS).read_text().splitlines()
    files = [p for p in workspace.rglob("*") if p.is_file()]
    given = "".join(p.read_text(errors="replace") for p in files if p.suffix != ".safetensors")
    assert not [line for line in secret if json.loads(line)["response"] in given]
    assert str(variant.changed["seed"]) not in given
    truth = (variant.truth / material.WEIGHTS).read_bytes()
    assert all(p.read_bytes() != truth for p in files)
    shipped = [p for p in CARD.folder.rglob("*") if p.is_file() and "tests" not in p.parts]
    assert not [p for p in shipped if p.suffix in (".safetensors", ".pt") and "data" not in p.parts]


def test_the_model_of_the_workspace_loads_every_base(foundry: None, tmp_path: Path) -> None:
    from foundry.config import load_config
    from foundry.models.gpt import build_model

    parameters = {"vocabulary": 2048, "context": 160, "layers": 2, "heads": 2, "width": 32}
    parameters = {**TINY.parameters, **parameters, "base": "made"}
    random = TINY.model_copy(update={"parameters": parameters})
    for profile in (TINY, random):
        material.write_base(tmp_path / "base_model", profile)
        (tmp_path / "finetune.yaml").write_text(material.configuration(profile))
        base = f"model.pretrained_model_path={tmp_path / 'base_model'}"
        config = load_config(tmp_path / "finetune.yaml", [base])
        assert sum(p.numel() for p in build_model(config).parameters()) > 70_000


def test_the_gpu_model_has_1_3_billion_weights() -> None:
    shapes = large.shapes(large.sizes_of(CARD.profile("gpu")))
    count = sum(int(np.prod(shape)) for shape in shapes.values())
    assert 1.25e9 < count < 1.35e9


def test_the_table_of_honest_changes_keeps_its_distance() -> None:
    table = json.loads((CARD.folder / "hidden/honest-small.json").read_text())
    tolerance = float(CARD.profile("small").parameters["tolerance"])
    assert len(table["changes"]) >= 10
    assert set(table["changes"]) >= {*honest.HONEST, "the reference"}
    assert all(max(row["drift"].values()) < tolerance / 10 for row in table["changes"].values())
    assert all(row["drift"]["all"] > 5 * tolerance for row in table["cheats"].values())
    assert {"skip_last_steps", "skip_last_tenth"} <= set(table["cheats"])


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", honest.HONEST)
def test_honest_changes_are_valid(name: str, tiny, start: ScoreResult) -> None:
    with honest.changed(name, material.AGENT) as folder:
        result = tiny.score(folder)
    assert result.outcome is Outcome.SCORED, result
    assert max(result.details["runs"][0]["drift"].values()) < 1e-4


class Lab:
    """Runs the reference on the same rows with options of one's own, and keeps the results."""

    def __init__(self, runner: LocalRunner, folder: Path) -> None:
        self.runner, self.folder = runner, folder
        parameters = {**TINY.parameters, "rows": 120}
        self.profile = TINY.model_copy(update={"parameters": parameters})
        self.base = pool.Pool(TINY).base
        self.unchanged = self.run("unchanged", {})

    def run(self, name: str, changed: variants.Options) -> Path:
        inputs, output = self.folder / f"{name} in", self.folder / f"{name} out"
        inputs.mkdir()
        rows = [*material.draw_rows("base", 120, np.random.default_rng(5)), *variants.ODD_ROWS]
        (inputs / material.ROWS).write_text(material.rows_text(rows))
        (inputs / material.CONFIG).write_text(material.configuration(self.profile, changed))
        variant = variants.Variant(inputs=inputs, base=self.base, truth=output)
        with finetune(material.REFERENCE, variant, self.runner, self.profile) as finished:
            shutil.copytree(finished.output, output)
        return output


@pytest.fixture(scope="module")
def lab(runner: LocalRunner, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return Lab(runner, tmp_path_factory.mktemp("lab"))


OPTIONS = [
    pytest.param(path, value, id=f"{path}={value}")
    for table in (variants.SAME_WORK, variants.OTHER_WORK)
    for path, values in table.items()
    for value in values
]


@pytest.mark.slow
@pytest.mark.timeout(200)
@pytest.mark.parametrize(("path", "value"), OPTIONS)
def test_who_ignores_an_option_is_seen(path: str, value: object, lab: Lab) -> None:
    own = material.options_of(TINY)["optimizer"]["lr"]
    value = own * value if path == variants.RATE else value
    changed = lab.run(f"{path} {value}".replace("/", "_"), {path: value})
    drift = verdict.measure_distance(lab.unchanged, changed, lab.base).drift
    assert drift["all"] > 5 * float(TINY.parameters["tolerance"]), drift
