"""Registries that answer to `lading doctor`, or do not."""

import socket

import pytest

from lading.cli.doctor import registry_checks
from lading.kernel import references
from lading.wiring.clock import system_clock
from lading.wiring.registries import open_registries


async def test_a_registry_that_is_silent_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry_checks, "ANSWER_SECONDS_MAX", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        host = f"127.0.0.1:{silent.getsockname()[1]}"
        image = references.parse(f"{host}/app@sha256:{'0' * 64}")
        async with open_registries(system_clock()) as opened:
            found = await registry_checks.reached(opened.client, image)
    assert (found.result, found.found) == ("failed", f"{host} did not answer within 0 s.")
    assert "proxy" in found.next_step
