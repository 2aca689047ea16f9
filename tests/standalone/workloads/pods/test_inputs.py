"""What a process gets from its pod."""

from typing import Any

import msgspec
import pytest

from lading.standalone.workloads.kinds import Container, Pod, Volume
from lading.standalone.workloads.pods import inputs
from lading.standalone.workloads.pods.inputs import ProcessInputs, SourceKind, Values, ValueSource
from tests.standalone.workloads.builders import pod

SECRET = ValueSource(SourceKind.SECRET, "s")
CONFIG = ValueSource(SourceKind.CONFIG_MAP, "c")
VALUES: Values = {SECRET: {"user": b"u", "word": b"w"}, CONFIG: {"policy.yaml": b"p"}}
OWN = "/data/uid-p/containers/c"
SHARED = "/data/uid-p/volumes"


def container(*args: str, **fields: Any) -> Container:
    return msgspec.convert({"name": "c", "args": list(args), **fields}, Container)


def mounting(path: str, *args: str, **mount: Any) -> Container:
    """It mounts the volume v."""
    return container(*args, volumeMounts=[{"name": "v", "mountPath": path, **mount}])


def with_volume(one: Container, **volume: Any) -> Pod:
    found = msgspec.convert({"name": "v", **volume}, Volume)
    return pod(node="n-1", containers=(one,), volumes=(found,))


def given(one: Pod, values: Values = VALUES) -> ProcessInputs:
    return inputs.inputs(one, one.spec.containers[0], values, "/data/uid-p")


def test_variables_have_values_of_the_pod_of_secrets_and_of_config_maps() -> None:
    one = container(
        env=[
            {"name": "A", "value": "1"},
            {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            {"name": "USER", "valueFrom": {"secretKeyRef": {"name": "s", "key": "user"}}},
            {"name": "P", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "policy.yaml"}}},
            {"name": "PYTHONPATH", "value": "/planted"},
            {"name": "LD_PRELOAD", "valueFrom": {"secretKeyRef": {"name": "s", "key": "user"}}},
        ]
    )
    found = pod(node="n-1", containers=(one,))
    assert given(found).environment == {"A": "1", "NODE": "n-1", "USER": "u", "P": "p"}
    assert inputs.sources(found, one) == {SECRET, CONFIG}
    assert inputs.unsupported(found, one) == ()


def test_all_keys_of_a_source_become_variables_and_one_of_its_own_wins() -> None:
    one = container(
        envFrom=[{"prefix": "REGISTRY_", "secretRef": {"name": "s"}}],
        env=[{"name": "REGISTRY_word", "value": "own"}],
    )
    found = pod(containers=(one,))
    assert given(found).environment == {"REGISTRY_user": "u", "REGISTRY_word": "own"}


def test_what_lading_up_never_has_is_named() -> None:
    one = container(
        env=[
            {"name": "MEMORY", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory"}}},
            {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        ],
        volumeMounts=[
            {"name": "v", "mountPath": "/host"},
            {"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"},
        ],
    )
    found = with_volume(one, hostPath={"path": "/"})
    assert inputs.unsupported(found, one) == ("variable MEMORY", "variable IP", "volume v")


@pytest.mark.parametrize(
    ("mount", "volume"),
    [
        pytest.param({}, {"secret": {"items": [{"key": "user", "path": "../u"}]}}, id="item"),
        pytest.param({}, {"configMap": {"items": [{"key": "k", "path": "/etc/k"}]}}, id="absolute"),
        pytest.param({"subPath": "a/../.."}, {"emptyDir": {}}, id="sub-path"),
    ],
)
def test_a_path_that_leaves_its_volume_is_not_provided(mount: Any, volume: Any) -> None:
    one = mounting("/m", **mount)
    assert inputs.unsupported(with_volume(one, **volume), one) == ("volume v",)


def test_a_volume_at_the_root_is_not_provided() -> None:
    one = mounting("//")
    assert inputs.unsupported(with_volume(one, emptyDir={}), one) == ("volume v",)


def test_each_key_of_a_secret_is_a_file_of_the_container() -> None:
    found = given(with_volume(mounting("/etc/auth"), secret={"secretName": "s"}))
    assert found.files == {f"{OWN}/v/user": b"u", f"{OWN}/v/word": b"w"}
    assert (found.own_folder, found.folders) == (OWN, (f"{OWN}/v",))


def test_listed_keys_become_files_at_their_paths() -> None:
    items = [{"key": "policy.yaml", "path": "a/b.yaml"}]
    found = given(with_volume(mounting("/m"), configMap={"name": "c", "items": items}))
    assert found.files == {f"{OWN}/v/a/b.yaml": b"p"}


def test_the_containers_of_a_pod_share_an_empty_folder() -> None:
    found = given(with_volume(mounting("/tmp/work"), emptyDir={}))
    assert (found.folders, found.files) == ((f"{SHARED}/v",), {})


def test_a_volume_that_the_container_does_not_mount_is_not_read() -> None:
    one = container()
    found = with_volume(one, secret={"secretName": "s"})
    assert inputs.sources(found, one) == frozenset()
    assert given(found).files == {}


@pytest.mark.parametrize(
    ("text", "rewritten"),
    [
        ("/etc/auth/user", f"{OWN}/v/user"),
        ("/etc/auth", f"{OWN}/v"),
        ("--file=/etc/auth/user", f"--file={OWN}/v/user"),
        ("a:/etc/auth/x,/etc/auth/y", f"a:{OWN}/v/x,{OWN}/v/y"),
        ("/etc/authority", "/etc/authority"),
        ("/etc/auth-2/user", "/etc/auth-2/user"),
        ("/host/etc/auth/user", "/host/etc/auth/user"),
        ("registry.example.com/etc/auth", "registry.example.com/etc/auth"),
    ],
)
def test_the_path_of_a_mount_becomes_the_path_of_its_folder(text: str, rewritten: str) -> None:
    one = container(
        text,
        env=[{"name": "V", "value": text}],
        volumeMounts=[{"name": "v", "mountPath": "/etc/auth/"}],
    )
    found = given(with_volume(one, secret={"secretName": "s"}))
    assert found.arguments == (rewritten,)
    assert found.environment == {"V": rewritten}


def test_of_two_mounts_the_longer_path_wins_and_a_sub_path_names_a_file() -> None:
    one = container(
        "/etc/auth/deep/x",
        "/etc/auth/word",
        volumeMounts=[
            {"name": "v", "mountPath": "/etc/auth"},
            {"name": "v", "mountPath": "/etc/auth/deep/x", "subPath": "user"},
        ],
    )
    found = given(with_volume(one, secret={"secretName": "s"}))
    assert found.arguments == (f"{OWN}/v/user", f"{OWN}/v/word")


MISSING_KEY = "couldn't find key other in Secret ns/s"


@pytest.mark.parametrize(
    ("fields", "values", "problem"),
    [
        ({"envFrom": [{"secretRef": {"name": "s"}}]}, {}, 'secret "s" not found'),
        ({"envFrom": [{"configMapRef": {"name": "c"}}]}, {}, 'configmap "c" not found'),
        ({"envFrom": [{"configMapRef": {"name": "c", "optional": True}}]}, {}, ""),
        ({"volumeMounts": [{"name": "v", "mountPath": "/m"}]}, {}, 'secret "s" not found'),
        ({"volumeMounts": [{"name": "v", "mountPath": "/m"}]}, VALUES, MISSING_KEY),
        (
            {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "other"}}}]},
            VALUES,
            MISSING_KEY,
        ),
        ({}, {}, ""),
    ],
)
def test_what_must_exist_first_is_named(fields: Any, values: Values, problem: str) -> None:
    one = container(**fields)
    items = [{"key": "other", "path": "o"}]
    found = with_volume(one, secret={"secretName": "s", "items": items})
    assert inputs.missing(found, one, values) == problem


def test_what_is_optional_and_missing_is_left_out() -> None:
    reference = {"name": "s", "key": "other", "optional": True}
    one = container(
        env=[{"name": "A", "valueFrom": {"secretKeyRef": reference}}],
        volumeMounts=[{"name": "v", "mountPath": "/m"}],
    )
    found = with_volume(one, configMap={"name": "absent", "optional": True})
    assert inputs.missing(found, one, VALUES) == ""
    assert (given(found).environment, given(found).files) == ({}, {})
