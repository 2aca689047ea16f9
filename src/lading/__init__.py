"""Lading keeps the right container images in the right places of a Kubernetes cluster."""

__version__ = "0.1.0"
