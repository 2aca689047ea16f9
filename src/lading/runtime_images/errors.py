"""What `ensure` says when an image cannot be had for a runtime class.

EnsureError              somebody must fix something; trying again as it is will not help
├── NeverPulled          the policy is Never and the image is not on the node
├── NoImageForGuest      the registry has the image, for other platforms only
└── UnknownRuntimeClass  there is no such RuntimeClass object
"""


class EnsureError(Exception):
    pass


class NeverPulled(EnsureError):
    pass


class NoImageForGuest(EnsureError):
    pass


class UnknownRuntimeClass(EnsureError):
    pass
