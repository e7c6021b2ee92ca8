"""Run untrusted code within limits. Knows nothing of environments or scores."""
