"""What solvers see of the host besides the system, the worker environment and the workspace.

Two small files that programs look for, and command-line agents (Claude Code, Codex) where
tools/agent_clis.sh has put them. All of it is read-only.
"""

import os
import sys
from pathlib import Path

from openrebench.isolation.layout import SEARCH_PATH, Bind

AGENT_CLIS_VARIABLE = "OPENREBENCH_AGENT_CLIS"
AGENT_CLIS = "/opt/agents"
SOLVER_PATH = f"{SEARCH_PATH}:{AGENT_CLIS}/bin"
FILES = {  # without them nothing finds "localhost", nor which system this is
    "/etc/hosts": Path(__file__).with_name("hosts"),
    "/etc/os-release": Path("/usr/lib/os-release"),
}


def agent_clis() -> Path:
    """Folder of command-line agents on this machine, which need not exist."""
    return Path(os.environ.get(AGENT_CLIS_VARIABLE) or Path(sys.prefix, "agents"))


def solver_binds() -> list[Bind]:
    """List what is there of it."""
    wanted = {**FILES, AGENT_CLIS: agent_clis()}
    return [Bind(source=source, target=at) for at, source in wanted.items() if source.exists()]
