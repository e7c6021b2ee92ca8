"""Loading and calling a submission: what comes back, and what is said about one that fails."""

import textwrap
import time

import numpy as np
import pytest

from openrebench.errors import InvalidSubmission, Reason
from openrebench.isolation import channel
from openrebench.isolation.probe import strongest_mode
from openrebench.isolation.runner import IsolationMode, Limits, Pauses

LIMITS = Limits(load_timeout_s=15, call_timeout_s=4, memory_bytes=1 << 30, processes=48)
DOUBLE = "def f(x):\n    return x * 2\n"
STRONGEST = strongest_mode()


@pytest.fixture
def used(runner_for, tmp_path):
    """Load a program in a worker and call it with each input; gives the calls."""

    def run(program: str, *inputs: np.ndarray, mode: IsolationMode = STRONGEST):
        (tmp_path / "solution.py").write_text(textwrap.dedent(program))
        with runner_for(mode).worker(tmp_path, LIMITS) as worker:
            worker.load("solution", "f", output_capacity_bytes=1 << 20)
            return [worker.call(x, np.arange(min(len(x), 64))) for x in inputs]

    return run


def fresh(n: int = 1000) -> np.ndarray:
    return np.random.default_rng().integers(-(2**31), 2**31, n, dtype=np.int32)


def test_outputs_come_back(used, mode) -> None:
    inputs = [fresh(n) for n in (0, 1, 5, 100_000, 3)]
    for x, call in zip(inputs, used(DOUBLE, *inputs, mode=mode), strict=True):
        assert np.array_equal(call.output, x * 2)
        assert np.array_equal(call.looked, (x * 2)[:64])
        assert not call.output.flags.writeable and 0 < call.elapsed_s < 2


def test_a_worker_that_writes_to_its_input_changes_its_own_copy(used) -> None:
    x = fresh()
    before = x.copy()
    (call,) = used("def f(x):\n    x.zero_()\n    return x\n", x)
    assert np.array_equal(x, before) and not call.output.any()


def test_files_beside_the_module_can_be_read(used, tmp_path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "data.txt").write_text("3")
    (tmp_path / "other.py").write_text("N = int(open('more/data.txt').read())")
    x = fresh()
    (call,) = used("import other\ndef f(x):\n    return x * other.N\n", x)
    assert np.array_equal(call.output, x * 3)


BAD_LOADS = {
    "syntax": ("def f(x)\n", Reason.IMPORT_FAILED, "solution.py line 1: SyntaxError"),
    "import": ("\nimport nothing\n", Reason.IMPORT_FAILED, "line 2: ModuleNotFoundError"),
    "exit": ("import sys\nsys.exit(0)\n", Reason.IMPORT_FAILED, "SystemExit"),
    "no function": ("g = 1\n", Reason.IMPORT_FAILED, "no function f"),
    "not callable": ("f = 1\n", Reason.IMPORT_FAILED, "no function f"),
    "dies": ("import os\nos._exit(0)\n", Reason.CRASHED, "exit status 0"),
    "aborts": ("import os\nos.abort()\n", Reason.CRASHED, "signal 6"),
    "flood": ("while True: print('x' * 10**6)\n", Reason.RULE_BROKEN, "more than 1 MiB"),
}


@pytest.mark.parametrize("case", BAD_LOADS)
def test_bad_loads(used, case) -> None:
    program, reason, says = BAD_LOADS[case]
    check_refused(lambda: used(program), reason, says)


BAD_CALLS = {
    "shape": ("return x[:5]", Reason.WRONG_SHAPE, "shape (5,); expected (1000,)"),
    "dtype": ("return x.long()", Reason.WRONG_OUTPUT, "dtype int64"),
    "type": ("return [1]", Reason.WRONG_OUTPUT, "returned list"),
    "nothing": ("return None", Reason.WRONG_OUTPUT, "NoneType"),
    "raises": ("return {}['key']", Reason.CRASHED, "KeyError: 'key'"),
    "long text": ("raise OSError('e' * 9999 + '\\n\\x1b')", Reason.CRASHED, "OSError: eee"),
    "hang": ("import time; time.sleep(60)", Reason.TIMED_OUT, "within 4 s of call 1"),
    "dies": ("import os; os._exit(0)", Reason.CRASHED, "exit status 0"),
    "segfault": ("import ctypes; ctypes.string_at(0)", Reason.CRASHED, "signal 11"),
    "memory": ("return [bytearray(1 << 26) for _ in range(99)]", Reason.OUT_OF_MEMORY, "1 GiB"),
    "flood": ("while True: print('x' * 10**6)", Reason.RULE_BROKEN, "more than 1 MiB"),
    "kills": ("import os; [os.kill(p, 9) for p in (os.getppid(), -1)]", Reason.CRASHED, ""),
}


@pytest.mark.parametrize("case", BAD_CALLS)
def test_bad_calls(used, case) -> None:
    body, reason, says = BAD_CALLS[case]
    check_refused(lambda: used(f"def f(x):\n    {body}\n", fresh()), reason, says)


HARD_TO_END = {
    "forks": ("import os\n    while True: os.fork()", None, ""),
    "flood": BAD_CALLS["flood"],
    "memory": BAD_CALLS["memory"],
    "closes": (
        "import os, time\n    os.closerange(0, 4096)\n    time.sleep(60)",
        Reason.CRASHED,
        "closed its connection",
    ),
}


@pytest.mark.parametrize("case", HARD_TO_END)
def test_what_is_hard_to_end_ends_in_every_mode(used, mode, case) -> None:
    body, reason, says = HARD_TO_END[case]
    started = time.monotonic()
    check_refused(lambda: used(f"def f(x):\n    {body}\n", fresh(), mode=mode), reason, says)
    assert time.monotonic() - started < 12


def test_a_missing_file_and_an_empty_folder(runner_for, tmp_path) -> None:
    def load() -> None:
        with runner_for(STRONGEST).worker(tmp_path, LIMITS) as worker:
            worker.load("solution", "f", output_capacity_bytes=4)

    check_refused(load, Reason.MISSING_FILE, "the submission has no")
    (tmp_path / "other.py").write_text("")
    check_refused(load, Reason.MISSING_FILE, "the submission has no solution.py")


SOCKET = """
    import os, stat
    SOCKETS = [fd for fd in range(3, 99)
               if os.path.exists(f"/proc/self/fd/{fd}") and stat.S_ISSOCK(os.fstat(fd).st_mode)]
"""
FORGED = {
    "early": ("    for fd in SOCKETS: os.write(fd, b'ok' * 20)\n    def f(x): return x\n", "asked"),
    "wrong nonce": (
        "    def f(x):\n        os.write(SOCKETS[0], bytes(32) + b'ok')\n",
        "not asked",
    ),
    "twice": (
        "    def f(x):\n"
        "        import sys\n"
        "        nonce = sys._getframe(2).f_locals['nonce']\n"
        "        os.write(SOCKETS[0], nonce + b'ok')\n"
        "        return x\n",
        "asked",
    ),
    "unknown reason": (
        "    def f(x):\n"
        "        import sys\n"
        "        os.write(SOCKETS[0], sys._getframe(2).f_locals['nonce'] + b'scored 0.001')\n",
        "",
    ),
}


@pytest.mark.parametrize("case", FORGED)
def test_forged_answers_break_the_rules(used, case) -> None:
    program, says = FORGED[case]
    check_refused(lambda: used(SOCKET + program, fresh(), fresh()), Reason.RULE_BROKEN, says)


def test_printing_a_result_changes_nothing(used) -> None:
    x = fresh()
    (call,) = used('def f(x):\n    print(\'{"outcome": "scored"}\')\n    return x\n', x)
    assert np.array_equal(call.output, x)


def test_shared_files_found_inside_can_be_neither_shrunk_nor_swapped(used) -> None:
    program = """
        import os
        def f(x):
            for fd in range(3, 256):
                for change in (lambda: os.ftruncate(fd, 0), lambda: os.ftruncate(fd, 1 << 30)):
                    try:
                        change()
                        x[0] = 4711
                    except OSError:
                        pass
            return x
    """
    x = fresh()
    (call,) = used(program, x)
    assert np.array_equal(call.output, x)


def test_a_busy_thread_is_noticed(runner_for, tmp_path, mode) -> None:
    (tmp_path / "solution.py").write_text(
        "import threading\ndef g():\n    while True: pass\n"
        "threading.Thread(target=g, daemon=True).start()\ndef f(x): return x\n"
    )
    with runner_for(mode).worker(tmp_path, LIMITS) as worker:
        worker.load("solution", "f", output_capacity_bytes=4096)
        assert any(worker.background_busy_share() > 0.3 for _ in range(50))
        assert any(worker.background_cpu_s() > 0.002 for _ in range(50))


def test_a_worker_is_used_once_and_the_next_is_warm(runner_for, tmp_path) -> None:
    runner = runner_for(STRONGEST)
    (tmp_path / "solution.py").write_text("import os\ndef f(x): return x * 0 + os.getpid()\n")
    boxes = []
    for _ in range(2):
        with runner.worker(tmp_path, LIMITS) as worker:
            worker.load("solution", "f", output_capacity_bytes=4096)
            worker.call(fresh(9), np.arange(3))
            boxes.append(worker._warm.box.pid)
    assert len(set(boxes)) == 2


def test_run_gives_output_status_and_files(runner_for, mode, reachable) -> None:
    program = "import sys; open('made', 'w').write(sys.stdin.read()); print('hi'); sys.exit(3)"
    result = runner_for(mode).run(
        ["python", "-c", program], workspace=reachable, limits=LIMITS, stdin=b"given"
    )
    assert (result.returncode, result.output) == (3, b"hi\n")
    assert (reachable / "made").read_text() == "given"
    assert not (result.timed_out or result.out_of_memory or result.too_much_output)


def test_run_is_ended_by_time_and_by_output(runner_for, mode, reachable) -> None:
    limits = LIMITS.model_copy(update={"call_timeout_s": 0.5})
    runner = runner_for(mode)
    slow = runner.run(["python", "-c", "input(); import time; time.sleep(60)"],
                      workspace=reachable, limits=limits, stdin=b"\n")  # fmt: skip
    assert slow.timed_out and slow.returncode < 0 and slow.elapsed_s < 2
    loud = runner.run(["yes"], workspace=reachable, limits=LIMITS)
    assert loud.too_much_output and len(loud.output) == LIMITS.output_bytes


def test_more_output_than_announced_is_our_mistake(runner_for, tmp_path) -> None:
    (tmp_path / "solution.py").write_text(DOUBLE)
    with runner_for(STRONGEST).worker(tmp_path, LIMITS) as worker:
        worker.load("solution", "f", output_capacity_bytes=4096)
        with pytest.raises(ValueError, match="announced"):
            worker.call(fresh(5000), np.arange(3))


def test_poison_and_inputs_are_never_the_same_twice() -> None:
    one, two = np.zeros(40_000, np.int32), np.zeros(40_000, np.int32)
    channel.poison(one)
    channel.poison(two)
    assert (one != two).mean() > 0.99 and (one == 0).mean() < 0.01


def check_refused(action, reason: Reason | None, says: str) -> None:
    with pytest.raises(InvalidSubmission) as caught:
        action()
    assert reason in (None, caught.value.reason), caught.value
    message = caught.value.message
    assert says in message, message
    assert "\n" not in message and message.isprintable() and len(message) <= 350


COUNTS = """
import time
for _ in range(150):
    with open('count', 'a') as file:
        file.write('x')
    time.sleep(0.01)
"""


def test_a_run_stands_still_in_its_pauses(runner_for, mode, reachable) -> None:
    seen: list[tuple[int, int]] = []

    def look() -> None:
        before = (reachable / "count").stat().st_size
        time.sleep(1.0)
        seen.append((before, (reachable / "count").stat().st_size))

    began = time.monotonic()
    result = runner_for(mode).run(
        ["python", "-c", COUNTS],
        workspace=reachable,
        limits=LIMITS,
        pauses=Pauses(every_s=0.7, act=look),
    )
    assert (result.returncode, result.timed_out) == (0, False), result
    assert (reachable / "count").stat().st_size == 150
    assert seen and all(before == after for before, after in seen)
    paused_s = time.monotonic() - began - result.elapsed_s
    assert paused_s >= 1.0 * len(seen)


def test_pauses_do_not_move_the_limit(runner_for, mode, reachable) -> None:
    result = runner_for(mode).run(
        ["python", "-c", "while True: pass"],
        workspace=reachable,
        limits=LIMITS.model_copy(update={"call_timeout_s": 1.0}),
        pauses=Pauses(every_s=0.4, act=lambda: None),
    )
    assert result.timed_out and result.elapsed_s < 3
