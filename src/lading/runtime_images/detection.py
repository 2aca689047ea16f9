"""Whether a runtime keeps images by handler, learnt from what it answers and not from its name.

A runtime that does, says the handler of the images it lists; and it must refuse a handler that it
does not know, while one that ignores the field answers as if nothing had been asked.
"""

from lading.ports.cri import Cri, ImageSpec, UnknownHandler

_PROBE = ImageSpec(image="lading.invalid/probe:none", runtime_handler="lading-probe-no-handler")


async def honours_handlers(runtime: Cri) -> bool:
    if any(image.runtime_handler for image in await runtime.images()):
        return True
    try:
        await runtime.image(_PROBE)
    except UnknownHandler:
        return True
    return False
