"""The parameters a binding gives to its policy: none, one by name, or all that a selector finds."""

from lading.servers.kube.admission.attributes import ParameterLookup, ParameterQuery
from lading.servers.kube.admission.errors import Misconfigured
from lading.servers.kube.schema.nodes import Document


def of(
    policy: Document, binding: Document, lookup: ParameterLookup, namespace: str
) -> list[Document | None]:
    """One entry per evaluation of the policy; a policy without parameters runs once with null."""
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
