"""node.k8s.io: runtime classes, which give a name to a handler of the container runtime."""

from lading.kernel.objects import Object, Resource


class RuntimeClass(Object, frozen=True, kw_only=True):
    handler: str = ""


RUNTIME_CLASSES = Resource(
    group="node.k8s.io",
    version="v1",
    kind="RuntimeClass",
    plural="runtimeclasses",
    namespaced=False,
    type=RuntimeClass,
)
