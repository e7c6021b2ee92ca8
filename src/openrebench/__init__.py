"""OpenRE-Bench: ML research-engineering environments, scored under equal time budgets.

Not affiliated with METR. The package has four parts, each importing only what stands below it:
`harness` and `agents` (Inspect AI), `analysis` and `report`, `core`, `isolation`.
"""

__version__ = "0.1.0"
