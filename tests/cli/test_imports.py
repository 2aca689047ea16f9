"""What a command loads is memory on every node and time at every start, so the list is kept short.

Each case starts an interpreter of its own: what the tests themselves have loaded does not count.
"""

import subprocess
import sys

import pytest

from tests.cli.commands import COMMANDS

SERVERS = {"lading.servers", "lading.standalone", "cryptography", "sqlite3", "cel_expr_python"}
LONG_RUNNING = SERVERS | {
    "grpc",  # the library of the servers
    "aiohttp.web",  # the endpoint needs only its lowest layer
    "jsonpath",
    "numpy",  # only the pruner needs it, and it need not be installed
    "obstore",
}
AGENT = "lading.cli.agent, lading.wiring.agent, lading.wiring.host, lading.observability.endpoint"
CONTROLLER = "lading.cli.controller, lading.wiring.controller, lading.observability.endpoint"
"""With what they load when they run: their help needs less."""
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
}
"""Who asks a cluster waits for no runtime, no metrics and no logs."""
HELP = PEOPLE - {"lading.loop"}
"""Commands that load more when they run."""


NO_HELP_NEEDS = {
    "aiohttp",
    "cel_expr_python",
    "cryptography",
    "google.protobuf",
    "grpc",
    "grpclib",
    "jsonpath",
    "numpy",
    "obstore",
    "sqlite3",
}
EVERY_HELP = f"""
import contextlib, io, sys
from lading.cli.main import lading_command
seen = set()
for name in {list(COMMANDS)}:
    words = name.split()[1:]
    with contextlib.redirect_stdout(io.StringIO()) as shown, contextlib.suppress(SystemExit):
        lading_command.main([*words, "--help"], prog_name="lading")
    assert shown.getvalue().startswith(f"Usage: {{name}}"), name
    loaded = {NO_HELP_NEEDS} & sys.modules.keys() - seen
    seen |= loaded
    print(name, *sorted(loaded), sep=",")
"""


def loaded_by(modules: str) -> set[str]:
    return set(_printed(f"import sys, {modules}; print(*sys.modules, sep='\\n')"))


def _printed(code: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("command", "never"),
    [
        ("lading.cli.main", QUICK | {"msgspec", "structlog"}),
        ("lading.cli.get", PEOPLE),
        ("lading.cli.pin.status", PEOPLE),
        ("lading.cli.image.ls", PEOPLE | {"lading.adapters.kube"}),
        ("lading.cli.delete", PEOPLE),
        ("lading.cli.prune.images", HELP),
        ("lading.cli.controller", HELP),
        ("lading.cli.agent", HELP),
        ("lading.cli.dashboard", HELP),
        (AGENT, LONG_RUNNING),
        (CONTROLLER, LONG_RUNNING | {"grpclib", "google.protobuf", "lading.adapters.cri"}),
    ],
)
def test_a_command_loads_only_what_it_uses(command: str, never: set[str]) -> None:
    assert loaded_by(command) & never == set()


def test_no_help_loads_a_server_or_a_client_of_one() -> None:
    """All in one interpreter, because a module that one help loads is named with that command."""
    found = _printed(EVERY_HELP)
    assert len(found) == len(COMMANDS)
    assert [line for line in found if "," in line] == []
