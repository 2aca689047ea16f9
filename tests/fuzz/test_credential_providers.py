"""Any configuration or answer of a credential provider is read or refused, without its secrets."""

from datetime import timedelta
from pathlib import Path

from hypothesis import example, given

from lading.adapters.programs import Program
from lading.adapters.registry import credential_providers
from lading.adapters.registry.credential_providers import Provider
from lading.kernel.errors import Malformed
from tests.fuzz import harness, inputs

PROTOCOL = "credentialprovider.kubelet.k8s.io/v1"
PROVIDER = Provider(
    name="plugin",
    protocol=PROTOCOL,
    program=Program(command=("plugin",)),
    match_images=("*.example.com",),
    kept_for=timedelta(minutes=10),
)
CONFIG = {
    "apiVersion": "kubelet.config.k8s.io/v1",
    "kind": "CredentialProviderConfig",
    "providers": [
        {
            "name": "plugin",
            "matchImages": ["*.example.com:5000/team"],
            "defaultCacheDuration": "12h",
            "apiVersion": PROTOCOL,
            "args": ["--verbose"],
            "env": [{"name": "A", "value": "b"}],
            "tokenAttributes": {"requireServiceAccount": False},
        }
    ],
}
ANSWER = {
    "kind": "CredentialProviderResponse",
    "apiVersion": PROTOCOL,
    "cacheKeyType": "Registry",
    "cacheDuration": "6h",
    "auth": {"registry.example.com/team": {"username": "me", "password": "canary"}},
}


@given(content=inputs.mangled(inputs.documents(CONFIG).map(inputs.as_yaml)))
@example(content=b"- " * 100_000)
@example(content=b"providers: 2001-13-45")
@example(content=b"providers: " + b"1" * 5_000)
@example(content=b"providers: &a [*a]")
def test_any_configuration_is_read_as_far_as_it_can_be(content: bytes) -> None:
    folder = Path("/plugins")
    harness.check(
        lambda: credential_providers.parse(content, name="config.yaml", folder=folder), refusals=()
    )


@given(content=inputs.mangled(inputs.documents(ANSWER).map(inputs.as_json)))
def test_any_answer_is_read_or_refused_without_its_password(content: bytes) -> None:
    harness.check(lambda: _read(content), refusals=())


def _read(content: bytes) -> None:
    try:
        found = credential_providers.parse_answer(content, PROVIDER)
    except Malformed as error:
        assert "canary" not in str(error)
        return
    assert "canary" not in repr(found)
    assert found.kept_for.total_seconds() < float("inf")
