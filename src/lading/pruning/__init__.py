"""Design 5: delete images that are no longer needed from a registry, each with a reason."""
