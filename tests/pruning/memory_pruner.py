"""The pruner on a registry in memory, with references from a file and no cluster."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from lading.adapters.clock import SystemClock
from lading.ports.node import StateFile
from lading.pruning.engine.controller import Pruner
from lading.pruning.engine.decisions.guards import Guard, Limits
from lading.pruning.engine.decisions.policy import Policy
from lading.pruning.engine.inventory.manifest_table import ManifestTable
from lading.pruning.engine.prune_request import PruneRequest
from lading.pruning.engine.references.observe import ClusterReferences, Reading
from lading.pruning.engine.trash.trash import Trash, TrashSettings
from lading.pruning.engine.types import Mention, Settings, Source
from tests.pruning.builders import NOW, REGISTRY
from tests.pruning.memory_registry import MemoryRegistry, Repository
from tests.pruning.registry_worlds import GO

TRASH = TrashSettings(registry=REGISTRY)
AT_ONCE = Settings(keep_younger_than=timedelta(0))
NO_GUARDS = Limits(share_percent_max=100, ignored=frozenset(Guard))


@dataclass
class MemoryFile:
    """A state file that survives the process."""

    content: bytes | None = None

    async def read(self) -> bytes | None:
        return self.content

    async def replace(self, content: bytes) -> None:
        self.content = content


def pruner(
    registry: MemoryRegistry,
    *,
    mentions: Iterable[Mention] = (),
    policy: Policy = GO,
    settings: Settings = AT_ONCE,
    limits: Limits = NO_GUARDS,
    ledger: StateFile | None = None,
    known: ManifestTable | None = None,
    fills_trash: bool = True,
    repositories: tuple[str, ...] = (),
) -> Pruner:
    """A new process: it has only what it is given."""
    return Pruner(
        PruneRequest(
            source=Source.REGISTRY,
            registry=REGISTRY,
            registry_names=(REGISTRY,),
            mirrors=(),
            reading=Reading(settings=settings, custom=()),
            policy=policy,
            limits=limits,
            repositories=repositories,
            workers=1,
            fills_trash=fills_trash,
        ),
        clusters=(),
        files=[ClusterReferences(cluster="c", taken_at=NOW, mentions=tuple(mentions))],
        registry=registry,
        trash=Trash(registry, TRASH),
        ledger_file=ledger or MemoryFile(),
        known=ManifestTable() if known is None else known,
        clock=SystemClock(),
    )


def expire_locks(registry: MemoryRegistry) -> None:
    """As after some minutes. The process of the test continues, so it cannot look ended."""
    tags = registry.repositories.get(TRASH.repository, Repository()).tags
    for tag in [one for one in tags if one.startswith("lock-")]:
        del tags[tag]
