"""The built-in kinds: what they are, their defaults and checks, and their table columns."""

from lading.servers.kube.builtins.catalogue import (
    Kind,
    definitions,
    kinds,
    kubernetes_version,
    object_metadata,
)

__all__ = ["Kind", "definitions", "kinds", "kubernetes_version", "object_metadata"]
