"""Name a tiny width with very many steps, for which the published table gives the lowest loss."""

print("{}")
