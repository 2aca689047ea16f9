"""Any registries.conf is read as far as it can be."""

import tempfile
from pathlib import Path

import tomli_w
from hypothesis import example, given
from hypothesis import strategies as st

from lading.adapters.registry import registries_conf
from lading.kernel import references
from lading.ports.registry import RegistryError
from tests.fuzz import harness, inputs

MIRROR = {"location": "mirror.example.com/prefix", "insecure": True, "pull-from-mirror": "all"}
ENTRY = {
    "prefix": "registry.example.com/team",
    "location": "elsewhere.example.com",
    "insecure": False,
    "blocked": False,
    "mirror-by-digest-only": True,
    "mirror": [MIRROR],
}
EXAMPLE = {"unqualified-search-registries": ["x"], "registry": [ENTRY, {"prefix": "*.example.com"}]}
IMAGES = [
    references.parse(text)
    for text in ("registry.example.com/team/app:v1", f"a.example.com/x@sha256:{'0' * 64}")
]


@given(content=inputs.mangled(st.just(tomli_w.dumps(EXAMPLE).encode())))
@example(content=b"a=" + b"[" * 100_000)
@example(content=b"[[registry]]\nprefix='*'\nlocation='a b'")
@example(content=b"[[registry]]\nlocation='registry.example.com:99999999'")
def test_any_file_is_read(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "registries.conf"
        file.write_bytes(content)
        harness.check(lambda: _routed(file), refusals=())


def _routed(file: Path) -> None:
    found = registries_conf.load([file], lambda _problem: None)
    for image in IMAGES:
        try:
            assert found.endpoints(image)
        except RegistryError:  # the file blocks it
            continue
