"""The checks of a cluster with the rights of the user: API server, clock, kinds, registries.

A check that cannot be made says why, and the others are still made.
"""

import asyncio
import email.utils
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Protocol

import msgspec

from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.connection import ConfigurationError, NothingConfigured
from lading.api.apiextensions import CUSTOM_RESOURCE_DEFINITIONS
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.cli import error_messages
from lading.cli.connection import Target
from lading.cli.doctor import findings, node_checks, process_checks
from lading.cli.doctor.findings import CheckFinding
from lading.installation import check as kinds
from lading.installation import plan
from lading.kernel import references
from lading.kernel.errors import UNREADABLE, Malformed
from lading.kernel.references import Reference
from lading.ports import kube, registry
from lading.ports.http import Request
from lading.ports.kube import Selection
from lading.ports.registry import Registry
from lading.wiring import clusters
from lading.wiring.clock import system_clock
from lading.wiring.features import DEFINITIONS
from lading.wiring.registries import open_registries

CHECK_SECONDS_MAX = 20.0
REGISTRIES_MAX = 10
ANSWER_SECONDS_MAX = 10.0
CLOCK_WARNING_SECONDS = 5.0
CLOCK_FAILED_SECONDS = 60.0
"""From here on, the API server may refuse tokens, and new certificates are not valid yet."""


class ClusterCheck(Protocol):
    def __call__(self, client: KubeClient, /) -> AsyncIterator[CheckFinding]: ...


async def examine(target: Target) -> list[CheckFinding]:
    try:
        target.found()
    except ConfigurationError as error:
        return [_unconfigured(error, asked_for_one=target.names_a_cluster)]
    async with target.open() as client:
        found = await _made("API server", client, api_server)
        if findings.any_failed(found):
            return found
        for name, check in _CHECKS.items():
            found += await _made(name, client, check)
    return found


def _unconfigured(error: ConfigurationError, *, asked_for_one: bool) -> CheckFinding:
    """No cluster is not a fault, unless the user named one."""
    reason = f"{str(error).partition(';')[0]}."
    if isinstance(error, NothingConfigured) and not asked_for_one:
        return findings.skipped("Cluster", reason, "set KUBECONFIG, or run `lading up`")
    return findings.failed("Cluster", reason, "correct KUBECONFIG, --kubeconfig or --context")


async def _made(name: str, client: KubeClient, check: ClusterCheck) -> list[CheckFinding]:
    try:
        async with asyncio.timeout(CHECK_SECONDS_MAX):
            return [one async for one in check(client)]
    except TimeoutError:
        reason = f"No answer within {CHECK_SECONDS_MAX:.0f} s."
        return [findings.failed(name, reason, "check the network to the API server")]
    except kube.Forbidden as error:
        return [
            findings.skipped(
                name, str(error), "run `lading doctor` as an administrator of the cluster"
            )
        ]
    except kube.KubeError as error:
        return [findings.failed(name, str(error), _step(error))]


def _step(error: Exception, default: str = "read the log of the API server") -> str:
    """The part of the error message after the reason."""
    whole = error_messages.message(error) or ""
    return whole.removeprefix(str(error)).removeprefix("; ") or default


async def api_server(client: KubeClient) -> AsyncIterator[CheckFinding]:
    await clusters.require_credentials(client)
    answer = await client.answer(Request(method="GET", path="/version"))
    date = answer.headers.get("date") or answer.headers.get("Date") or ""
    version = await _version(client)
    yield findings.ok("API server", f"The API server answers. Its version is {version}.")
    yield clock(date, system_clock().now())


async def _version(client: KubeClient) -> str:
    try:
        found = msgspec.json.decode(await client.send(Request(method="GET", path="/version")))
        return str(found["gitVersion"])
    except (*UNREADABLE, KeyError, TypeError):
        return "unknown"


def clock(date: str, now: datetime) -> CheckFinding:
    """The API server sends its time in a header, in whole seconds."""
    try:
        theirs = email.utils.parsedate_to_datetime(date).astimezone(UTC)
    except ValueError:
        return findings.skipped("Clock", "The API server does not send its time.")
    apart = abs((now - theirs).total_seconds())
    found = f"This machine and the API server are {apart:.0f} s apart."
    if apart < CLOCK_WARNING_SECONDS:
        return findings.ok("Clock", found)
    step = "set the clocks by NTP on this machine and on the control plane"
    if apart < CLOCK_FAILED_SECONDS:
        return findings.warning("Clock", found, step)
    return findings.failed("Clock", found, step)


async def definitions(client: KubeClient) -> AsyncIterator[CheckFinding]:
    """Which of our kinds are installed, and by which owner."""
    await client.page(CUSTOM_RESOURCE_DEFINITIONS, Selection(field_selector="metadata.name=-"))
    installed = await kinds.installed(client, DEFINITIONS)
    ours = [
        one for one in DEFINITIONS if one.name in installed and plan.is_ours(installed[one.name])
    ]
    absent = [one for one in DEFINITIONS if one.name not in installed]
    missing = [one.name for one in absent if not one.shared_with]
    if missing:
        step = "lading crds | kubectl apply --server-side -f -"
        yield findings.failed("Kinds", f"Not installed: {', '.join(missing)}.", step)
    for one in absent:
        if one.shared_with:
            sentence = f"{one.name} is not installed. It is optional, and {one.shared_with}'s too."
            yield findings.ok("Kinds", sentence)
    if ours:
        yield findings.ok("Kinds", f"{len(ours)} of {len(DEFINITIONS)} kinds belong to Lading.")
    for one in DEFINITIONS:
        other = installed.get(one.name)
        if other is None or plan.is_ours(other):
            continue
        sentence = plan.foreign(one, other)
        if one.versions[-1] in plan.served(other):
            yield findings.ok("Kinds", f"{sentence}.")
        else:
            step = "upgrade that owner, or turn the feature off with --feature-gates"
            yield findings.failed("Kinds", f"{sentence}.", step)


async def registries(client: KubeClient) -> AsyncIterator[CheckFinding]:
    images = await _one_image_by_registry(client)
    if not images:
        yield findings.skipped("Registries", "No PinnedImageSet names an image.")
        return
    async with open_registries(system_clock()) as opened:
        for image in list(images.values())[:REGISTRIES_MAX]:
            yield await reached(opened.client, image)
    if len(images) > REGISTRIES_MAX:
        yield findings.skipped(
            "Registries", f"{len(images) - REGISTRIES_MAX} more registries were not asked."
        )


async def _one_image_by_registry(client: KubeClient) -> dict[str, Reference]:
    found: dict[str, Reference] = {}
    try:
        async for one in client.each(PINNED_IMAGE_SETS):
            for image in one.spec.pinned_images:
                try:
                    reference = references.parse(image.name)
                except Malformed:
                    continue
                found.setdefault(reference.registry or "", reference)
    except kube.NotFound:
        return {}
    return found


async def reached(client: Registry, image: Reference) -> CheckFinding:
    """Nodes may use other mirrors and credentials."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            held = await client.head(image)
    except registry.RegistryError as error:
        step = _step(error, "check the network and the name")
        reason = str(error).removeprefix(f"{image}: ")
        found = f"{image.registry}: {reason}."
        return findings.failed("Registries", found, step)
    except TimeoutError:
        sentence = f"{image.registry} did not answer within {ANSWER_SECONDS_MAX:.0f} s."
        return findings.failed(
            "Registries", sentence, "check the network to it and its proxy settings"
        )
    if held is None:
        return findings.failed("Registries", f"{image} is not in its registry.", "check the digest")
    return findings.ok(
        "Registries", f"{image.registry} answers to this machine, and has {image.repository}."
    )


_CHECKS: dict[str, ClusterCheck] = {
    "Kinds": definitions,
    "Rights": process_checks.rights,
    "Processes": process_checks.processes,
    "Nodes": node_checks.nodes,
    "Kubelet limits": node_checks.limits,
    "Registries": registries,
}
