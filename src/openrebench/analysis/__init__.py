"""From score logs to curves: tables of attempts, score@k, intervals, budgets.

Imports numpy, polars and core; neither Inspect AI nor torch. Formulas and their sources are in
docs/analysis.md.
"""
