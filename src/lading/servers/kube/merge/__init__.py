"""The three ways to patch: JSON patch, merge patch, Kubernetes strategic merge patch."""
