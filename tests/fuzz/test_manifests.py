"""Any manifest, index or configuration of a registry is read or refused, at little cost."""

import json

from hypothesis import example, given

from lading.kernel import manifests, platforms
from lading.kernel.errors import Malformed
from lading.kernel.manifests import Index
from lading.kernel.platforms import Platform
from tests.fuzz import harness, inputs

DIGEST = f"sha256:{'a' * 64}"
ENTRY = {
    "mediaType": manifests.OCI_MANIFEST,
    "digest": DIGEST,
    "size": 7,
    "artifactType": "application/x",
    "annotations": {"a": "b"},
    "platform": {
        "os": "windows",
        "architecture": "amd64",
        "variant": "v2",
        "os.version": "10.0.20348.1970",
        "os.features": ["win32k"],
    },
}
INDEX = {"schemaVersion": 2, "mediaType": manifests.OCI_INDEX, "manifests": [ENTRY, ENTRY]}
IMAGE = {"schemaVersion": 2, "config": ENTRY, "layers": [ENTRY], "subject": ENTRY}
CONFIG = {
    "os": "linux",
    "architecture": "arm64",
    "config": {"User": "1002", "Labels": {"a": "b"}},
    "rootfs": {"type": "layers", "diff_ids": [DIGEST]},
}
HOST = Platform(os="windows", architecture="amd64", os_version="10.0.20348")
MESSAGE_CHARACTERS_MAX = 16 * 1024
MANIFESTS = inputs.documents(INDEX) | inputs.documents(IMAGE)


def large(**fields: object) -> bytes:
    return json.dumps({"schemaVersion": 2, **fields}).encode()


@given(content=inputs.mangled(MANIFESTS.map(inputs.as_json)))
@example(content=large(manifests=[{**ENTRY, "annotations": {"x" * 100: "y" * 500}}] * 4096))
@example(content=large(manifests=[{**ENTRY, "platform": {"os.features": ["x"] * 500_000}}]))
@example(content=large(manifests=[{**ENTRY, "platform": {"os": "x" * 500, "a": "b"}}] * 4096))
@example(content=large(manifests=[{"digest": "", "size": 1}] * 150_000))
def test_any_manifest_is_read_or_refused(content: bytes) -> None:
    harness.check(lambda: _choose(content), refusals=(Malformed,))


def _choose(content: bytes) -> None:
    found = manifests.parse(content)
    if isinstance(found, Index):
        choice = platforms.select(found.manifests, HOST)
        if isinstance(choice, platforms.NoMatch):
            assert len(str(choice)) < MESSAGE_CHARACTERS_MAX


@given(content=inputs.mangled(inputs.documents(CONFIG).map(inputs.as_json)))
def test_any_configuration_is_read_or_refused(content: bytes) -> None:
    harness.check(lambda: manifests.parse_config(content), refusals=(Malformed,))
