"""The registry itself, without HTTP: its content on disk behind a few blocking objects."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from lading.servers.registry.blobs import Blobs
from lading.servers.registry.layout import Layout
from lading.servers.registry.manifests import Manifests
from lading.servers.registry.referrers import Referrers
from lading.servers.registry.uploads import Uploads


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    layout: Layout
    blobs: Blobs
    uploads: Uploads
    manifests: Manifests
    referrers: Referrers

    @classmethod
    def on(cls, root: Path) -> Self:
        layout = Layout(root)
        blobs = Blobs(layout)
        manifests = Manifests(layout, blobs)
        return cls(
            layout=layout,
            blobs=blobs,
            uploads=Uploads(layout, blobs),
            manifests=manifests,
            referrers=Referrers(manifests),
        )
