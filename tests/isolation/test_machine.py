"""Modes, devices, filters: what is found out about this machine."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import openrebench
from openrebench.errors import RunnerUnavailable
from openrebench.isolation import cuda, device, layout, probe, seccomp
from openrebench.isolation.local import LocalRunner, worker_site_packages
from openrebench.isolation.runner import IsolationMode, Limits

REPO = Path(openrebench.__file__).parents[2]


def test_every_mode_is_reported_strongest_first() -> None:
    reports = probe.probe_modes()
    assert [r.mode for r in reports] == list(IsolationMode)
    for report in reports:
        assert report.available == (report.why_not is None)
    assert probe.strongest_mode() == next(r.mode for r in reports if r.available)


def reports(*available: IsolationMode) -> tuple[probe.ModeReport, ...]:
    return tuple(
        probe.ModeReport(
            mode=mode,
            available=mode in available,
            why_not=None if mode in available else "bubblewrap is missing",
            weaker_in=(),
        )
        for mode in IsolationMode
    )


def test_subprocess_is_never_taken_silently(monkeypatch) -> None:
    monkeypatch.setattr(probe, "probe_modes", lambda: reports(IsolationMode.SUBPROCESS))
    with pytest.raises(RunnerUnavailable, match="apt-get install bubblewrap"):
        LocalRunner()
    with pytest.raises(RunnerUnavailable, match="bubblewrap is missing"):
        LocalRunner(IsolationMode.BUBBLEWRAP)
    LocalRunner(IsolationMode.SUBPROCESS).close()


def test_without_a_worker_environment_the_way_out_is_named(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv(layout.WORKER_ENV_VARIABLE, str(tmp_path))
    with pytest.raises(RunnerUnavailable, match="make setup"):
        layout.worker_env()


def test_packages_of_submissions_are_found() -> None:
    assert (worker_site_packages() / "torch").is_dir()
    assert not (worker_site_packages() / "openrebench").exists()


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("namespaces", [True, False])
def test_filters_are_whole_and_jump_inside_themselves(machine, namespaces) -> None:
    built = seccomp.program(namespaces=namespaces, machine=machine)
    steps = [built[k : k + 8] for k in range(0, len(built), 8)]
    assert len(built) % 8 == 0 and 100 < len(steps) < 4096
    for number, step in enumerate(steps):
        code, when, otherwise = int.from_bytes(step[:2], "little"), step[2], step[3]
        if code != seccomp.RETURN:
            assert number + 1 + max(when, otherwise) < len(steps)
    assert steps[-1][0] == seccomp.RETURN


def test_devices_have_names_fit_for_files() -> None:
    cpu = device.device_fingerprint("cpu")
    assert cpu.available and re.fullmatch(r"[a-z0-9-]+-cores", cpu.slug)
    assert cpu.facts()["cores"] == cpu.cores and "gpu" not in cpu.facts()
    cuda = device.device_fingerprint("cuda")
    assert cuda.available == bool(cuda.gpu)


def test_timed_scores_never_overlap(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(device, "_lock_path", lambda: tmp_path / "lock")
    entered = threading.Event()

    def second() -> None:
        with device.exclusive():
            entered.set()

    thread = threading.Thread(target=second)
    with device.exclusive():
        thread.start()
        assert not entered.wait(0.1)
    assert entered.wait(5)
    thread.join()


def test_a_planted_lock_is_refused(monkeypatch, tmp_path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "target")
    monkeypatch.setattr(device, "_lock_path", lambda: tmp_path / "lock")
    with pytest.raises(OSError), device.exclusive():
        pass
    assert not (tmp_path / "target").exists()


@pytest.mark.skipif(
    os.getuid() != 0 or shutil.which("setpriv") is None, reason="needs root and setpriv"
)
def test_an_ordinary_user_is_protected_too() -> None:
    """Run the promises again as a user who may make no control groups.

    The checkout may lie where only root can go, so it is first bound to where all can.
    """
    python = os.path.relpath(Path(sys.prefix, "bin", "python"), REPO)
    worker = os.path.relpath(layout.worker_env(), REPO)
    inner = ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups", python]
    inner += ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/isolation/test_promises.py"]
    bind = f'mount --bind {shlex.quote(str(REPO))} /mnt && cd /mnt && exec "$@"'
    command = ["unshare", "--mount", "--propagation=private", "sh", "-c", bind, "sh", *inner]
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": "/mnt/src", "HOME": "/nonexistent"}
    env[layout.WORKER_ENV_VARIABLE] = str(Path("/mnt", worker))
    done = subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=250, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert "passed" in done.stdout


SMI = {
    "--query-gpu=index,uuid,name,driver_version": [
        ["0", "GPU-aa", "NVIDIA H200", "580.1"],
        ["1", "GPU-bb", "NVIDIA H200", "580.1"],
    ],
    "--query-compute-apps=pid,gpu_uuid": [["11", "GPU-aa"], ["12", "GPU-bb"]],
}


@pytest.mark.parametrize(
    ("visible", "slug", "cards", "processes"),
    [
        (None, "2-nvidia-h200", [0, 1], {11, 12}),
        ("0, 1", "2-nvidia-h200", [0, 1], {11, 12}),
        ("1", "nvidia-h200", [1], {12}),
        ("GPU-a", "nvidia-h200", [0], {11}),
        ("", "no-gpu", [], set()),
    ],
)
def test_what_cuda_visible_devices_names_is_ours(
    visible: str | None, slug: str, cards: list[int], processes: set[int], monkeypatch
) -> None:
    monkeypatch.setattr(device, "_asked", lambda query, _: SMI[query])
    monkeypatch.setattr(Path, "glob", lambda *_: [Path(f"/dev/nvidia{k}") for k in (0, 1)])
    monkeypatch.delenv(device.VISIBLE, raising=False)
    if visible is not None:
        monkeypatch.setenv(device.VISIBLE, visible)
    found = device.device_fingerprint.__wrapped__("cuda")
    assert (found.slug, found.gpus, found.available) == (slug, len(cards), bool(cards))
    files = [name for name in cuda.cuda_devices() if name not in cuda.CONTROL_DEVICES]
    assert files == [f"/dev/nvidia{card}" for card in cards]
    assert device.processes_on_gpu() == processes


def test_of_our_environment_only_switches_of_gpus_reach_a_sandbox(monkeypatch) -> None:
    monkeypatch.setenv("NCCL_NVLS_ENABLE", "0")
    monkeypatch.setenv("SOME_API_KEY", "secret")
    limits = Limits()
    for devices, expected in (((), None), (("/dev/nvidia0",), "0")):
        spec = layout.BoxSpec(
            argv=("true",), mode=IsolationMode.LANDLOCK, limits=limits, devices=devices
        )
        inside = layout.environment(spec)
        assert inside.get("NCCL_NVLS_ENABLE") == expected
        assert "SOME_API_KEY" not in inside
