"""Compile and run Rust programs inside of the sandbox, with the judge's compiler and flags.

Public tests can be tried with it. The judge's verdict is made elsewhere. Change it as you like.
"""

import asyncio
import contextlib
import itertools
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
