"""What `lading doctor` finds on a node with a runtime that answers."""

import os
from pathlib import Path

import pytest

from lading.adapters.clock import SystemClock
from lading.cli.doctor import node_checks
from lading.kernel.values import replace
from lading.ports.cri import RuntimeStatus
from lading.servers.cri import server as cri_server
from lading.servers.cri.core import EmbeddedRuntime
from lading.wiring.host import machine_platform
from lading.wiring.registries import open_registries


class Starting(EmbeddedRuntime):
    async def status(self) -> RuntimeStatus:
        return replace(await super().status(), ready=False)


async def test_a_runtime_that_is_not_ready_fails(tmp_path: Path) -> None:
    async with open_registries(SystemClock(), host_root=tmp_path, environment={}) as registries:
        runtime = Starting(
            root=tmp_path / "images",
            registry=registries.client,
            clock=SystemClock(),
            platform=machine_platform(),
        )
        async with cri_server.serve(runtime, tmp_path / "cri.sock") as endpoint:
            found = await node_checks.examine(endpoint)
    first, handlers, *_ = found
    assert (first.check, first.result) == ("Runtime", "failed")
    assert first.found.endswith("It reports that it is not ready.")
    assert handlers.found == "Runtime handlers: the default."


def test_a_socket_that_the_user_may_not_use_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may use any."""
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    found = node_checks.socket(f"unix://{tmp_path}")
    assert found is not None
    assert (found.result, found.next_step) == ("failed", "run `lading doctor` as root")


def test_the_reason_of_an_error_is_a_sentence() -> None:
    assert node_checks._first_sentence("no socket; name one with -r") == "No socket."
