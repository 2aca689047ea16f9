"""`lading image pull`: brings an image to this machine, for a runtime class if one is named."""

from datetime import timedelta
from typing import TYPE_CHECKING

import click

from lading.cli import options, output, running
from lading.cli.credential_options import credential_options
from lading.cli.image import progress
from lading.cli.image.given_credential import credential_option
from lading.cli.image.node_options import NodeOptions, with_node_options
from lading.cli.image.progress import Pulling
from lading.cli.image.runtime_classes import runtime_option
from lading.kernel import references
from lading.kernel.errors import Malformed
from lading.ports import cri
from lading.ports.cri import CriError
from lading.ports.registry import Credential, NoMatchingPlatform, Registry, RegistryError
from lading.runtime_images import ensure
from lading.runtime_images.ensure import Delivery, Ensured, ImageNode, PullPolicy, Wanted
from lading.wiring import image_commands as wiring

if TYPE_CHECKING:
    from lading.wiring.registries import CredentialSettings


@click.command(name="pull")
@click.argument("image")
@credential_option
@options.choice_option(
    "--policy",
    default=PullPolicy.ALWAYS,
    choices=PullPolicy,
    help="The imagePullPolicy, as in a pod.",
)
@running.timeout_option()
@runtime_option
@credential_options
@with_node_options
def command(
    node: NodeOptions,
    image: str,
    given: Credential | None,
    policy: PullPolicy,
    timeout: timedelta | None,
    runtime: str | None,
    credentials: "CredentialSettings",
) -> None:
    """Pull an image; with --runtime, the image that the guests of a runtime class can run."""
    running.run(_pull(node, image, given, policy, runtime, credentials), timeout=timeout)


async def _pull(
    node: NodeOptions,
    image: str,
    given: Credential | None,
    policy: PullPolicy,
    runtime_class: str | None,
    credentials: "CredentialSettings",
) -> None:
    # Slow to load, and `lading image pull --help` needs none of it.
    from lading.wiring import host
    from lading.wiring.registries import open_registries

    handler = await node.handler(runtime_class)
    reference = references.qualified(image)
    async with (
        node.runtime() as runtime,
        open_registries(wiring.clock(), settings=credentials) as registries,
    ):
        found, named = registries.credentials, str(reference)
        credential = found.limited(given, named) if given else await found.credential(named)
        wanted = Wanted(
            image=image, runtime_handler=handler, pull_policy=policy, credential=credential
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
            disk=wiring.disk(),
        )
        try:
            async with progress.shown(pulling):
                ensured = await ensure.ensure(wanted, place)
        except cri.NoMatchingPlatform as error:
            raise await _explained(error, pulling) from error
    output.sentence(f"Image is up to date for {ensured.image_id}")
    _explain(ensured, runtime_class or "")


async def _explained(error: CriError, pulling: Pulling) -> CriError:
    """Real runtimes only report that nothing matches; the registry knows what there is instead."""
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
    """What a person must know who runs pods with this image."""
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
                " the file that --guest-platforms names"
            )
        case Delivery.DEFAULT | Delivery.BY_HANDLER:
            pass


def _warn(message: str) -> None:
    output.sentence(f"Note: {message}", err=True)
