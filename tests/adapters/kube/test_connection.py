"""What a pod says about the way to the API server."""

from pathlib import Path

import pytest

from lading.adapters.kube import connection
from lading.adapters.kube.connection import ConfigurationError

POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


def test_a_pod_uses_its_service_account(tmp_path: Path) -> None:
    for name, content in (("token", "t"), ("ca.crt", "pem"), ("namespace", "lading\n")):
        (tmp_path / name).write_text(content)
    assert connection.is_in_pod(POD, tmp_path)
    found = connection.of_pod(POD, tmp_path)
    assert found.server == "https://10.0.0.1:443"
    assert found.trust.authority_pem == "pem"
    assert found.user.token_file == str(tmp_path / "token")
    assert found.namespace == "lading"


def test_an_ipv6_address_is_written_in_brackets(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("pem")
    environment = {**POD, "KUBERNETES_SERVICE_HOST": "fd00::1"}
    assert connection.of_pod(environment, tmp_path).server == "https://[fd00::1]:443"


def test_outside_a_pod_it_says_so(tmp_path: Path) -> None:
    assert not connection.is_in_pod({}, tmp_path)
    assert not connection.is_in_pod(POD, tmp_path)
    with pytest.raises(ConfigurationError, match="this is not a pod"):
        connection.of_pod({}, tmp_path)
    with pytest.raises(ConfigurationError, match=r"ca\.crt: cannot be read"):
        connection.of_pod(POD, tmp_path)
