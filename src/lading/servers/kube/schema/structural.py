"""The three passes over a document that a structural schema describes, in one place.

prune      unknown fields go, and are named
default    absent fields get what the schema says
validate   causes for everything that is not as the schema says
"""

from lading.servers.kube.schema.defaulting import default
from lading.servers.kube.schema.pruning import prune
from lading.servers.kube.schema.validation import validate

__all__ = ["default", "prune", "validate"]
