"""What a process loads is memory on every node; what `--help` loads is time at every start.

Each case starts an interpreter of its own: what the tests themselves have loaded does not count.
"""

import subprocess
import sys

import pytest

SERVERS = {"lading.embedded", "sqlite3", "cel_expr_python"}
LONG_RUNNING = SERVERS | {
    "aiohttp.web",  # the endpoint needs only its lowest layer
    "jsonpath",
    "numpy",  # only the pruner needs it, and it need not be installed
    "obstore",
}
AGENT = "lading.cli.agent, lading.wiring.agent, lading.wiring.host, lading.observability.endpoint"
CONTROLLER = "lading.cli.controller, lading.wiring.controller, lading.observability.endpoint"
HELP = {"aiohttp", "rich", "structlog", "yaml"}


@pytest.mark.parametrize(
    ("modules", "never"),
    [
        ("lading.cli.main, lading.cli.pin, lading.cli.prune", HELP),
        (AGENT, LONG_RUNNING),
        (CONTROLLER, LONG_RUNNING | {"grpclib", "google.protobuf", "lading.adapters.cri"}),
    ],
    ids=["help", "agent", "controller"],
)
def test_a_process_loads_only_what_it_uses(modules: str, never: set[str]) -> None:
    code = f"import sys, {modules}; print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert set(done.stdout.splitlines()) & never == set()
