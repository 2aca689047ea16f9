"""Frees the storage that no manifest of a registry needs, while the registry is in use."""
