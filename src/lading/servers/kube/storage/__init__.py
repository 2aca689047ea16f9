"""Where the objects live: an append-only log of changes, in memory or kept in SQLite."""
