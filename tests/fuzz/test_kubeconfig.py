"""Any kubeconfig file is read or refused, with a sentence that names the file."""

import tempfile
from pathlib import Path

from hypothesis import example, given

from lading.adapters.kube import kubeconfig
from lading.adapters.kube.connection import ConfigurationError
from tests.fuzz import harness, inputs

CLUSTER = {
    "server": "https://10.0.0.7:6443/prefix",
    "certificate-authority-data": "LS0tLS1CRUdJTiBYLS0tLS0=",
    "tls-server-name": "api",
    "proxy-url": "http://proxy:3128",
    "insecure-skip-tls-verify": False,
    "disable-compression": True,
    "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"a": 1}}],
}
EXEC = {
    "apiVersion": "client.authentication.k8s.io/v1",
    "command": "credentials",
    "args": ["--cluster", "one"],
    "env": [{"name": "A", "value": "b"}],
    "interactiveMode": "Never",
    "provideClusterInfo": True,
    "installHint": "install it",
}
USERS = [
    {"name": "token", "user": {"token": "secret", "as": "jane", "as-groups": ["dev"]}},
    {"name": "password", "user": {"username": "a", "password": "b", "as-user-extra": {"k": ["v"]}}},
    {"name": "exec", "user": {"exec": EXEC}},
    {
        "name": "files",
        "user": {"client-certificate": "a.crt", "client-key-data": "LS0tLS1CRUdJTiBYLS0tLS0="},
    },
]
EXAMPLE = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "token",
    "clusters": [{"name": "one", "cluster": CLUSTER}],
    "users": USERS,
    "contexts": [
        {"name": user["name"], "context": {"cluster": "one", "user": user["name"]}}
        for user in USERS
    ],
}


@given(content=inputs.documents(EXAMPLE).map(inputs.as_yaml))
def test_any_value_is_read_or_refused(content: bytes) -> None:
    check(content)


@given(content=inputs.mangled(inputs.documents(EXAMPLE).map(inputs.as_yaml)))
@example(content=b"- " * 100_000)
@example(content=b"a: 2001-13-45")
@example(content=b"a: " + b"1" * 5_000)
@example(content=b"a: !!timestamp x")
@example(content=b"a: !!bool x")
@example(content=b"a: &a [*a]")
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    check(content)


def check(content: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        harness.check(lambda: _every_connection(Path(file.name)), refusals=())


def _every_connection(file: Path) -> None:
    try:
        found = kubeconfig.load([file])
    except ConfigurationError as refusal:
        assert str(file) in str(refusal)
        return
    for context in ("", *found.context_names()):
        try:
            repr(found.connection(context=context))
        except ConfigurationError as refusal:
            assert str(file) in str(refusal)
