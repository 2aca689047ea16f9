"""The registry without HTTP: its content on disk."""

from pathlib import Path
from typing import Self

import msgspec

from lading.embedded.registry.blobs import Blobs
from lading.embedded.registry.layout import Layout
from lading.embedded.registry.manifests import Manifests
from lading.embedded.registry.referrers import Referrers
from lading.embedded.registry.uploads import UploadStore
from lading.embedded.registry.usage import DEFAULT_LIMITS, StoreLimits, StoreUsage


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
        blobs = Blobs(layout, usage)
        manifests = Manifests(layout, blobs, usage)
        return cls(
            layout=layout,
            blobs=blobs,
            uploads=UploadStore(layout, blobs, usage),
            manifests=manifests,
            referrers=Referrers(manifests),
            usage=usage,
        )
