"""Checks a write with the stored ValidatingAdmissionPolicies.

Policies do not apply to policies, so that a wrong one can always be removed.
"""

import functools
from typing import Any

import msgspec

from lading.embedded.kube import metadata, status
from lading.embedded.kube.admission import policies
from lading.embedded.kube.admission.matching import Attributes, ParameterQuery
from lading.embedded.kube.requests import Call
from lading.embedded.kube.resources import Resource
from lading.embedded.kube.state import State
from lading.kernel.selectors import LabelSelector, Selector

Document = dict[str, Any]

_GROUP = "admissionregistration.k8s.io"


def check(
    state: State, call: Call, *, dry_run: bool, old: Document | None, new: Document | None
) -> None:
    """Raises when a policy denies the write; adds the warnings of those that warn."""
    resource = call.resource
    if resource.group == _GROUP:
        return
    stored = tuple(state.every(_resource(state, "validatingadmissionpolicies")))
    if not stored:
        return
    bindings = tuple(state.every(_resource(state, "validatingadmissionpolicybindings")))
    attributes = _attributes(state, call, dry_run=dry_run, old=old, new=new)
    lookup = functools.partial(_parameters, state)
    decision = policies.decide(stored, bindings, lookup, attributes)
    call.warnings.extend(decision.warnings)
    if decision.denial is None:
        return
    refusal = status.forbidden(
        group=resource.group,
        plural=resource.plural,
        name=attributes.name,
        why=decision.denial.message,
    )
    refusal.code = refusal.status["code"] = decision.denial.code
    refusal.status["reason"] = decision.denial.reason
    refusal.status["details"]["causes"] = [{"message": decision.denial.message}]
    raise refusal


def _parameters(state: State, query: ParameterQuery) -> list[Document] | None:
    """Finds the objects that a binding takes its parameters from; None for an unknown kind."""
    resource = state.registry.of_kind(query.api_version, query.kind)
    if resource is None:
        return None
    namespace = query.namespace if resource.namespaced else ""
    if query.name:
        found = state.find(resource, namespace, query.name)
        return [] if found is None else [found]
    selector = Selector.of(msgspec.convert(query.selector or {}, LabelSelector))
    return [
        each
        for each in state.every(resource, namespace)
        if selector.matches(each["metadata"].get("labels") or {})
    ]


def _attributes(
    state: State, call: Call, *, dry_run: bool, old: Document | None, new: Document | None
) -> Attributes:
    resource, target = call.resource, call.target
    shown = new or old or {}
    versions = [
        each.version for each in state.registry if each.storage_name == resource.storage_name
    ]
    return Attributes(
        operation="DELETE" if new is None else "UPDATE" if old is not None else "CREATE",
        group=resource.group,
        version=resource.version,
        kind=resource.kind,
        resource=resource.plural,
        subresource=target.subresource,
        name=shown["metadata"].get("name", ""),
        namespace=target.namespace,
        object=new,
        old_object=old,
        namespace_object=_namespace(state, target.namespace),
        user=user_info(call),
        dry_run=dry_run,
        equivalent_versions=tuple(each for each in versions if each != resource.version),
    )


def user_info(call: Call) -> Document:
    user = call.user
    return {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {key: list(values) for key, values in user.extra.items()},
    }


def _namespace(state: State, name: str) -> Document | None:
    return state.find(metadata.namespaces(state), "", name) if name else None


def _resource(state: State, plural: str) -> Resource:
    found = state.registry.find(_GROUP, "v1", plural)
    assert found is not None, "admission policies are built-in kinds"
    return found
