"""Measured comparisons: `python -m bench.NAME`; each module's `run()` returns named ratios."""
