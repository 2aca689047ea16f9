"""Remembers what an agent pulled by digest for a runtime handler, where `lading image` looks.

Without it such an image would be listed as the host's, and a clean-up after the feature gate
would leave it behind. Losing a note costs only that, so it never fails a pull.
"""

import asyncio
from collections.abc import Callable

import structlog

from lading.kernel.platforms import Platform
from lading.pinned_images.node.types import ImageKey
from lading.ports.cri import ImageSpec
from lading.ports.state_file import StateFile
from lading.runtime_images import state
from lading.runtime_images.types import Resolution

log = structlog.get_logger(__name__)


class PulledByDigest:
    def __init__(self, document: StateFile, platform_of: Callable[[str], Platform]) -> None:
        self._document = document
        self._platform_of = platform_of
        self._turn = asyncio.Lock()  # the document is read, changed and replaced

    async def remember(self, key: ImageKey, spec: ImageSpec) -> None:
        """Only what was wanted for a handler and pulled without naming it."""
        if not key.runtime_handler or spec.runtime_handler:
            return
        resolution = Resolution(
            reference=key.image,
            runtime_handler=key.runtime_handler,
            platform=str(self._platform_of(key.runtime_handler)),
            pulled=spec.image,
        )
        try:
            async with self._turn:
                await state.save_resolution(self._document, resolution)
        except OSError as error:
            log.warning("pulled image not remembered", image=str(key), error=str(error))
