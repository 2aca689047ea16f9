"""The built-in kinds: names and schemas, defaults, checks and table columns."""

from lading.embedded.kube.builtins.catalogue import (
    definitions,
    kinds,
    kubernetes_version,
    object_metadata,
)

__all__ = ["definitions", "kinds", "kubernetes_version", "object_metadata"]
