"""ValidatingAdmissionPolicy: what it forbids, for whom, with which parameters and words."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from lading.ports import kube
from tests.conformance.kube.api import (
    CONFIG_MAPS,
    NAMESPACES,
    WIDGETS,
    Api,
    Document,
    config_map,
    eventually,
    resource,
    widget,
)

GROUP = "admissionregistration.k8s.io"
POLICIES = resource(
    "validatingadmissionpolicies", "ValidatingAdmissionPolicy", group=GROUP, namespaced=False
)
BINDINGS = resource(
    "validatingadmissionpolicybindings",
    "ValidatingAdmissionPolicyBinding",
    group=GROUP,
    namespaced=False,
)
RULE = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE", "DELETE"],
    "resources": ["configmaps"],
}
PROBE = "policy-probe"


def policy(name: str, *validations: Document, **spec: Any) -> Document:
    return {
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [RULE]},
            "validations": [probe(), *validations],
            **spec,
        },
    }


def probe() -> Document:
    """Forbids one name, so that a test can see from outside that the policy is in force."""
    expression = f"request.operation == 'DELETE' || object.metadata.name != '{PROBE}'"
    return {"expression": expression, "message": "in force"}


@contextlib.asynccontextmanager
async def in_force(api: Api, namespace: str, body: Document, **binding: Any) -> AsyncIterator[None]:
    name = body["metadata"]["name"]
    match = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    spec = {
        "policyName": name,
        "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": match},
        **binding,
    }
    await api.client.create(POLICIES, body)
    await api.client.create(BINDINGS, {"metadata": {"name": name}, "spec": spec})

    async def the_probe_is_noticed() -> bool:
        path = CONFIG_MAPS.path(namespace=namespace)
        answer = await api.call("POST", path, config_map(PROBE), query={"dryRun": "All"})
        return "in force" in answer.text + answer.warning

    try:
        await eventually(the_probe_is_noticed)
        yield
    finally:
        await api.client.delete(BINDINGS, name)
        await api.client.delete(POLICIES, name)


async def test_a_denial_names_the_policy_the_binding_and_the_message(
    api: Api, namespace: str, unique: str
) -> None:
    rule = {
        "expression": "request.operation == 'DELETE' || !has(object.data.bad)",
        "message": "no bad data",
    }
    async with in_force(api, namespace, policy(unique, rule)):
        await api.client.create(CONFIG_MAPS, config_map(good="1"), namespace=namespace)
        answer = await api.call(
            "POST", CONFIG_MAPS.path(namespace=namespace), config_map("two", bad="1")
        )
        denied = (
            f"ValidatingAdmissionPolicy '{unique}' with binding '{unique}' denied request: "
            "no bad data"
        )
        message = f'configmaps "two" is forbidden: {denied}'
        assert answer.refusal == (422, "Invalid", message)
        assert answer.body["details"]["causes"] == [{"message": denied}]
        with pytest.raises(kube.Invalid, match="no bad data"):
            await api.client.patch(CONFIG_MAPS, "one", {"data": {"bad": "1"}}, namespace=namespace)


async def test_without_a_message_the_expression_is_shown(
    api: Api, namespace: str, unique: str
) -> None:
    rule = {"expression": "request.operation == 'DELETE' || object.metadata.name != 'two'"}
    async with in_force(api, namespace, policy(unique, rule)):
        with pytest.raises(kube.Invalid, match=r"failed expression: request\.operation =="):
            await api.client.create(CONFIG_MAPS, config_map("two"), namespace=namespace)


async def test_a_reason_and_a_computed_message_are_used(
    api: Api, namespace: str, unique: str
) -> None:
    rule = {
        "expression": "variables.count < 2",
        "messageExpression": "'too many entries: ' + string(variables.count)",
        "reason": "Forbidden",
    }
    count = "request.operation != 'DELETE' && has(object.data) ? object.data.size() : 0"
    body = policy(unique, rule, variables=[{"name": "count", "expression": count}])
    async with in_force(api, namespace, body):
        with pytest.raises(kube.Forbidden, match="too many entries: 2"):
            await api.client.create(CONFIG_MAPS, config_map(a="1", b="2"), namespace=namespace)


async def test_the_past_and_the_operation_can_be_asked(
    api: Api, namespace: str, unique: str
) -> None:
    rules = (
        {
            "expression": "request.operation != 'UPDATE' || object.data == oldObject.data",
            "message": "data never changes",
        },
        {
            "expression": "request.operation != 'DELETE' || oldObject.metadata.name != 'one'",
            "message": "one never ends",
        },
    )
    async with in_force(api, namespace, policy(unique, *rules)):
        await api.client.create(CONFIG_MAPS, config_map(a="1"), namespace=namespace)
        with pytest.raises(kube.Invalid, match="data never changes"):
            await api.client.patch(CONFIG_MAPS, "one", {"data": {"a": "2"}}, namespace=namespace)
        with pytest.raises(kube.Invalid, match="one never ends"):
            await api.client.delete(CONFIG_MAPS, "one", namespace=namespace)


async def test_parameters_come_from_another_object(api: Api, namespace: str, unique: str) -> None:
    await api.client.create(WIDGETS, widget("limits", size=1), namespace=namespace)
    rule = {
        "expression": "request.operation == 'DELETE' || !has(object.data) || "
        "object.data.size() <= params.spec.size",
        "messageExpression": "'at most ' + string(params.spec.size)",
    }
    body = policy(unique, rule, paramKind={"apiVersion": WIDGETS.api_version, "kind": "Widget"})
    reference = {"name": "limits", "namespace": namespace, "parameterNotFoundAction": "Deny"}
    async with in_force(api, namespace, body, paramRef=reference):
        await api.client.create(CONFIG_MAPS, config_map(a="1"), namespace=namespace)
        with pytest.raises(kube.Invalid, match="at most 1"):
            await api.client.create(
                CONFIG_MAPS, config_map("two", a="1", b="2"), namespace=namespace
            )


async def test_a_policy_can_warn_instead(api: Api, namespace: str, unique: str) -> None:
    rule = {
        "expression": "request.operation == 'DELETE' || object.metadata.name != 'two'",
        "message": "two is odd",
    }
    async with in_force(api, namespace, policy(unique, rule), validationActions=["Warn"]):
        path = CONFIG_MAPS.path(namespace=namespace)
        answer = await api.call("POST", path, config_map("two"))
        assert answer.status == 201
        policy_and_binding = f"ValidatingAdmissionPolicy '{unique}' with binding '{unique}'"
        assert f"Validation failed for {policy_and_binding}: two is odd" in answer.warning


async def test_a_condition_narrows_what_is_asked(api: Api, namespace: str, unique: str) -> None:
    condition = {
        "name": "only-strict",
        "expression": f"request.operation != 'DELETE' && (object.metadata.name == '{PROBE}' || "
        "(has(object.metadata.labels) && 'strict' in object.metadata.labels))",
    }
    rule = {"expression": "false", "message": "never"}
    body = policy(unique, rule, matchConditions=[condition])
    async with in_force(api, namespace, body):
        await api.client.create(CONFIG_MAPS, config_map("loose"), namespace=namespace)
        strict = config_map("strict")
        strict["metadata"]["labels"] = {"strict": ""}
        with pytest.raises(kube.Invalid, match="never"):
            await api.client.create(CONFIG_MAPS, strict, namespace=namespace)


async def test_other_namespaces_and_kinds_are_left_alone(
    api: Api, namespace: str, unique: str
) -> None:
    async with in_force(api, namespace, policy(unique, {"expression": "false"})):
        await api.client.create(NAMESPACES, {"metadata": {"name": unique}})
        await api.client.create(CONFIG_MAPS, config_map(), namespace=unique)
        await api.client.delete(NAMESPACES, unique)


async def test_an_expression_that_fails_denies(api: Api, namespace: str, unique: str) -> None:
    rule = {"expression": "request.operation == 'DELETE' || object.data.absent == 'x'"}
    async with in_force(api, namespace, policy(unique, rule)):
        with pytest.raises(kube.Invalid, match="no such key"):
            await api.client.create(CONFIG_MAPS, config_map(a="1"), namespace=namespace)


async def test_an_expression_that_does_not_compile_is_refused(api: Api, unique: str) -> None:
    with pytest.raises(kube.Invalid, match="compilation failed"):
        await api.client.create(POLICIES, policy(unique, {"expression": "object.metadata.=="}))
