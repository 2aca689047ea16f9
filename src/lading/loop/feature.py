"""A feature as a value: its gate, its kinds, its rights, and its components in a process.

Wiring iterates over these values and knows no feature by name; CRDs, RBAC and the tables of the
documentation are generated from them. A component is opened when the API server serves all kinds
that it reads. It gets everything that it needs in one context.
"""

import random
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from lading.api.definitions import Definition
from lading.api.rbac import READ, Process, Right
from lading.kernel.feature_gates import Gate, Gates
from lading.kernel.images import ImageKey
from lading.kernel.objects import Object, Resource
from lading.kernel.values import replace
from lading.loop.controller import WORKERS, Controller, Reconcile
from lading.loop.election import Elector
from lading.loop.informer import Informers, OptionalInformer
from lading.loop.pool_contributions import PoolContributions
from lading.loop.recorder import EventRecorder
from lading.observability.metrics import Metrics
from lading.ports.clock import Clock
from lading.ports.cri import ImageSpec
from lading.ports.kube import EVERYTHING, Kube, Selection
from lading.ports.node import NodeParts
from lading.ports.pools import PoolContributor

Page = Callable[[], Awaitable[Any]]
"""Returns the JSON of an endpoint; called for each request."""

S = TypeVar("S")
T = TypeVar("T", bound=Object)


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind that a component reads, in the first version that is served."""

    resource: Resource[Any]
    other_versions: tuple[str, ...] = ()
    """Versions to use if that of the resource is not served."""
    namespaces: tuple[str, ...] = ()
    """The namespaces to read; empty means the whole cluster."""
    names: tuple[str, ...] = ()
    """The names of the objects to read; empty means all."""

    @property
    def name(self) -> str:
        """The name of its CustomResourceDefinition: `plural.group`."""
        return f"{self.resource.plural}.{self.resource.group}".rstrip(".")

    @property
    def versions(self) -> tuple[str, ...]:
        return (self.resource.version, *self.other_versions)

    def candidates(self) -> Iterator[Resource[Any]]:
        """The resource in each version, the preferred one first."""
        return (replace(self.resource, version=version) for version in self.versions)


class Runnable(Protocol):
    """Runs until it is cancelled: a controller, a recorder, an actuator."""

    async def run(self) -> None: ...


class Tasks(msgspec.Struct, frozen=True, kw_only=True):
    """What a component runs."""

    controllers: tuple[Runnable, ...] = ()
    """These run only while the process leads, if there is an election."""
    support: tuple[Runnable, ...] = ()
    """These always run."""
    pages: Mapping[str, Page] = {}
    """By path, beside /metrics."""
    pool_facts: PoolContributor | None = None
    """Its facts about pools, if it contributes to their status."""


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a component gets from its process."""

    kube: Kube
    clock: Clock
    rng: random.Random
    informers: Informers
    recorder: EventRecorder
    metrics: Metrics
    gates: Gates
    namespace: str
    """The namespace of the process."""
    settings: tuple[object, ...] = ()
    """The settings of all features; each feature finds its own by type."""
    elector: Elector | None = None
    served: Mapping[Kind, Resource[Any]] = {}
    """The resource in the served version, for each kind that the component reads."""
    pools: PoolContributions = msgspec.field(default_factory=PoolContributions)
    """The facts of all components about pools, for the writer of their status."""

    def setting(self, type_: type[S]) -> S | None:
        return next((one for one in self.settings if isinstance(one, type_)), None)

    def optional(
        self, resource: Resource[T], selection: Selection = EVERYTHING
    ) -> OptionalInformer[T]:
        """The cache of a kind that the cluster may lack; run it as support."""
        return OptionalInformer(
            kube=self.kube,
            clock=self.clock,
            rng=self.rng,
            informers=self.informers,
            resource=resource,
            selection=selection,
        )

    def controller(self, *, name: str, reconcile: Reconcile, workers: int = WORKERS) -> Controller:
        """A controller that works only while this process leads."""
        return Controller(
            name=name,
            reconcile=self.elector.guarded(reconcile) if self.elector else reconcile,
            clock=self.clock,
            rng=self.rng,
            metrics=self.metrics,
            workers=workers,
        )


class AgentContext(Context, frozen=True, kw_only=True):
    """The additional context of a component on a node."""

    node_name: str
    node: NodeParts
    """With the runtime as the feature gates show it."""
    handlers_honoured: bool
    """Whether the runtime keeps images apart by runtime handler."""
    record_pull: Callable[[ImageKey, ImageSpec], Awaitable[None]]
    """Records an image that was pulled for a runtime handler, and the name it was pulled by."""
    images_kept_while_gate_is_off: Callable[[], Awaitable[frozenset[str]]]
    """The IDs of images for runtime classes, while their gate is off."""


C = TypeVar("C", bound=Context)


class Component(msgspec.Struct, Generic[C], frozen=True, kw_only=True):
    """What a feature does in one process."""

    open: Callable[[C], AbstractAsyncContextManager[Tasks]]
    """Called when all kinds are served. It may import heavy libraries."""
    reads: tuple[Kind, ...] = ()
    """The component waits for these kinds, and may get, list and watch them."""
    rights: tuple[Right, ...] = ()
    """Its other rights."""
    overlay: str = ""
    """The optional overlay that grants its reads; if empty, they are always granted."""
    alternatives_group: str = ""
    """Components of a feature with the same value are alternatives: one is enough."""
    contributes_to_pools: bool = False
    """Whether it has facts about pools. The status of pools waits for them."""

    def all_rights(self) -> Iterator[Right]:
        for kind in self.reads:
            yield Right(
                group=kind.resource.group,
                resources=(kind.resource.plural,),
                verbs=READ,
                names=kind.names,
                namespaces=kind.namespaces,
                overlay=self.overlay,
            )
        yield from self.rights


class Feature(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    gate: Gate | None
    """None if the feature is always on. Its missing kinds are not reported."""
    summary: str
    """One sentence."""
    owns: tuple[Definition, ...] = ()
    """The kinds that it installs. Several features may own a kind."""
    controller: tuple[Component[Context], ...] = ()
    agent: tuple[Component[AgentContext], ...] = ()

    def is_on(self, gates: Gates) -> bool:
        return self.gate is None or gates[self.gate]

    def rights(self, process: Process) -> tuple[Right, ...]:
        return _rights_of(self.agent if process is Process.AGENT else self.controller)


def _rights_of(parts: Iterable[Component[Any]]) -> tuple[Right, ...]:
    return tuple(right for part in parts for right in part.all_rights())
