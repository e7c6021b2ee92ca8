"""Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51

Compile and run Rust programs inside of the sandbox, with the judge's compiler and flags.

Public tests can be tried with it. The judge's verdict is made elsewhere. Change it as you like.
"""

import asyncio
import contextlib
import itertools
import json
import os
import re
import tempfile
from pathlib import Path

FLAGS = ["--edition", "2018", "--crate-type", "bin", "--crate-name", "main", "-A", "warnings"]
JUDGE = [*FLAGS, "-C", "opt-level=1", "-C", "codegen-units=1", "-C", "prefer-dynamic"]
QUICK = [*FLAGS, "-C", "opt-level=0", "-C", "codegen-units=1", "-C", "prefer-dynamic"]
FENCE = re.compile(r"```(?:rust|rs)?[ \t]*\n(.*?)```", re.DOTALL)

_folder = Path(tempfile.mkdtemp(prefix="rust-"))
_numbers = itertools.count()
_slots = asyncio.Semaphore(os.cpu_count() or 1)


def extract(text):
    """Give the last block of code in a completion, or all of it if there is none."""
    blocks = FENCE.findall(text)
    return blocks[-1] if blocks else text


async def compile(source, flags=JUDGE):
    """Compile a program; gives its path and an empty text, or None and the compiler's message.

    `QUICK` flags take half of the time and give slower programs.
    """
    path = _folder / f"p{next(_numbers)}"
    path.with_suffix(".rs").write_text(source)
    code, output = await _call(["rustc", *flags, f"{path}.rs", "-o", str(path)], b"", 30)
    return (path, "") if code == 0 else (None, output.decode("utf-8", "replace"))


async def build_all(sources):
    """Compile many programs as the modules of one, which is several times as quick.

    Those with errors are left out until the rest compiles.

    Returns:
        A command for each program that compiles, and the compiler's message for each other one.
    """
    left, messages = list(sources), {}
    while left:
        path = _folder / f"p{next(_numbers)}"
        text, owners = _joined(left)
        path.with_suffix(".rs").write_text(text)
        command = ["rustc", *QUICK, "--error-format=json", f"{path}.rs", "-o", str(path)]
        code, output = await _call(command, b"", 30)
        if code == 0:
            return {source: [str(path), str(k)] for k, source in enumerate(left)}, messages
        found = _blamed(output.decode("utf-8", "replace"), owners, left)
        if not found:
            break
        messages |= found
        left = [source for source in left if source not in found]
    built = await asyncio.gather(*(compile(source, QUICK) for source in left))
    messages |= {source: said for source, (path, said) in zip(left, built) if path is None}
    return {s: [str(path)] for s, (path, _) in zip(left, built) if path is not None}, messages


def _joined(sources):
    """Write programs as modules of one; tells too which line is whose."""
    arms = "".join(f'"{k}" => p{k}::main(), ' for k in range(len(sources)))
    lines = [f"fn main() {{ match std::env::args().nth(1).unwrap().as_str() {{ {arms} _ => {{}} }} }}"]
    owners = [None]
    for k, source in enumerate(sources):
        module = f"mod p{k} {{\n{source.replace('fn main(', 'pub fn main(', 1)}\n}}".split("\n")
        lines += module
        owners += [k] * len(module)
    return "\n".join(lines), owners


def _blamed(output, owners, sources):
    """Give each program its first error message."""
    found = {}
    for line in output.splitlines():
        try:
            said = json.loads(line)
        except ValueError:
            continue
        spans = [span for span in said.get("spans", ()) if span["is_primary"]]
        owner = owners[spans[0]["line_start"] - 1] if said.get("level") == "error" and spans else None
        if owner is not None:
            found.setdefault(sources[owner], said["rendered"])
    return found


async def run(path, text, timeout_s=5):
    """Run a program, or a command, on an input; gives its output, or None if it fails."""
    command = [str(path)] if isinstance(path, (str, Path)) else path
    code, output = await _call(command, text.encode(), timeout_s)
    return output.decode("utf-8", "replace") if code == 0 else None


def same(output, expected):
    """Compare as the judge does: spaces at line ends and empty lines at the end don't count."""
    return output is not None and _lines(output) == _lines(expected)


def _lines(text):
    return "\n".join(line.rstrip() for line in text.split("\n")).rstrip()


async def _call(command, text, timeout_s):
    async with _slots:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT if command[0] == "rustc" else asyncio.subprocess.DEVNULL,
        )
        try:
            output, _ = await asyncio.wait_for(process.communicate(text), timeout_s)
        except asyncio.TimeoutError:
            with contextlib.suppress(ProcessLookupError):  # it may just have ended
                process.kill()
            await process.wait()
            return -1, b"took too long"
        return process.returncode, output
