"""What built-in kinds refuse, in the words a real kube-apiserver 1.36 was seen to use."""

from typing import Any

import pytest

from lading.servers.kube.builtins import checks, defaults, metadata

Document = dict[str, Any]
PODS = {"containers": [{"name": "c", "image": "i"}]}
NOT_A_SUBDOMAIN = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric"


def found(group: str, kind: str, old: Document | None = None, **document: Any) -> list[str]:
    given = defaults.fill(
        group, kind, {"metadata": {"name": "x", "namespace": "default"}, **document}
    )
    before = None if old is None else defaults.fill(group, kind, {"metadata": {}, **old})
    return [str(cause) for cause in checks.problems(group, kind, given, before)]


def of_metadata(kind: str = "ConfigMap", group: str = "", **given: Any) -> list[str]:
    document = {"metadata": {"name": "x", **given}}
    return [str(cause) for cause in metadata.problems(group, kind, document)]


class TestMetadata:
    def test_a_plain_name_is_fine(self) -> None:
        assert of_metadata(labels={"app.io/name": "x", "a": ""}, finalizers=["a.io/b"]) == []

    def test_a_name_is_required(self) -> None:
        assert of_metadata(name="") == [
            "metadata.name: Required value: name or generateName is required"
        ]

    def test_a_name_is_a_dns_subdomain(self) -> None:
        (cause,) = of_metadata(name="A_b")
        assert cause.startswith(f'metadata.name: Invalid value: "A_b": {NOT_A_SUBDOMAIN}')

    def test_a_name_has_an_end(self) -> None:
        (cause,) = of_metadata(name="a" * 254)
        assert cause.endswith("must be no more than 253 characters")

    def test_a_namespace_has_no_dots(self) -> None:
        assert of_metadata("Namespace", name="a.b") == [
            'metadata.name: Invalid value: "a.b": must not contain dots'
        ]

    def test_a_role_may_be_named_almost_anything(self) -> None:
        group = "rbac.authorization.k8s.io"
        assert of_metadata("ClusterRole", group, name="system:Node") == []
        assert of_metadata("ClusterRole", group, name="a/b") == [
            "metadata.name: Invalid value: \"a/b\": may not contain '/'"
        ]

    @pytest.mark.parametrize(
        ("labels", "text"),
        [
            ({"a b": "c"}, 'metadata.labels: Invalid value: "a b": name part must consist of'),
            ({"a": "c d"}, 'metadata.labels: Invalid value: "c d": a valid label must be'),
            ({"a": "c" * 64}, "must be no more than 63 bytes"),
            ({"a/b/c": "d"}, "a valid label key must consist of alphanumeric characters"),
            ({"/a": "d"}, "prefix part must be non-empty"),
        ],
    )
    def test_labels_have_a_syntax(self, labels: Document, text: str) -> None:
        assert any(text in cause for cause in of_metadata(labels=labels))

    def test_a_finalizer_is_qualified(self) -> None:
        assert of_metadata(finalizers=["foo"]) == [
            (
                'metadata.finalizers[0]: Invalid value: "foo": name is neither a standard '
                "finalizer name nor is it fully qualified"
            )
        ]

    def test_an_owner_is_whole_and_only_one_controls(self) -> None:
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "1", "controller": True}
        assert of_metadata(ownerReferences=[{**owner, "uid": ""}]) == [
            'metadata.ownerReferences.uid: Invalid value: "": must not be empty'
        ]
        (cause,) = of_metadata(ownerReferences=[owner, {**owner, "name": "q"}])
        assert 'Found "true" in references for Pod/p and Pod/q' in cause


CASES: list[tuple[str, str, Document, list[str]]] = [
    (
        "",
        "ConfigMap",
        {"data": {"..": "x"}},
        ["data[..]: Invalid value: \"..\": must not be '..'"],
    ),
    (
        "",
        "ConfigMap",
        {"data": {"a": "x"}, "binaryData": {"a": "eA=="}},
        ['data[a]: Invalid value: "a": duplicate of key present in binaryData'],
    ),
    (
        "",
        "ConfigMap",
        {"data": {"a": "x" * 1_100_000}},
        ["[]: Too long: may not be more than 1048576 bytes"],
    ),
    (
        "",
        "Secret",
        {"type": "kubernetes.io/dockerconfigjson"},
        ["data[.dockerconfigjson]: Required value"],
    ),
    ("", "Pod", {}, ["spec.containers: Required value"]),
    (
        "",
        "Pod",
        {"spec": {"containers": [{}]}},
        [
            "spec.containers[0].name: Required value",
            "spec.containers[0].image: Required value",
        ],
    ),
    (
        "",
        "Pod",
        {
            "spec": {
                "containers": [
                    {**PODS["containers"][0], "volumeMounts": [{"name": "v", "mountPath": "/"}]}
                ]
            }
        },
        ['spec.containers[0].volumeMounts[0].name: Not found: "v"'],
    ),
    (
        "apps",
        "DaemonSet",
        {
            "spec": {
                "selector": {"matchLabels": {"a": "z"}},
                "template": {"metadata": {"labels": {"a": "b"}}, "spec": PODS},
            }
        },
        [
            (
                'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not '
                "match template `labels`"
            )
        ],
    ),
    (
        "apps",
        "DaemonSet",
        {"spec": {"selector": {}, "template": {"spec": PODS}}},
        ["spec.selector: Invalid value: {}: empty selector is invalid for daemonset"],
    ),
    (
        "coordination.k8s.io",
        "Lease",
        {"spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1}},
        [
            "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
            "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
        ],
    ),
    ("node.k8s.io", "RuntimeClass", {}, ["handler: Required value"]),
    (
        "rbac.authorization.k8s.io",
        "ClusterRoleBinding",
        {
            "roleRef": {"kind": "Foo", "name": "x"},
            "subjects": [{"kind": "ServiceAccount", "name": "s"}],
        },
        [
            'roleRef.kind: Unsupported value: "Foo": supported values: "ClusterRole"',
            "subjects[0].namespace: Required value",
        ],
    ),
    (
        "batch",
        "CronJob",
        {"spec": {"schedule": "foo", "jobTemplate": {"spec": {"template": {"spec": PODS}}}}},
        [
            'spec.schedule: Invalid value: "foo": expected exactly 5 fields, found 1: [foo]',
            (
                "spec.jobTemplate.spec.template.spec.restartPolicy: Required value: valid values: "
                '"OnFailure", "Never"'
            ),
        ],
    ),
    (
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicyBinding",
        {"spec": {"policyName": "p", "validationActions": []}},
        [
            "spec.validationActions: Required value: at least one validation action is required",
        ],
    ),
]


@pytest.mark.parametrize(
    ("group", "kind", "document", "expected"),
    CASES,
    ids=[f"{case[1]}-{index}" for index, case in enumerate(CASES)],
)
def test_the_answer_is_the_one_a_kubernetes_user_knows(
    group: str, kind: str, document: Document, expected: list[str]
) -> None:
    assert found(group, kind, **document) == expected


class TestChanges:
    def test_what_is_immutable_stays(self) -> None:
        old = {"immutable": True, "data": {"a": "1"}}
        assert found("", "ConfigMap", old, immutable=True, data={"a": "2"}) == [
            "data: Forbidden: field is immutable when `immutable` is set"
        ]

    def test_the_type_of_a_secret_stays(self) -> None:
        assert found("", "Secret", {"type": "Opaque"}, type="other") == [
            'type: Invalid value: "other": field is immutable'
        ]

    def test_the_handler_of_a_runtime_class_stays(self) -> None:
        assert found("node.k8s.io", "RuntimeClass", {"handler": "a"}, handler="b") == [
            'handler: Invalid value: "b": field is immutable'
        ]

    def test_a_pod_changes_its_images_and_is_bound_once_but_nothing_else(self) -> None:
        image = {"containers": [{"name": "c", "image": "j"}], "nodeName": "n"}
        assert found("", "Pod", {"spec": PODS}, spec=image) == []
        (cause,) = found("", "Pod", {"spec": PODS}, spec={**PODS, "hostNetwork": True})
        assert cause.startswith("spec: Forbidden: pod updates may not change fields other than")


class TestPolicies:
    def expression(self, text: str) -> list[str]:
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["*"]}
        spec = {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": text}],
        }
        return found("admissionregistration.k8s.io", "ValidatingAdmissionPolicy", spec=spec)

    def test_a_sound_expression_is_accepted(self) -> None:
        assert self.expression("has(object.spec) && request.operation == 'CREATE'") == []

    def test_one_that_does_not_compile_is_refused_when_it_is_written(self) -> None:
        (cause,) = self.expression("zz == 1")
        assert "compilation failed: ERROR: <input>:1:1: undeclared reference to 'zz'" in cause

    def test_one_that_is_not_true_or_false_is_refused(self) -> None:
        (cause,) = self.expression("1")
        assert cause.endswith('Invalid value: "1": must evaluate to bool but got int')
