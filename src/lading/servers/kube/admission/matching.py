"""Whether a policy's or a binding's constraints match a request."""

from typing import Any

import msgspec

from lading.kernel.errors import Malformed
from lading.kernel.selectors import LabelSelector, Selector
from lading.servers.kube.admission.attributes import Attributes
from lading.servers.kube.admission.errors import Misconfigured
from lading.servers.kube.schema.nodes import Document

# Policies never govern the objects that configure admission: a mistake could not be undone.
_EXEMPT_GROUP = "admissionregistration.k8s.io"


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
    """A cluster-scoped object is in no namespace and always selected, save a namespace itself."""
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
