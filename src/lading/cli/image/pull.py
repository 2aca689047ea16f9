"""`lading image pull`: brings an image to this machine, for a runtime class if one is named."""

import click

from lading.cli import output
from lading.cli.image import progress, sentences
from lading.cli.image.settings import Settings, class_label, runtime_option, with_settings
from lading.ports.cri import PullCredential
from lading.runtime_images import ensure
from lading.runtime_images.ensure import Delivery, Ensured, Node, PullPolicy, Wanted
from lading.wiring import image_commands as wiring


@click.command(name="pull")
@click.argument("image")
@click.option("--creds", envvar="CRICTL_CREDS", metavar="USER[:PASSWORD]",
              help="Credentials for the registry.")  # fmt: skip
@output.choice_option(
    "--policy", default=PullPolicy.ALWAYS, choices=PullPolicy, help="When to pull, as in a pod."
)
@runtime_option
@with_settings
def command(
    settings: Settings, image: str, creds: str | None, policy: PullPolicy, runtime: str | None
) -> None:
    """Pull an image. With --runtime, the one that the guests of that runtime class can run."""
    sentences.run(_pull(settings, image, creds, policy, runtime))


async def _pull(
    settings: Settings,
    image: str,
    creds: str | None,
    policy: PullPolicy,
    runtime_class: str | None,
) -> None:
    wanted = Wanted(
        image=image,
        runtime_handler=await settings.handler(runtime_class),
        pull_policy=policy,
        credential=_credential(creds),
    )
    async with settings.runtime() as runtime, wiring.open_registry() as registry:
        node = Node(
            runtime=runtime,
            registry=registry,
            document=settings.document,
            guests=settings.guests(),
        )
        async with progress.shown(runtime, image):
            ensured = await ensure.ensure(wanted, node)
    click.echo(f"Image is up to date for {ensured.image_id}")
    _explain(ensured, wanted.runtime_handler)


def _credential(creds: str | None) -> PullCredential | None:
    if creds is None:
        return None
    username, _, password = creds.partition(":")
    return PullCredential(username=username, password=password)


def _explain(ensured: Ensured, handler: str) -> None:
    """What a person must know who runs pods with this image."""
    match ensured.delivery:
        case Delivery.BY_DIGEST:
            _warn(
                "this runtime keeps no images by runtime class, so the image for the guests of"
                f" {class_label(handler)} was pulled by digest; pods must name it as"
                f" {ensured.named}"
            )
        case Delivery.HOST_ONLY:
            _warn(
                "this runtime keeps no images by runtime class, and no guest platform is declared"
                f" for {class_label(handler)}, so this is the image of the host; declare one in"
                " the file that --guest-platforms names"
            )
        case Delivery.DEFAULT | Delivery.BY_HANDLER:
            pass


def _warn(message: str) -> None:
    click.echo(f"Note: {message}", err=True)
