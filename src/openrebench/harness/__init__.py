"""Inspect's side of an attempt: tasks, tools, the scorer, and running them."""
