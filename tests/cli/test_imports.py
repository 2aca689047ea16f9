"""What a command loads is memory on every node and time at every start, so the list is kept short.

Each case starts an interpreter of its own: what the tests themselves have loaded does not count.
"""

import subprocess
import sys

import pytest

SERVERS = {"lading.servers", "lading.standalone", "cryptography", "sqlite3", "cel_expr_python"}
LONG_RUNNING = SERVERS | {
    "grpc",  # the library of the servers
    "aiohttp.web",  # the endpoint needs only its lowest layer
    "yaml",  # a pod reads no kubeconfig
    "jsonpath",
    "numpy",  # only the pruner needs it, and it need not be installed
    "obstore",
}
QUICK = SERVERS | {"aiohttp", "grpc", "grpclib", "google.protobuf", "asyncio", "yaml", "ssl"}

PEOPLE = SERVERS | {
    "aiohttp",
    "google.protobuf",
    "grpc",
    "grpclib",
    "lading.loop",
    "numpy",
    "prometheus_client",
    "structlog",
    "yaml",
}
"""Who asks a cluster waits for no runtime, no metrics, no logs and no file."""


def loaded_by(module: str) -> set[str]:
    code = f"import sys, {module}; print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("command", "never"),
    [
        ("lading.cli.main", QUICK | {"msgspec", "structlog"}),
        ("lading.cli.get", PEOPLE),
        ("lading.cli.pin.status", PEOPLE),
        ("lading.cli.image.ls", PEOPLE | {"lading.adapters.kube"}),
        ("lading.cli.delete", PEOPLE - {"yaml"}),
        ("lading.cli.agent", LONG_RUNNING),
        (
            "lading.cli.controller",
            LONG_RUNNING | {"grpclib", "google.protobuf", "lading.adapters.cri"},
        ),
    ],
)
def test_a_command_loads_only_what_it_uses(command: str, never: set[str]) -> None:
    assert loaded_by(command) & never == set()
