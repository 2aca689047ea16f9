"""What a request asks for, as admission policies see it."""

from collections.abc import Callable
from typing import Any

import msgspec

from lading.servers.kube.schema.nodes import Document


class Attributes(msgspec.Struct, frozen=True, kw_only=True):
    """One write: who, what, on which object, and the object before and after."""

    operation: str
    """CREATE, UPDATE, DELETE or CONNECT."""
    group: str
    version: str
    kind: str
    resource: str
    subresource: str = ""
    name: str = ""
    namespace: str = ""
    object: Document | None = None
    old_object: Document | None = None
    namespace_object: Document | None = None
    user: Document = {}
    """username, uid, groups, extra (lists of texts by key)."""
    dry_run: bool = False
    options: Document = {}
    equivalent_versions: tuple[str, ...] = ()
    """The other served versions of the same resource."""

    def request(self) -> Document:
        """The `request` variable of expressions; as in kube-apiserver, empty texts are absent."""
        kind = {"group": self.group, "version": self.version, "kind": self.kind}
        resource = {"group": self.group, "version": self.version, "resource": self.resource}
        texts = {
            "subResource": self.subresource,
            "requestSubResource": self.subresource,
            "name": self.name,
            "namespace": self.namespace,
        }
        return {
            **{key: text for key, text in texts.items() if text},
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "operation": self.operation,
            "userInfo": self.user,
            "dryRun": self.dry_run,
            "options": self.options,
        }


class ParameterQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which objects a binding takes its parameters from: by name, or by selector."""

    api_version: str
    kind: str
    namespace: str
    """Where namespaced parameters live; meaningless for cluster-scoped ones."""
    name: str = ""
    selector: dict[str, Any] | None = None


ParameterLookup = Callable[[ParameterQuery], list[Document] | None]
"""The parameters found; None when the server knows no such kind."""
