"""Imports point down only, and the quick parts stay quick."""

import ast
import subprocess
import sys
from pathlib import Path

import openrebench

ROOT = Path(openrebench.__file__).parent
LAYERS = {  # what each part of the package may import of the package
    "isolation": {"errors", "isolation"},
    "core": {"errors", "isolation", "core"},
    "textbase": {"errors", "isolation", "core", "textbase"},
    "broker": {"errors", "isolation", "core", "broker"},
    "environments": {"errors", "isolation", "core", "textbase", "broker", "environments"},
    "analysis": {"errors", "isolation", "core", "analysis", "data"},
    "report": {"errors", "isolation", "core", "analysis", "report", "data"},
    "sandbox": {"errors", "isolation", "core", "sandbox"},
    "agents": {"errors", "isolation", "core", "sandbox", "harness", "agents"},
    "harness": {"errors", "isolation", "core", "sandbox", "harness", "agents", "_registry"},
    "human": {"errors", "isolation", "core", "sandbox", "harness", "human"},
}
INSPECT_MAY = {"sandbox", "agents", "harness", "_registry", "broker"}
SCORED_APART = ("agent", "hidden", "cheats")


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def trusted_files() -> list[Path]:
    files = ROOT.rglob("*.py")
    return [f for f in files if not set(f.relative_to(ROOT).parts) & set(SCORED_APART)]


def test_imports_point_down() -> None:
    wrong = []
    for path in trusted_files():
        part = path.relative_to(ROOT).parts[0]
        if part not in LAYERS:
            continue
        for name in imports(path):
            pieces = name.split(".")
            allowed = LAYERS[part] | {"__version__"}
            if pieces[0] == "openrebench" and len(pieces) > 1 and pieces[1] not in allowed:
                wrong.append(f"{path.relative_to(ROOT)} imports {name}")
    assert wrong == []


def test_only_the_harness_side_imports_inspect() -> None:
    wrong = [
        str(path.relative_to(ROOT))
        for path in trusted_files()
        if any(name.split(".")[0] == "inspect_ai" for name in imports(path))
        and path.relative_to(ROOT).parts[0].removesuffix(".py") not in INSPECT_MAY
    ]
    assert wrong == []


def test_help_imports_neither_inspect_nor_torch_nor_numpy() -> None:
    code = (
        "import sys; from openrebench.cli import cli; cli.main(['--help'], standalone_mode=False);"
        "print(sorted(set(sys.modules) & {'inspect_ai','torch','numpy','polars','rich','altair'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")


def test_sizes_stay_small() -> None:
    long_files, long_functions = [], []
    for path in trusted_files():
        text = path.read_text()
        if text.count("\n") > 400:
            long_files.append(path.name)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                if (node.end_lineno or 0) - node.lineno >= 60:
                    long_functions.append(f"{path.name}: {node.name}")
    assert long_files == [] and long_functions == []
