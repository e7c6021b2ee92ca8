"""People attempt environments: the same workspace, sandbox, score path and record as an agent's."""
