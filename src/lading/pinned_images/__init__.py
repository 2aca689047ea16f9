"""Named images are on every node of a pool, protected from garbage collection."""
