"""What the server fills into built-in kinds, compared with what a real one answered."""

from typing import Any

import pytest

from lading.servers.kube.builtins import defaults

Document = dict[str, Any]
CONTAINER = {"name": "c", "image": "i"}


def filled(group: str, kind: str, **document: Any) -> Document:
    given = {"metadata": {"name": "x", "uid": "u"}, **document}
    whole = defaults.fill(group, kind, given)
    assert defaults.fill(group, kind, whole) == whole
    return whole


def test_the_texts_of_a_secret_are_encoded_and_win_over_its_data() -> None:
    secret = filled("", "Secret", data={"a": "eA==", "b": "eQ=="}, stringData={"a": "z"})
    assert secret["data"] == {"a": "eg==", "b": "eQ=="}
    assert "stringData" not in secret
    assert secret["type"] == "Opaque"


@pytest.mark.parametrize("data", [True, False, "", [], 1])
def test_data_of_a_secret_that_is_no_object_stays_for_the_schema_to_refuse(data: Any) -> None:
    assert filled("", "Secret", data=data, stringData={"a": "z"})["data"] == data
    assert filled("", "Secret", data=None, stringData={"a": "z"})["data"] == {"a": "eg=="}


def test_a_new_namespace_is_active_labelled_and_finalized_by_the_server() -> None:
    namespace = defaults.begin("", "Namespace", filled("", "Namespace"))
    assert namespace["spec"] == {"finalizers": ["kubernetes"]}
    assert namespace["status"] == {"phase": "Active"}
    assert namespace["metadata"]["labels"] == {"kubernetes.io/metadata.name": "x"}


def test_a_new_pod_waits_and_its_containers_are_completed() -> None:
    pod = defaults.begin("", "Pod", filled("", "Pod", spec={"containers": [CONTAINER]}))
    assert pod["status"]["phase"] == "Pending"
    assert pod["spec"]["restartPolicy"] == "Always"
    assert pod["spec"]["containers"] == [
        {
            **CONTAINER,
            "imagePullPolicy": "Always",
            "resources": {},
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
        }
    ]


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("i", "Always"),
        ("i:latest", "Always"),
        ("h:5000/i", "Always"),
        ("i:v1", "IfNotPresent"),
        ("h:5000/i:v1", "IfNotPresent"),
        ("i@sha256:" + "0" * 64, "IfNotPresent"),
    ],
)
def test_only_an_image_that_may_move_is_always_pulled(image: str, policy: str) -> None:
    pod = filled("", "Pod", spec={"containers": [{"name": "c", "image": image}]})
    assert pod["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_a_daemon_set_rolls_by_default() -> None:
    template = {"spec": {"containers": [CONTAINER]}}
    rolling = filled("apps", "DaemonSet", spec={"template": template})["spec"]
    assert rolling["updateStrategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0},
    }
    assert rolling["template"]["spec"]["dnsPolicy"] == "ClusterFirst"
    spec = {"template": template, "updateStrategy": {"type": "OnDelete"}}
    manual = filled("apps", "DaemonSet", spec=spec)["spec"]
    assert manual["updateStrategy"] == {"type": "OnDelete"}


def test_a_new_job_selects_its_pods_by_its_uid() -> None:
    job = filled("batch", "Job", spec={"template": {"spec": {"containers": [CONTAINER]}}})
    begun = defaults.begin("batch", "Job", job)
    assert begun["spec"]["selector"]["matchLabels"] == {"batch.kubernetes.io/controller-uid": "u"}
    assert begun["spec"]["template"]["metadata"]["labels"]["job-name"] == "x"


def test_a_definition_gets_its_other_names_from_its_kind() -> None:
    spec = {"names": {"plural": "things", "kind": "Thing"}}
    names = filled("apiextensions.k8s.io", "CustomResourceDefinition", spec=spec)["spec"]["names"]
    assert (names["singular"], names["listKind"]) == ("thing", "ThingList")


def test_roles_are_bound_in_their_own_group() -> None:
    subjects = [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s"}]
    found = filled(
        "rbac.authorization.k8s.io",
        "RoleBinding",
        roleRef={"kind": "Role", "name": "r"},
        subjects=subjects,
    )
    assert found["roleRef"]["apiGroup"] == "rbac.authorization.k8s.io"
    assert [each.get("apiGroup") for each in found["subjects"]] == [
        "rbac.authorization.k8s.io",
        None,
    ]


def test_the_given_object_is_left_as_it_was() -> None:
    spec: Document = {"containers": [dict(CONTAINER)]}
    filled("", "Pod", spec=spec)
    assert spec == {"containers": [CONTAINER]}
