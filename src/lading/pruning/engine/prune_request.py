"""What a run of the pruner is asked for."""

import msgspec

from lading.pruning.engine.decisions.guards import Limits
from lading.pruning.engine.decisions.policy import Policy
from lading.pruning.engine.inventory import observe_registry
from lading.pruning.engine.references.observe import Reading
from lading.pruning.engine.types import Source


class PruneRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to prune, and how."""

    source: Source
    registry: str
    registry_names: tuple[str, ...]
    mirrors: tuple[tuple[str, str], ...]
    reading: Reading
    policy: Policy
    limits: Limits
    repositories: tuple[str, ...] = ()
    workers: int = observe_registry.WORKERS_DEFAULT
    fills_trash: bool = True
    """If false, images of other runs in the trash are still restored and expired."""
