"""Server-side apply: who owns which field, and what an apply may change."""
