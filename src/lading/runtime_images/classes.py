"""From the name of a runtime class to the handler that the runtime knows."""

from lading.api.node import RUNTIME_CLASSES
from lading.ports import kube
from lading.ports.kube import Kube
from lading.runtime_images.errors import UnknownRuntimeClass


async def handler_of(cluster: Kube, runtime_class: str) -> str:
    """The handler of the RuntimeClass object; no class means the default handler."""
    if not runtime_class:
        return ""
    try:
        found = await cluster.get(RUNTIME_CLASSES, runtime_class)
    except kube.NotFound as error:
        next_step = "`kubectl get runtimeclass` lists what there is"
        message = f"the cluster has no RuntimeClass {runtime_class!r}; {next_step}"
        raise UnknownRuntimeClass(message) from error
    return found.handler
