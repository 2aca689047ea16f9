"""Kubeconfig files as users have them: merged, with paths, with mistakes."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from lading.adapters.kube import connect, kubeconfig
from lading.adapters.kube.connection import ConfigurationError
from tests.adapters.kube.certificates import Authority

V1 = "client.authentication.k8s.io/v1"
PEM_DATA = base64.b64encode(b"-----BEGIN X-----").decode()


def document(
    *,
    cluster: dict[str, Any] | None = None,
    user: dict[str, Any] | None = None,
    current_context: str = "main",
    **top: Any,
) -> dict[str, Any]:
    cluster = {"server": "https://one:6443", **(cluster or {})}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": current_context,
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "main", "context": {"cluster": "c", "user": "u"}}],
        **top,
    }


def write(file: Path, content: dict[str, Any]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump(content))
    return file


def test_the_first_file_that_names_something_wins(tmp_path: Path) -> None:
    first = write(tmp_path / "a", {"current-context": "main", "contexts": []})
    second = write(
        tmp_path / "b", document(cluster={"server": "https://b"}, current_context="other")
    )
    third = write(tmp_path / "c", document(cluster={"server": "https://c"}, user={"token": "t"}))
    merged = kubeconfig.load([first, tmp_path / "absent", second, third])
    assert merged.connection().server == "https://b"
    assert merged.connection().user.token == ""


def test_the_environment_names_several_files(tmp_path: Path) -> None:
    listed = {"KUBECONFIG": f"{tmp_path}/a::{tmp_path}/b:{tmp_path}/a"}
    assert kubeconfig.paths(listed) == (tmp_path / "a", tmp_path / "b")
    assert kubeconfig.paths({"KUBECONFIG": ""})[0].parts[-2:] == (".kube", "config")


def test_a_context_a_cluster_and_a_user_can_be_chosen_by_name(tmp_path: Path) -> None:
    content = document(user={"token": "one"})
    content["clusters"].append({"name": "c2", "cluster": {"server": "https://two/"}})
    content["users"].append({"name": "u2", "user": {"token": "two"}})
    context = {"cluster": "c2", "user": "u", "namespace": "ns"}
    content["contexts"].append({"name": "side", "context": context})
    loaded = kubeconfig.load([write(tmp_path / "config", content)])
    side = loaded.connection(context="side", user="u2")
    assert (side.server, side.user.token, side.namespace) == ("https://two", "two", "ns")
    assert loaded.connection(cluster="c2").server == "https://two"
    assert loaded.connection().namespace == "default"


def test_paths_are_relative_to_the_file_they_stand_in(tmp_path: Path) -> None:
    authority = Authority()
    issued = authority.issue("me")
    folder = tmp_path / "deep"
    cluster = {"certificate-authority": "ca.pem"}
    user = {"client-certificate": "me.pem", "client-key": "key.pem", "tokenFile": "token"}
    file = write(folder / "config", document(cluster=cluster, user=user))
    (folder / "ca.pem").write_text(authority.pem)
    (folder / "me.pem").write_text(issued.certificate_pem)
    (folder / "key.pem").write_text(issued.key_pem)
    connection = kubeconfig.load([file]).connection()
    assert connection.trust.authority_pem == authority.pem
    assert connection.user.certificate == issued
    assert connection.user.token_file == str(folder / "token")


def test_data_wins_over_a_file(tmp_path: Path) -> None:
    pem = Authority().pem
    data = base64.b64encode(pem.encode()).decode()
    cluster = {"certificate-authority": "absent", "certificate-authority-data": data}
    file = write(tmp_path / "config", document(cluster=cluster))
    assert kubeconfig.load([file]).connection().trust.authority_pem == pem


def test_everything_about_a_cluster_is_taken(tmp_path: Path) -> None:
    cluster = {
        "insecure-skip-tls-verify": True,
        "tls-server-name": "api",
        "proxy-url": "http://proxy:3128",
        "disable-compression": True,
    }
    user = {"as": "jane", "as-uid": "7", "as-groups": ["dev"], "as-user-extra": {"a": ["b"]}}
    file = write(tmp_path / "config", document(cluster=cluster, user=user))
    connection = kubeconfig.load([file]).connection()
    assert (connection.trust.verify, connection.trust.server_name) == (False, "api")
    assert (connection.proxy_url, connection.compression) == ("http://proxy:3128", False)
    impersonation = connection.user.impersonation
    assert impersonation is not None
    assert (impersonation.user, impersonation.uid) == ("jane", "7")
    assert (impersonation.groups, impersonation.extra) == (("dev",), {"a": ("b",)})


def test_an_exec_plugin_gets_the_cluster(tmp_path: Path) -> None:
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}
    plugin = {
        "apiVersion": V1,
        "command": "./bin/login",
        "args": ["--now"],
        "env": [{"name": "A", "value": "b"}],
        "interactiveMode": "Never",
        "provideClusterInfo": True,
    }
    content = document(cluster={"extensions": [extension]}, user={"exec": plugin})
    found = kubeconfig.load([write(tmp_path / "config", content)]).connection().user.exec_plugin
    assert found is not None
    assert Path(found.command) == tmp_path / "bin" / "login"
    assert (found.arguments, found.environment) == (("--now",), {"A": "b"})
    assert found.cluster == {"server": "https://one:6443", "config": {"audience": "x"}}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (document(cluster={"server": ""}), "clusters[c].cluster.server is required"),
        (document(cluster={"server": 7}), "clusters[c].cluster.server must be a string"),
        (document(cluster={"server": "ftp://x"}), "cluster.server must be an address of the form"),
        (document(cluster={"proxy-url": "socks5://x"}), "cluster.proxy-url must be an address"),
        (
            document(cluster={"certificate-authority-data": "%%"}),
            "cluster.certificate-authority-data must be PEM text in base64",
        ),
        (
            document(cluster={"certificate-authority-data": "eA=="}),
            "cluster.certificate-authority-data must be PEM text in base64",
        ),
        (document(cluster={"certificate-authority": "gone"}), "certificate-authority names"),
        (document(cluster={"certificate-authority": "config"}), "which is not PEM text"),
        (
            document(cluster={"insecure-skip-tls-verify": "yes"}),
            "cluster.insecure-skip-tls-verify must be true or false",
        ),
        (
            document(user={"client-key-data": PEM_DATA}),
            "users[u].user.client-certificate is required together with client-key",
        ),
        (document(user={"as-groups": ["a"]}), "users[u].user.as is required"),
        (document(user={"auth-provider": {"name": "gcp"}}), "user.auth-provider is not supported"),
        (
            document(user={"exec": {"apiVersion": "v7", "command": "x"}}),
            "users[u].user.exec.apiVersion must be one of",
        ),
        (document(user={"exec": {"apiVersion": V1}}), "users[u].user.exec.command is required"),
        (
            document(user={"exec": {"apiVersion": V1, "command": "x"}}),
            "users[u].user.exec.interactiveMode must be one of",
        ),
        (document(current_context=""), "current-context is not set; set --context: main"),
        ({}, "there is no context in it"),
        (document(current_context="x"), "contexts has no entry 'x'; it has main"),
        (document(clusters=[]), "clusters has no entry 'c'; it has none"),
        (document(users={}), "users has no entry 'u'"),
        (document(users={"u": {}}), "users must be a list"),
        (document(contexts=[{"context": {}}]), "contexts[0] must have a name"),
    ],
)
def test_a_mistake_names_the_file_and_the_field(
    tmp_path: Path, content: dict[str, Any], problem: str
) -> None:
    file = write(tmp_path / "config", content)
    with pytest.raises(ConfigurationError) as caught:
        kubeconfig.load([file]).connection()
    assert str(caught.value).startswith(f"{file}: ")
    assert problem in str(caught.value)


def test_broken_yaml_is_placed_without_showing_what_stands_there(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text("users:\n- name: u\n  user: {token: hidden-token\n")
    with pytest.raises(ConfigurationError, match="config: is not YAML: line 4, column 1") as caught:
        kubeconfig.load([file])
    assert "hidden-token" not in str(caught.value)


def test_secrets_stay_out_of_repr(tmp_path: Path) -> None:
    key = base64.b64encode(b"-----BEGIN hidden-key").decode()
    user = {
        "token": "hidden-token",
        "password": "hidden-password",
        "client-certificate-data": PEM_DATA,
        "client-key-data": key,
        "exec": {
            "apiVersion": V1,
            "command": "x",
            "interactiveMode": "Never",
            "env": [{"name": "PASSWORD", "value": "hidden-variable"}],
        },
    }
    file = write(tmp_path / "config", document(user=user))
    assert "hidden" not in repr(kubeconfig.load([file]).connection())


def test_without_any_configuration_the_error_names_the_next_step(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="with --kubeconfig or KUBECONFIG"):
        connect.find({"KUBECONFIG": str(tmp_path / "absent")})
    with pytest.raises(ConfigurationError, match="there is no such kubeconfig file"):
        connect.find({}, file=tmp_path / "absent")
