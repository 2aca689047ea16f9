"""Free ports for programs that must know their port before they start."""

import secrets
import socket

PORTS = range(20_000, 30_000)
"""Below those that the kernel gives to outgoing connections and to servers that ask for any port:
none of them takes a port between this look and its use."""
ATTEMPTS_MAX = 100


def find() -> int:
    """Not drawn with `random`, which draws the same in every worker of a test run."""
    for _ in range(ATTEMPTS_MAX):
        port = secrets.choice(PORTS)
        try:
            socket.create_server(("", port)).close()
        except OSError:
            continue
        return port
    raise AssertionError(f"no free port from {PORTS.start} to {PORTS.stop - 1}")
