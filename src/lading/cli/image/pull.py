"""`lading image pull`: pulls an image to this machine, for a runtime class if one is named.

CRI does not report progress. So the growth of the disk with the images counts as the bytes pulled,
and the size in the manifest as the total. Other writes to that disk are counted too.
"""

import sys
from collections.abc import AsyncIterator
from datetime import timedelta

import click
import msgspec

from lading.cli import output, running, terminal
from lading.cli.feature_options import credential_options
from lading.cli.image.node_options import NodeOptions, with_node_options
from lading.cli.image.runtime_classes import runtime_option
from lading.cli.terminal import Step
from lading.kernel import quantities, references
from lading.kernel.errors import Malformed
from lading.kernel.images import Resolution
from lading.kernel.platforms import Platform
from lading.kernel.references import Reference
from lading.pinned_images.node.types import PinSettings
from lading.ports import cri, platform_image
from lading.ports.cri import Cri, CriError
from lading.ports.node import Disk
from lading.ports.registry import Credential, NoMatchingPlatform, Registry, RegistryError
from lading.runtime_images import ensure
from lading.runtime_images.ensure import Delivery, Ensured, ImageNode, Wanted
from lading.wiring import host, machine
from lading.wiring.registries import CredentialSettings, open_registries

STANDARD_INPUT = "-"
EMBEDDED_RUNTIME = "lading"  # keeps layers as they come; others unpack them
UNPACKED_FACTOR = PinSettings().expansion_factor
SHARE_SHOWN_MAX = 0.95  # a full bar would mean that the pull is over


@click.command(name="pull")
@click.argument("image")
@click.option(
    "--creds",
    envvar="CRICTL_CREDS",
    metavar="USER[:PASSWORD]",
    help="Credentials for the registry; `-` reads them from standard input, where other users of "
    "the machine cannot see them.",
)
@running.timeout_option()
@runtime_option
@credential_options
@with_node_options
def command(
    node: NodeOptions,
    image: str,
    creds: str | None,
    timeout: timedelta | None,
    runtime: str | None,
    credentials: CredentialSettings,
) -> None:
    """Pull an image; with --runtime, the image that the guests of a runtime class can run."""
    running.run(_pull(node, image, _given(creds), runtime, credentials), timeout=timeout)


def _given(creds: str | None) -> Credential | None:
    """No error shows the value, which is a password."""
    if creds == STANDARD_INPUT:
        creds = sys.stdin.readline().rstrip("\r\n")
    if creds is None:
        return None
    username, _, password = creds.partition(":")
    if not username:
        raise click.BadParameter("expected USER[:PASSWORD]", param_hint="--creds")
    return Credential(username=username, password=password)


async def _pull(
    node: NodeOptions,
    image: str,
    given: Credential | None,
    runtime_class: str | None,
    credentials: CredentialSettings,
) -> None:
    handler = await node.handler(runtime_class)
    reference = references.qualified(image)
    async with (
        node.runtime() as runtime,
        open_registries(machine.clock(), settings=credentials) as registries,
    ):
        found, named = registries.credentials, str(reference)
        credential = found.limited(given, named) if given else await found.credential(named)
        wanted = Wanted(
            image=image,
            runtime_handler=handler,
            credential=credential,
        )
        place = ImageNode(
            runtime=runtime,
            registry=registries.client,
            state=node.state,
            guests=node.guests(),
        )
        pulling = Pulling(
            image=reference,
            platform=place.guests.get(handler) or host.machine_platform(),
            for_guest=handler in place.guests,
            registry=_with(registries.client, wanted.credential),
            runtime=runtime,
            disk=machine.disk(),
        )
        try:
            async with terminal.progress(steps(pulling)):
                ensured = await ensure.ensure(wanted, place)
        except cri.NoMatchingPlatform as error:
            raise await _explained(error, pulling) from error
    output.sentence(f"Image is up to date for {ensured.image_id}")
    _explain(ensured, runtime_class or "")


class Pulling(msgspec.Struct, frozen=True, kw_only=True):
    image: Reference
    platform: Platform
    for_guest: bool
    registry: Registry
    runtime: Cri
    disk: Disk

    async def resolve(self) -> Resolution:
        return await platform_image.resolve(
            self.registry, self.image, self.platform, for_guest=self.for_guest
        )


async def steps(pulling: Pulling) -> AsyncIterator[Step]:
    is_embedded = await _is_embedded(pulling.runtime)
    before_bytes = await occupied_bytes(pulling, is_embedded=is_embedded)
    yield Step(f"pulling {pulling.image}")
    expected_bytes = await _expected_bytes(pulling, is_embedded=is_embedded)
    while True:
        now_bytes = await occupied_bytes(pulling, is_embedded=is_embedded)
        yield step(pulling.image, max(0, now_bytes - before_bytes), expected_bytes)


def step(image: Reference, grown_bytes: int, expected_bytes: int | None) -> Step:
    """The bar is full only when the pull is over."""
    grown = quantities.format_bytes(grown_bytes)
    if not expected_bytes:
        return Step(f"pulling {image}, {grown} more on disk")
    shown_bytes = min(grown_bytes, int(expected_bytes * SHARE_SHOWN_MAX))
    expected = quantities.format_bytes(expected_bytes)
    return Step(f"{grown} of about {expected}, {image}", done=shown_bytes, total=expected_bytes)


async def _is_embedded(runtime: Cri) -> bool:
    try:
        return (await runtime.version()).name == EMBEDDED_RUNTIME
    except CriError:
        return False


async def _expected_bytes(pulling: Pulling, *, is_embedded: bool) -> int | None:
    """The size of the image on disk; None when its manifest cannot be read."""
    try:
        found = await pulling.resolve()
    except (RegistryError, Malformed):
        return None
    return found.size_bytes if is_embedded else int(found.size_bytes * UNPACKED_FACTOR)


async def occupied_bytes(pulling: Pulling, *, is_embedded: bool) -> int:
    """The bytes in use on the disk with the images.

    containerd counts them only every ten seconds, and CRI-O leaves the layers out. So this asks
    the disk.
    """
    try:
        usages = (await pulling.runtime.filesystems()).images
    except CriError:
        return 0
    spaces = {await pulling.disk.space(usage.mountpoint) for usage in usages}
    if is_embedded or None in spaces:
        return sum(usage.used_bytes for usage in usages)
    return sum(space.capacity_bytes - space.available_bytes for space in spaces if space)


async def _explained(error: CriError, pulling: Pulling) -> CriError:
    """Runtimes only report that no platform matches; the registry lists those that exist."""
    try:
        await pulling.resolve()
    except NoMatchingPlatform as explanation:
        return cri.NoMatchingPlatform(str(explanation), image=error.image)
    except (RegistryError, Malformed):
        pass
    return error


def _with(registry: Registry, credential: Credential | None) -> Registry:
    return registry.with_credential(credential) if credential else registry


def _explain(ensured: Ensured, runtime_class: str) -> None:
    """Says how pods must name the image, where it is not simply its tag."""
    match ensured.delivery:
        case Delivery.BY_DIGEST:
            _warn(
                "this runtime keeps no images by runtime class, so the image for the guests of"
                f" {runtime_class} was pulled by digest; pods must name it as"
                f" {ensured.named}"
            )
        case Delivery.HOST_ONLY:
            _warn(
                "this runtime keeps no images by runtime class, and no guest platform is declared"
                f" for {runtime_class}, so this is the image of the host; declare one in"
                f" /{machine.DECLARED_TABLE}"
            )
        case Delivery.DEFAULT | Delivery.BY_HANDLER:
            pass


def _warn(message: str) -> None:
    output.sentence(f"Note: {message}", err=True)
