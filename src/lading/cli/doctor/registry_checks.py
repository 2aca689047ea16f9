"""Whether this machine reaches the registries that the sets of a cluster name."""

import asyncio
from collections.abc import AsyncIterator

from lading.adapters.kube.client import KubeClient
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.cli import sentences
from lading.cli.doctor import findings
from lading.cli.doctor.findings import CheckFinding
from lading.kernel import references
from lading.kernel.errors import Malformed
from lading.kernel.references import Reference
from lading.ports import kube, registry
from lading.ports.registry import Registry
from lading.wiring.clock import system_clock
from lading.wiring.registries import open_registries

REGISTRIES_MAX = 10
ANSWER_SECONDS_MAX = 10.0
_CHECK = "Registries"


async def registries(client: KubeClient) -> AsyncIterator[CheckFinding]:
    images = await _one_image_by_registry(client)
    if not images:
        yield findings.skipped(_CHECK, "No PinnedImageSet names an image.")
        return
    async with open_registries(system_clock()) as opened:
        for image in list(images.values())[:REGISTRIES_MAX]:
            yield await reached(opened.client, image)
    if len(images) > REGISTRIES_MAX:
        yield findings.skipped(
            _CHECK, f"{len(images) - REGISTRIES_MAX} more registries were not asked."
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
    """Nodes may take another way: mirrors and credentials of their own."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            held = await client.head(image)
    except registry.RegistryError as error:
        step = (sentences.sentence(error) or "").removeprefix(str(error)).removeprefix("; ")
        reason = str(error).removeprefix(f"{image}: ")
        found = f"{image.registry}: {reason}."
        return findings.failed(_CHECK, found, step or "check the network and the name")
    except TimeoutError:
        sentence = f"{image.registry} did not answer within {ANSWER_SECONDS_MAX:.0f} s."
        return findings.failed(_CHECK, sentence, "check the network to it and its proxy settings")
    if held is None:
        return findings.failed(_CHECK, f"{image} is not in its registry.", "check the digest")
    return findings.ok(
        _CHECK, f"{image.registry} answers to this machine, and has {image.repository}."
    )
