"""The storage of objects: an append-only log of changes, in memory or in SQLite."""
