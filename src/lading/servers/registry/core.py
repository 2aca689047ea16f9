"""The registry itself, without HTTP: its content on disk behind a few blocking objects."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from lading.servers.registry.blobs import Blobs
from lading.servers.registry.layout import Layout
from lading.servers.registry.manifests import Manifests
from lading.servers.registry.referrers import Referrers
from lading.servers.registry.uploads import Uploads
from lading.servers.registry.usage import Limits, Usage

DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    layout: Layout
    blobs: Blobs
    uploads: Uploads
    manifests: Manifests
    referrers: Referrers
    usage: Usage

    @classmethod
    def on(cls, root: Path, limits: Limits = DEFAULT_LIMITS) -> Self:
        layout = Layout(root)
        usage = Usage(root, limits)
        blobs = Blobs(layout, usage)
        manifests = Manifests(layout, blobs, usage)
        return cls(
            layout=layout,
            blobs=blobs,
            uploads=Uploads(layout, blobs, usage),
            manifests=manifests,
            referrers=Referrers(manifests),
            usage=usage,
        )
