"""Which images the clusters use, read from their objects and watched during a run."""
