"""What an apply would do: the API server answers as if it had, and keeps nothing."""

from typing import Any

import click
import msgspec

from lading.adapters.kube.client import KubeClient
from lading.cli import objects
from lading.cli.documents import ManifestSource
from lading.kernel.objects import Resource
from lading.ports import kube

FIELD_MANAGER = "lading"
_TAKE_OVER = "; set --force-conflicts to take the fields over"
_UNDECLARED = "field not declared in schema"
"""What server-side apply answers to a field that does not exist; it does not tell the line."""
_OF_THE_SERVER = ("creationTimestamp", "generation", "resourceVersion", "uid")

force_conflicts_option = click.option(
    "--force-conflicts", is_flag=True, help="Take over fields from other field managers."
)


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """An object before and after, without what only the server writes."""

    name: str
    before: dict[str, Any] | None
    after: dict[str, Any]

    @property
    def changes_nothing(self) -> bool:
        return self.before == self.after

    def __str__(self) -> str:
        if self.before is None:
            return f"{self.name} created"
        return f"{self.name} {'unchanged' if self.changes_nothing else 'configured'}"


async def attempt(
    client: KubeClient,
    resource: Resource[dict[str, Any]],
    content: dict[str, Any],
    *,
    force: bool,
) -> Attempt:
    name, namespace = content["metadata"]["name"], content["metadata"].get("namespace", "")
    try:
        before = _compared(await client.get(resource, name, namespace=namespace))
    except kube.NotFound:
        before = None
    after = await client.apply(
        resource, content, field_manager=FIELD_MANAGER, force=force, dry_run=True
    )
    return Attempt(name=f"{resource.kind.lower()}/{name}", before=before, after=_compared(after))


def refusal(source: ManifestSource, error: kube.KubeError) -> str:
    """Why an object is not applied, where it is written, and the option that would apply it."""
    step = _TAKE_OVER if isinstance(error, kube.Conflict) else ""
    if _UNDECLARED in str(error):
        step = f"; `lading validate -f {source.file}` shows the line"
    return f"{source.file}:{source.line(())}: {error}{step}"


def _compared(content: dict[str, Any]) -> dict[str, Any]:
    shown = objects.readable(content)
    metadata = {key: value for key, value in shown["metadata"].items() if key not in _OF_THE_SERVER}
    return {**shown, "metadata": metadata}
