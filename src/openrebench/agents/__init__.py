"""Agents that come with the package; any other Inspect agent or solver works as well."""
