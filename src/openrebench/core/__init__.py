"""Cards, scales, scoring, score logs and attempts. Imports neither Inspect AI nor torch."""
