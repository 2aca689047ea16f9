"""Any hosts.toml is read, or reported and passed over: the registry is asked then."""

import tempfile
from pathlib import Path

import tomli_w
from hypothesis import example, given
from hypothesis import strategies as st

from lading.adapters.registry.hosts_toml import HostsFolders
from lading.kernel import references
from tests.fuzz import harness, inputs

RULES = {
    "capabilities": ["pull", "resolve"],
    "skip_verify": True,
    "override_path": True,
    "header": {"x-a": ["b"]},
}
EXAMPLE = {
    "server": "https://registry.example.com",
    "host": {"https://mirror.example.com/v2": RULES, "http://other.example.com:5000": RULES},
}
IMAGE = references.parse("registry.example.com/team/app:v1")


@given(content=inputs.mangled(st.just(tomli_w.dumps(EXAMPLE).encode())))
@example(content=b"a=" + b"[" * 100_000)
@example(content=b"server='https://x:99999999'")
@example(content=b"server='https://[::1'")
@example(content=b"ca='/etc/passwd'")
@example(content=b"ca='/proc/self/mem'")
def test_any_file_is_read_or_the_registry_is_asked(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        hosts = Path(folder) / "registry.example.com"
        hosts.mkdir()
        (hosts / "hosts.toml").write_bytes(content)
        problems: list[str] = []
        routing = HostsFolders((Path(folder),), problems.append)
        harness.check(lambda: routing.endpoints(IMAGE)[-1].url, refusals=())
