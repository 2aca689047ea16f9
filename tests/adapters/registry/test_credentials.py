"""Which endpoint may see a credential that came with a request."""

import pytest

from lading.adapters.registry.credentials import ExplicitCredential
from lading.adapters.registry.endpoints import endpoint_at
from lading.ports.registry import Credential


@pytest.mark.parametrize(
    ("server_address", "host", "is_mirror", "is_shown"),
    [
        ("", "registry.example.com", False, True),
        ("", "mirror.example.com", True, False),
        ("https://registry.example.com", "registry.example.com", False, True),
        ("http://registry.example.com/v2/", "registry.example.com", False, True),
        ("registry.example.com", "registry.example.com", False, True),
        ("https://registry.example.com", "registry.example.com:5000", False, False),
        ("https://registry.example.com", "mirror.example.com", True, False),
        ("https://mirror.example.com", "mirror.example.com", True, True),
        ("https://registry-1.docker.io", "docker.io", False, True),
        ("https://docker.io", "docker.io", False, False),
    ],
)
async def test_a_credential_is_shown_to_its_server_alone(
    server_address: str, host: str, is_mirror: bool, is_shown: bool
) -> None:
    credential = Credential(username="carol", password="x", server_address=server_address)
    endpoint = endpoint_at(host, "app", is_mirror=is_mirror)
    found = await ExplicitCredential(credential).find(endpoint)
    assert found == ((credential,) if is_shown else ())
