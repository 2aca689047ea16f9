"""Finds the image that a name means for a handler, also where the runtime ignores handlers.

Such a runtime answers with the host's image whatever handler is asked for; taking that for the
handler's would show, or remove, the wrong one.
"""

from dataclasses import replace

from lading.kernel.errors import Malformed
from lading.ports.cri import Cri, Image, ImageSpec, InvalidReference
from lading.ports.document import Document
from lading.runtime_images import names, state


async def find(runtime: Cri, document: Document, spec: ImageSpec) -> Image | None:
    found = await _named(runtime, spec)
    if not spec.runtime_handler or (found and found.runtime_handler == spec.runtime_handler):
        return found
    pulled = await _pulled_by_digest(document, spec.runtime_handler)
    if found and not names.names_of(found).isdisjoint(pulled.values()):
        return found
    wanted = pulled.get(_qualified(spec.image))
    return await runtime.image(ImageSpec(image=wanted)) if wanted else None


async def _named(runtime: Cri, spec: ImageSpec) -> Image | None:
    """CRI-O refuses a short name that it cannot complete; what was pulled by it has a long one."""
    try:
        return await runtime.image(spec)
    except InvalidReference:
        qualified = _qualified(spec.image)
        if qualified == spec.image:
            return None
        return await runtime.image(replace(spec, image=qualified))


async def _pulled_by_digest(document: Document, handler: str) -> dict[str, str]:
    """Reference to what it was pulled as for the handler; the newest wins."""
    resolutions = (await state.load(document)).resolutions
    return {
        resolution.reference: resolution.pulled
        for resolution in resolutions
        if resolution.runtime_handler == handler
    }


def _qualified(text: str) -> str:
    try:
        return str(names.qualified(text))
    except Malformed:  # an ID
        return text
