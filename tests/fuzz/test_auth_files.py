"""Any auth file or pull secret is read as far as it can be, and no problem shows a secret."""

import base64
import json

from hypothesis import example, given

from lading.adapters.registry import auth_files, pull_secrets
from tests.fuzz import harness, inputs

CANARY = "canary"
AUTH = base64.b64encode(f"me:{CANARY}".encode()).decode()
ENTRIES = {
    "registry.example.com": {"auth": AUTH},
    "https://index.docker.io/v1/": {"username": "me", "password": CANARY},
    "*.example.com:5000/team": {"identitytoken": CANARY, "registrytoken": CANARY},
}
EXAMPLE = {"auths": ENTRIES, "credHelpers": {"gcr.io": "gcloud"}, "credsStore": "store"}


@given(content=inputs.mangled(inputs.documents(EXAMPLE).map(inputs.as_json)))
@example(content=b'{"auths":' + b"[" * 100_000)
@example(content=json.dumps({"auths": {"x" * 1_000_000: {"auth": "%"}}}).encode())
def test_any_auth_file_is_read(content: bytes) -> None:
    harness.check(lambda: _read(content), refusals=())


def _read(content: bytes) -> None:
    for parse in (auth_files.parse, auth_files.parse_dockercfg):
        found = parse(content, "config.json")
        assert CANARY not in repr(found)
        assert AUTH not in "".join(found.problems)
    secret = {".dockerconfigjson": base64.b64encode(content).decode()}
    assert not pull_secrets.parse(secret, "secret").helper_by_pattern
