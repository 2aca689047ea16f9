"""The variables, files and arguments that a process gets from its pod."""

from typing import Any

import msgspec
import pytest

from lading.embedded.workloads.kinds import Container, Pod, Volume
from lading.embedded.workloads.pods import inputs
from lading.embedded.workloads.pods.inputs import ProcessInputs, SourceKind, Values, ValueSource
from tests.embedded.workloads.builders import pod

SECRET = ValueSource(SourceKind.SECRET, "s")
CONFIG = ValueSource(SourceKind.CONFIG_MAP, "c")
VALUES: Values = {
    SECRET: {"user": b"u", "PYTHONPATH": b"/planted", "..": b"outside"},
    CONFIG: {"policy.yaml": b"p"},
}
FOLDER = "/data/uid-p/c"


def container(*args: str, **fields: Any) -> Container:
    return msgspec.convert({"name": "c", "args": list(args), **fields}, Container)


def mounting(path: str, *args: str, **mount: Any) -> Container:
    """A container that mounts the volume v."""
    return container(*args, volumeMounts=[{"name": "v", "mountPath": path, **mount}])


def with_volume(one: Container, **volume: Any) -> Pod:
    found = msgspec.convert({"name": "v", **volume}, Volume)
    return pod(node="n-1", containers=(one,), volumes=(found,))


def given(one: Pod, values: Values = VALUES) -> ProcessInputs:
    return inputs.inputs(one, one.spec.containers[0], values, "/data/uid-p")


def test_variables_have_values_of_fields_and_secrets_and_the_container_wins() -> None:
    one = container(
        envFrom=[{"secretRef": {"name": "s"}}],
        env=[
            {"name": "..", "value": "own"},
            {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            {"name": "LD_PRELOAD", "value": "/planted"},
        ],
    )
    found = pod(node="n-1", containers=(one,))
    assert given(found).environment == {"user": "u", "..": "own", "NODE": "n-1"}
    assert inputs.sources(found, one) == (SECRET,)
    assert inputs.unsupported(found, one) == ()


def test_the_keys_of_a_secret_or_a_config_map_become_files() -> None:
    secret = given(with_volume(mounting("/etc/auth"), secret={"secretName": "s"}))
    assert secret.folder == FOLDER
    assert secret.files == {f"{FOLDER}/v/user": b"u", f"{FOLDER}/v/PYTHONPATH": b"/planted"}
    config = given(with_volume(mounting("/m"), configMap={"name": "c", "defaultMode": 420}))
    assert config.files == {f"{FOLDER}/v/policy.yaml": b"p"}


def test_a_volume_that_the_container_does_not_mount_is_not_read() -> None:
    found = with_volume(container(), secret={"secretName": "s"})
    assert inputs.sources(found, found.spec.containers[0]) == ()
    assert given(found).files == {}


@pytest.mark.parametrize(
    ("fields", "volume", "named"),
    [
        pytest.param(
            {"env": [{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]},
            {},
            "variable IP",
            id="a field that has no value here",
        ),
        pytest.param(
            {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]},
            {},
            "variable A",
            id="one key of a Secret",
        ),
        pytest.param(
            {"envFrom": [{"configMapRef": {"name": "c"}}]}, {}, "envFrom", id="a ConfigMap"
        ),
        pytest.param(
            {"envFrom": [{"prefix": "P_", "secretRef": {"name": "s"}}]},
            {},
            "envFrom",
            id="variables with a prefix",
        ),
        pytest.param({}, {"emptyDir": {}}, "volume v", id="an emptyDir"),
        pytest.param({}, {"hostPath": {"path": "/"}}, "volume v", id="a path of the host"),
        pytest.param(
            {},
            {"secret": {"secretName": "s", "items": [{"key": "user", "path": "../u"}]}},
            "volume v",
            id="some keys of a Secret",
        ),
    ],
)
def test_inputs_that_lading_up_does_not_provide_are_named(
    fields: Any, volume: Any, named: str
) -> None:
    token = {"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
    mounts = [token, *([{"name": "v", "mountPath": "/m"}] if volume else [])]
    one = container(volumeMounts=mounts, **fields)
    assert inputs.unsupported(with_volume(one, **volume), one) == (named,)


@pytest.mark.parametrize(
    "one", [mounting("//"), mounting("/m", subPath="a")], ids=["the root", "a sub-path"]
)
def test_some_mounts_are_not_provided(one: Container) -> None:
    found = with_volume(one, secret={"secretName": "s"})
    assert inputs.unsupported(found, one) == ("volume v",)


@pytest.mark.parametrize(
    ("text", "rewritten"),
    [
        ("/etc/auth/user", f"{FOLDER}/v/user"),
        ("/etc/auth", f"{FOLDER}/v"),
        ("--file=/etc/auth/user", f"--file={FOLDER}/v/user"),
        ("a:/etc/auth/x,/etc/auth/y", f"a:{FOLDER}/v/x,{FOLDER}/v/y"),
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


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({}, 'secret "s" not found'),
        ({SECRET: {}}, 'configmap "c" not found'),
        (VALUES, ""),
    ],
)
def test_a_source_that_does_not_exist_is_named(values: Values, problem: str) -> None:
    one = container(
        envFrom=[{"secretRef": {"name": "s"}}], volumeMounts=[{"name": "v", "mountPath": "/m"}]
    )
    found = with_volume(one, configMap={"name": "c"})
    assert inputs.missing(found, one, values) == problem
