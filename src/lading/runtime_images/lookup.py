"""Finds the image that a name means for a handler, also where the runtime ignores handlers.

Such a runtime answers with the host's image whatever handler is asked for; taking that for the
handler's would show, or remove, the wrong one.
"""

from collections.abc import Iterable
from dataclasses import replace

from lading.kernel.errors import Malformed
from lading.ports.cri import Cri, Image, ImageSpec, InvalidReference
from lading.ports.state_file import StateFile
from lading.runtime_images import names, state
from lading.runtime_images.types import Resolution, key_of
from lading.runtime_images.whose import whose


async def find(runtime: Cri, document: StateFile, spec: ImageSpec) -> Image | None:
    found = await _named(runtime, spec)
    if not spec.runtime_handler or (found and found.runtime_handler == spec.runtime_handler):
        return found
    resolutions = (await state.load(document)).resolutions
    newest = state.resolution_of(
        resolutions, reference=_qualified(spec.image), runtime_handler=spec.runtime_handler
    )
    if newest is not None:
        return await runtime.image(ImageSpec(image=newest.pulled))
    return found if found and _is_for(spec.runtime_handler, found, resolutions) else None


def _is_for(handler: str, image: Image, resolutions: Iterable[Resolution]) -> bool:
    return handler in whose([image], resolutions)[key_of(image)].by_digest


async def _named(runtime: Cri, spec: ImageSpec) -> Image | None:
    """CRI-O refuses a short name that it cannot complete; what was pulled by it has a long one."""
    try:
        return await runtime.image(spec)
    except InvalidReference:
        qualified = _qualified(spec.image)
        if qualified == spec.image:
            return None
        return await runtime.image(replace(spec, image=qualified))


def _qualified(text: str) -> str:
    try:
        return str(names.qualified(text))
    except Malformed:  # an ID
        return text
