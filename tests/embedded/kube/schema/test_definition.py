"""Which CustomResourceDefinitions are acceptable, and what a real kube-apiserver says of others."""

import copy
from typing import Any

import pytest

from lading.embedded.kube.schema import definition

ROOT = "spec.versions[0].schema.openAPIV3Schema"
X = f"{ROOT}.properties[spec].properties[x]"
NOT_DNS = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character"
)


def crd(schema: Any = None, **spec: Any) -> dict[str, Any]:
    version = {"name": "v1", "served": True, "storage": True}
    version["schema"] = {"openAPIV3Schema": schema or {"type": "object"}}
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    given = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": "things.example.com"}, "spec": {**given, **spec}}


def with_x(x: Any) -> dict[str, Any]:
    spec = {"type": "object", "properties": {"x": x}}
    return crd({"type": "object", "properties": {"spec": spec}})


def found(document: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    return [str(cause) for cause in definition.problems(document, old)]


def test_a_plain_definition_is_acceptable() -> None:
    assert found(crd()) == []


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (
            crd(group="nodots"),
            [
                (
                    'metadata.name: Invalid value: "things.example.com": must be '
                    'spec.names.plural+"."+spec.group'
                ),
                'spec.group: Invalid value: "nodots": should be a domain with at least one dot',
            ],
        ),
        (
            crd(scope="Foo"),
            ['spec.scope: Unsupported value: "Foo": supported values: "Cluster", "Namespaced"'],
        ),
        (
            crd(versions=[]),
            [
                (
                    "spec.versions: Invalid value: []: must have exactly one version marked as "
                    "storage version"
                )
            ],
        ),
        (
            crd({"type": "string"}),
            [f'{ROOT}.type: Invalid value: "string": must be object at the root'],
        ),
        (
            with_x({}),
            [f"{X}.type: Required value: must not be empty for specified fields and items"],
        ),
        (with_x({"type": "array"}), [f"{X}.items: Required value: must be specified"]),
        (
            with_x({"type": "string", "default": 5}),
            [f'{X}.default: Invalid value: "integer":  in body must be of type string: "integer"'],
        ),
        (
            with_x({"type": "object", "properties": {}, "default": {"b": 1}}),
            [f'{X}.default: Invalid value: {{"b":1}}: must not have unknown fields'],
        ),
        (
            with_x({"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object"}}),
            [
                (
                    f"{X}.x-kubernetes-list-map-keys: Required value: must not be empty if, and "
                    "only if, x-kubernetes-list-type is map"
                )
            ],
        ),
        (
            with_x({"type": "string", "allOf": [{"type": "string"}]}),
            [f"{X}.allOf.type: Forbidden: must be empty here"],
        ),
        (
            with_x({"$ref": "#/x", "type": "string"}),
            [f"{X}.$ref: Forbidden: $ref is not supported"],
        ),
    ],
)
def test_the_answer_is_the_one_a_kubernetes_user_knows(
    document: dict[str, Any], expected: list[str]
) -> None:
    assert found(document) == expected


def test_names_are_dns_labels_and_kinds_may_have_capitals() -> None:
    names = {"plural": "things", "singular": "A B", "kind": "Thing", "listKind": "Things"}
    assert found(crd(names=names)) == [f'spec.names.singular: Invalid value: "A B": {NOT_DNS}']


def test_versions_that_differ_are_named_one_by_one() -> None:
    document = crd()
    second = copy.deepcopy(document["spec"]["versions"][0])
    second.update(name="v2", storage=False, schema={"openAPIV3Schema": {"type": "string"}})
    document["spec"]["versions"].append(second)
    place = "spec.versions[1].schema.openAPIV3Schema.type"
    assert found(document) == [f'{place}: Invalid value: "string": must be object at the root']


def test_group_and_scope_never_change() -> None:
    assert found(crd(scope="Cluster"), crd()) == [
        'spec.scope: Invalid value: "Cluster": field is immutable'
    ]


def test_a_webhook_is_refused_because_none_is_called() -> None:
    (cause,) = found(crd(conversion={"strategy": "Webhook"}))
    assert cause.startswith("spec.conversion.strategy: Invalid value")


class TestRules:
    def rule(self, **rule: Any) -> list[str]:
        x = {"type": "string", "maxLength": 5, "x-kubernetes-validations": [rule]}
        return found(with_x(x))

    def test_a_sound_rule_is_accepted(self) -> None:
        assert self.rule(rule="self == oldSelf", message="fixed") == []

    def test_a_rule_must_compile(self) -> None:
        (cause,) = self.rule(rule="foo == self")
        assert "compilation failed: ERROR: <input>:1:1: undeclared reference to 'foo'" in cause

    def test_a_rule_must_be_true_or_false(self) -> None:
        (cause,) = self.rule(rule="self.size()")
        assert cause.endswith("cel expression must evaluate to a bool")

    def test_a_rule_must_say_something(self) -> None:
        place = f"{X}.x-kubernetes-validations[0].rule"
        assert self.rule(rule=" ") == [f"{place}: Required value: rule is not specified"]

    def test_a_rule_that_this_server_cannot_run_is_refused(self) -> None:
        (cause,) = self.rule(rule="self == 'a'", optionalOldSelf=True)
        assert cause.endswith("optionalOldSelf: Forbidden: this server does not support it")

    def test_old_values_cannot_be_found_inside_a_plain_list(self) -> None:
        item = {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}
        (cause,) = found(with_x({"type": "array", "items": item}))
        assert "oldSelf cannot be used on the uncorrelatable portion of the schema" in cause
