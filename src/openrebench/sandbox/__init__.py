"""Inspect's sandbox for agents: a box of `isolation` with a command server as process 1."""
