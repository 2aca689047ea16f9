"""One write as policies see it, whether constraints match it, and the parameters of a binding."""

from collections.abc import Callable
from typing import Any

import msgspec

from lading.embedded.kube.schema.nodes import Document
from lading.kernel.errors import Malformed
from lading.kernel.selectors import LabelSelector, Selector

# Policies never govern the objects that configure admission: a mistake could not be undone.
_EXEMPT_GROUP = "admissionregistration.k8s.io"


class Misconfigured(Exception):
    """The policy or the binding (`where`) cannot be used; failurePolicy decides."""

    def __init__(self, message: str, *, where: str = "binding") -> None:
        super().__init__(message)
        self.message = message
        self.where = where


class Attributes(msgspec.Struct, frozen=True, kw_only=True):
    """One write: the user, the target, and the object before and after."""

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
    """The parameters of a binding, by name or by selector."""

    api_version: str
    kind: str
    namespace: str
    """The namespace of namespaced parameters."""
    name: str = ""
    selector: dict[str, Any] | None = None


ParameterLookup = Callable[[ParameterQuery], list[Document] | None]
"""Finds parameters; None if their kind is not served."""


def matches(constraints: Document | None, attributes: Attributes) -> bool:
    """An absent constraint matches everything; exclusions win over inclusions."""
    if attributes.group == _EXEMPT_GROUP:
        return False
    wanted = constraints or {}
    excluded = wanted.get("excludeResourceRules") or []
    included = wanted.get("resourceRules") or []
    equivalent = wanted.get("matchPolicy", "Equivalent") == "Equivalent"
    return (
        _namespace_is_selected(wanted.get("namespaceSelector"), attributes)
        and _object_is_selected(wanted.get("objectSelector"), attributes)
        and not any(_rule_matches(rule, attributes, equivalent) for rule in excluded)
        and (not included or any(_rule_matches(rule, attributes, equivalent) for rule in included))
    )


def _rule_matches(rule: Document, attributes: Attributes, equivalent: bool) -> bool:
    versions = {attributes.version, *(attributes.equivalent_versions if equivalent else ())}
    names = rule.get("resourceNames") or []
    return (
        _names(rule.get("operations"), attributes.operation)
        and _names(rule.get("apiGroups"), attributes.group)
        and any(_names(rule.get("apiVersions"), version) for version in versions)
        and any(_resource_matches(each, attributes) for each in rule.get("resources") or ())
        and _scope_matches(rule.get("scope", "*"), attributes)
        and (not names or attributes.name in names)
    )


def _names(allowed: list[str] | None, value: str) -> bool:
    return "*" in (allowed or ()) or value in (allowed or ())


def _resource_matches(pattern: str, attributes: Attributes) -> bool:
    resource, _, subresource = pattern.partition("/")
    return resource in ("*", attributes.resource) and (
        subresource == attributes.subresource or (subresource == "*" and "/" in pattern)
    )


def _scope_matches(scope: str, attributes: Attributes) -> bool:
    is_namespaced = bool(attributes.namespace) and attributes.resource != "namespaces"
    return scope == "*" or scope == ("Namespaced" if is_namespaced else "Cluster")


def _namespace_is_selected(selector: Document | None, attributes: Attributes) -> bool:
    """A cluster-scoped object is always selected, except a namespace, by its own labels."""
    if not selector:
        return True
    if attributes.resource == "namespaces" and not attributes.group:
        chosen = attributes.object or attributes.old_object or {}
    elif not attributes.namespace:
        return True
    else:
        chosen = attributes.namespace_object or {}
    return _selector(selector).matches(_labels(chosen))


def _object_is_selected(selector: Document | None, attributes: Attributes) -> bool:
    if not selector:
        return True
    chosen = _selector(selector)
    documents = (attributes.object, attributes.old_object)
    return any(chosen.matches(_labels(each)) for each in documents if each is not None)


def _selector(selector: Document) -> Selector:
    try:
        return Selector.of(msgspec.convert(selector, LabelSelector))
    except (Malformed, msgspec.ValidationError) as error:
        raise Misconfigured(str(error)) from error


def _labels(document: Document) -> dict[str, Any]:
    return (document.get("metadata") or {}).get("labels") or {}


def parameters(
    policy: Document, binding: Document, lookup: ParameterLookup, namespace: str
) -> list[Document | None]:
    """One entry for each evaluation of the policy; null for a policy without parameters."""
    kind, reference = policy.get("paramKind"), binding.get("paramRef")
    if not kind or not reference:
        return [None]
    found = lookup(_query(kind, reference, namespace))
    if found is None:
        title = f"{kind.get('apiVersion', '')}, Kind={kind.get('kind', '')}"
        text = f"failed to find resource referenced by paramKind: '{title}'"
        raise Misconfigured(text, where="policy")
    if not found and reference.get("parameterNotFoundAction") == "Deny":
        raise Misconfigured(
            "no params found for policy binding with `Deny` parameterNotFoundAction"
        )
    return list(found)


def _query(kind: Document, reference: Document, namespace: str) -> ParameterQuery:
    name, selector = reference.get("name", ""), reference.get("selector")
    if name and selector is not None:
        raise Misconfigured("paramRef.name and paramRef.selector are mutually exclusive")
    if not name and selector is None:
        raise Misconfigured("one of name or selector must be provided")
    return ParameterQuery(
        api_version=kind.get("apiVersion", ""),
        kind=kind.get("kind", ""),
        namespace=reference.get("namespace") or namespace,
        name=name,
        selector=selector,
    )
