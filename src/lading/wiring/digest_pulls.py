"""Records what an agent pulled by digest for a runtime handler, where `lading image` reads it.

Without it such an image would be listed as the host's, and a clean-up after the feature gate
would leave it behind. To lose a record costs only that, so it never fails a pull.
"""

from collections.abc import Callable

import structlog

from lading.kernel.images import ImageKey
from lading.kernel.platforms import Platform
from lading.ports.cri import ImageSpec
from lading.runtime_images.state import ImageStateFile
from lading.runtime_images.types import DigestPull

log = structlog.get_logger(__name__)


class DigestPullRecorder:
    def __init__(self, state: ImageStateFile, platform_of: Callable[[str], Platform]) -> None:
        self._state = state
        self._platform_of = platform_of

    async def record(self, key: ImageKey, spec: ImageSpec) -> None:
        """Only what was wanted for a handler and pulled without naming it."""
        if not key.runtime_handler or spec.runtime_handler:
            return
        pull = DigestPull(
            reference=key.image,
            runtime_handler=key.runtime_handler,
            platform=str(self._platform_of(key.runtime_handler)),
            pulled=spec.image,
        )
        try:
            await self._state.save_digest_pull(pull)
        except OSError as error:
            log.warning("pull by digest not recorded", image=str(key), error=str(error))
