"""Why an image cannot be had for a runtime class, or is not there.

NoSuchImage              the image that was named is not on the node for that handler

EnsureError              a person must fix something; a retry as it is does not help
├── NeverPulled          the policy is Never and the image is not on the node
└── UnknownRuntimeClass  there is no such RuntimeClass object
"""

from lading.ports.cri import ImageSpec


class NoSuchImage(Exception):
    def __init__(self, spec: ImageSpec) -> None:
        handler = f" for runtime handler {spec.runtime_handler}" if spec.runtime_handler else ""
        super().__init__(
            f"no such image {spec.image!r}{handler}; `lading image ls` lists the images"
        )


class EnsureError(Exception):
    pass


class NeverPulled(EnsureError):
    pass


class UnknownRuntimeClass(EnsureError):
    pass
