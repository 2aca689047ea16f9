"""A cluster in one process, for a laptop and for tests. See README.md."""
