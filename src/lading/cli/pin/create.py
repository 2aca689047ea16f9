"""`lading pin create`: PinnedImageSets by digest, from lists, manifests, pods or a release."""

from collections.abc import Iterable
from typing import Any

import click
import msgspec

from lading.adapters.kube.client import KubeClient
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.cli import apply, connection, documents, options, output, running
from lading.cli.connection import Target
from lading.cli.output import Format
from lading.cli.pin import image_sources, sets
from lading.cli.pin.image_sources import NamedImage
from lading.cli.terminal import PLAIN_LINE_SECONDS, ProgressLine
from lading.kernel import references
from lading.kernel.objects import Key
from lading.pinned_images import membership
from lading.pinned_images.authoring import set_changes
from lading.pinned_images.authoring.image_digests import ImageDigests, Unresolved
from lading.wiring import image_lists
from lading.wiring.clock import system_clock


class _Wanted(msgspec.Struct, frozen=True, kw_only=True):
    images: tuple[str, ...]
    files: tuple[str, ...]
    from_cluster: bool
    namespaces: tuple[str, ...]
    selector: str
    release: str
    secrets: tuple[Key, ...]

    @property
    def needs_cluster(self) -> bool:
        return self.from_cluster or bool(self.secrets)


@click.command(name="create")
@click.argument("name")
@click.argument("images", nargs=-1)
@options.files_option(required=False)
@click.option("--from-cluster", is_flag=True, help="Take the images of pods in the cluster.")
@click.option("-l", "--selector", metavar="LABELS", default="", help="Only pods with these labels.")
@click.option(
    "--from-release",
    "release",
    default="",
    metavar="IMAGE",
    help="Take the images of this OpenShift release image.",
)
@click.option(
    "--role",
    metavar="ROLE",
    default=membership.WORKER,
    show_default=True,
    help="The role of the nodes that pin the sets, as their label.",
)
@click.option(
    "--apply", "is_applied", is_flag=True, help="Apply the sets instead of printing them."
)
@sets.pull_secret_option
@output.form_option(default=Format.YAML, forms=(Format.YAML, Format.JSON))
@connection.target_options
def command(
    target: Target,
    name: str,
    images: tuple[str, ...],
    files: tuple[str, ...],
    from_cluster: bool,
    selector: str,
    release: str,
    role: str,
    is_applied: bool,
    secrets: tuple[Key, ...],
    form: Format,
) -> None:
    """Print the PinnedImageSet NAME with the digests of IMAGES and of other sources.

    A file of -f has one image per line, or Kubernetes manifests. With --from-cluster, -n
    names the namespaces, separated by commas; default: all.

    If an image cannot be resolved, the command names it, prints no set and fails.
    """
    if not (images or files or from_cluster or release):
        raise click.UsageError(
            "write the images after NAME, or use -f, --from-cluster or --from-release"
        )
    if selector and not from_cluster:
        raise click.UsageError("-l selects pods; it needs --from-cluster")
    set_changes.check_names(name, role)
    wanted = _Wanted(
        images=images,
        files=files,
        from_cluster=from_cluster,
        namespaces=tuple(filter(None, target.namespace.split(","))),
        selector=selector,
        release=release,
        secrets=secrets,
    )
    running.run(_create(target, wanted, name=name, role=role, form=form, is_applied=is_applied))


async def _create(
    target: Target, wanted: _Wanted, *, name: str, role: str, form: Format, is_applied: bool
) -> None:
    named = _named_images(wanted)
    if wanted.needs_cluster:
        async with target.open() as client:
            found = await _resolved(client, named, wanted)
    else:
        found = await _resolved(None, named, wanted)
    _require_all(found)
    for repository, tag in sorted(set_changes.ambiguous_tags(map(references.parse, found.names))):
        output.sentence(
            f"Note: {repository}:{tag} means several images, so the set has the images without the"
            " tag. Pods that name it by the tag still need the registry",
            err=True,
        )
    made = set_changes.new_sets(name, found.names, role=role)
    if is_applied:
        await _apply(target, made)
    elif form is Format.JSON:
        whole: Any = made[0] if len(made) == 1 else _list_of(made)
        click.echo(output.document(whole, form), nl=False)
    else:
        click.echo("---\n".join(output.document(one, form) for one in made), nl=False)


def _named_images(wanted: _Wanted) -> list[NamedImage]:
    named = [NamedImage(image, "") for image in wanted.images]
    for file in documents.files(wanted.files):
        found = image_sources.in_text(file, documents.text(file))
        named += found.images
        for unread in found.unread:
            output.sentence(
                f"Note: {unread} has fields `image` that are not read; name these images yourself",
                err=True,
            )
    return named


async def _resolved(
    client: KubeClient | None, named: Iterable[NamedImage], wanted: _Wanted
) -> ImageDigests:
    with ProgressLine(quiet_seconds=PLAIN_LINE_SECONDS) as line:
        return await image_lists.resolved(
            system_clock(),
            {one.image: one.found_in for one in reversed(tuple(named))},
            client=client,
            pods=image_lists.PodSelection(
                namespaces=wanted.namespaces, label_selector=wanted.selector
            )
            if wanted.from_cluster
            else None,
            release=wanted.release,
            pull_secrets=wanted.secrets,
            show=line.show,
        )


def _require_all(found: ImageDigests) -> None:
    problems = found.unresolved
    for problem in problems:
        output.sentence(str(problem), err=True)
    if problems:
        raise click.ClickException(f"{_counted(problems)} could not be resolved; no set is made")
    if not found.names:
        raise click.ClickException("the sources name no image; no set is made")


def _counted(problems: tuple[Unresolved, ...]) -> str:
    return "1 image" if len(problems) == 1 else f"{len(problems)} images"


async def _apply(target: Target, made: Iterable[dict[str, Any]]) -> None:
    async with target.open() as client:
        for one in made:
            output.sentence(await apply.apply_object(client, PINNED_IMAGE_SETS, one))


def _list_of(made: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": list(made)}
