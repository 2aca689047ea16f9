"""The registry itself, without HTTP: its content on disk behind a few blocking objects."""

from pathlib import Path
from typing import Self

import msgspec

from lading.servers.registry.blob_store import FileBlobStore
from lading.servers.registry.blobs import Blobs
from lading.servers.registry.layout import Layout
from lading.servers.registry.manifests import Manifests
from lading.servers.registry.referrers import Referrers
from lading.servers.registry.uploads import UploadStore
from lading.servers.registry.usage import StoreLimits, StoreUsage

DEFAULT_LIMITS = StoreLimits()


class RegistryCore(msgspec.Struct, frozen=True, kw_only=True):
    layout: Layout
    blobs: Blobs
    uploads: UploadStore
    manifests: Manifests
    referrers: Referrers
    usage: StoreUsage

    @classmethod
    def on(cls, root: Path, limits: StoreLimits = DEFAULT_LIMITS) -> Self:
        layout = Layout(root)
        usage = StoreUsage(root, limits)
        blobs = Blobs(layout, FileBlobStore(layout), usage)
        manifests = Manifests(layout, blobs, usage)
        return cls(
            layout=layout,
            blobs=blobs,
            uploads=UploadStore(layout, blobs, usage),
            manifests=manifests,
            referrers=Referrers(manifests),
            usage=usage,
        )
