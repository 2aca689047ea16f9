"""The checks of this machine as a node: the socket of its runtime, its answers, its disk."""

import os
from pathlib import Path

import click

from lading.cli.doctor import findings, node_reports
from lading.cli.doctor.findings import CheckFinding
from lading.cli.image import endpoints
from lading.ports import cri
from lading.ports.cri import Cri
from lading.ports.kubelet import KubeletLimits
from lading.wiring import image_commands

CRICTL_CONFIG = Path("/etc/crictl.yaml")
_UNIX = "unix://"


async def examine(endpoint: str) -> list[CheckFinding]:
    try:
        found = endpoints.find(runtime=endpoint, images="", config=CRICTL_CONFIG).runtime
    except click.ClickException as error:
        step = "run `lading doctor` on a node, or name the socket with --runtime-endpoint"
        return [findings.skipped("Runtime", _first_sentence(error.message), step)]
    if (refused := socket(found)) is not None:
        return [refused]
    try:
        async with image_commands.open_cri(found, image_endpoint=found) as runtime:
            return await _answers(found, runtime)
    except cri.CriError as error:
        step = "check that the runtime runs: systemctl status containerd crio"
        return [findings.failed("Runtime", f"{error}.", step)]


def socket(endpoint: str) -> CheckFinding | None:
    """Why it cannot be used; None where it can, or where it is no file."""
    path = Path(endpoint.removeprefix(_UNIX))
    if not endpoint.startswith(_UNIX):
        return None
    if not path.exists():
        step = "check that the runtime runs, and the path"
        return findings.failed("Runtime", f"There is no socket {path}.", step)
    if not os.access(path, os.R_OK | os.W_OK):
        return findings.failed("Runtime", f"You may not use {path}.", "run `lading doctor` as root")
    return None


def _first_sentence(message: str) -> str:
    found = message.partition(";")[0]
    return f"{found[:1].upper()}{found[1:]}."


async def _answers(endpoint: str, runtime: Cri) -> list[CheckFinding]:
    version, status = await runtime.version(), await runtime.status()
    sentence = f"{version.name} {version.version} answers at {endpoint}."
    found = [findings.ok("Runtime", sentence)]
    if not status.ready:
        step = "read the log of the runtime"
        found = [findings.failed("Runtime", f"{sentence} It reports that it is not ready.", step)]
    handlers = [one.name or "the default" for one in status.handlers]
    if handlers:
        found.append(findings.ok("Handlers", f"Runtime handlers: {', '.join(handlers)}."))
    for usage in (await runtime.filesystems()).images:
        space = await image_commands.disk().space(usage.mountpoint)
        if space is not None:
            limits = KubeletLimits()  # its own are only known to the API server
            found.append(node_reports.judged(usage.mountpoint, limits, space, check="Disk"))
    return found
