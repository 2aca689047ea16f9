"""The cluster that a command works on: the one that was asked for, or none."""

import pwd
from pathlib import Path

import pytest
import yaml

from lading.adapters.kube.connection import ConfigurationError
from lading.cli import connection
from lading.cli.connection import Target


def kubeconfig(path: Path, server: str) -> Path:
    document = {
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
        "current-context": "c",
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(document))
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person who once ran `lading up`, and who has no other cluster."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setattr(connection, "DEFAULT_DATA", tmp_path / "data")
    kubeconfig(tmp_path / "data" / "kubeconfig", "https://standalone")
    return tmp_path


def target(*, file: Path | None = None, context: str = "", namespace: str = "") -> Target:
    return Target(kubeconfig=file, context=context, namespace=namespace)


def test_without_any_configuration_it_is_the_standalone_cluster(home: Path) -> None:
    found = target(namespace="mine").found()
    assert (found.server, found.namespace) == ("https://standalone", "mine")


def test_a_kubeconfig_in_the_home_folder_wins(home: Path) -> None:
    kubeconfig(home / ".kube" / "config", "https://real")
    assert target().found().server == "https://real"


def test_a_context_that_is_nowhere_is_never_the_standalone_cluster(home: Path) -> None:
    with pytest.raises(ConfigurationError):
        target(context="production").found()


@pytest.mark.parametrize("content", [None, "a: b\n c: d\n", "{}"])
def test_a_kubeconfig_that_cannot_be_used_is_never_the_standalone_cluster(
    home: Path, monkeypatch: pytest.MonkeyPatch, content: str | None
) -> None:
    named = home / "named"
    if content is not None:
        named.write_text(content)
    monkeypatch.setenv("KUBECONFIG", str(named))
    with pytest.raises(ConfigurationError, match=str(named)):
        target().found()


def test_a_user_without_a_home_has_the_folder_of_services(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod may run as a user whom no file of the image names."""

    def no_such_user(number: int) -> None:
        raise KeyError(number)

    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", no_such_user)
    assert connection.default_data() == Path("/var/lib/lading")
