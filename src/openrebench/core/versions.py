"""Versions that a result depends on."""

import platform
from importlib.metadata import distributions, version

from openrebench.isolation.local import worker_site_packages

WORKER_PACKAGES = ("torch", "numba", "numpy")


def installed_versions() -> dict[str, str]:
    """Versions of this package, Python, and what submissions find installed."""
    inside = {
        found.name: found.version for found in distributions(path=[str(worker_site_packages())])
    }
    chosen = {name: inside[name] for name in WORKER_PACKAGES if name in inside}
    return {"openrebench": version("openrebench"), "python": platform.python_version(), **chosen}
