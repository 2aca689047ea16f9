"""What a feature is, as a value: its gate, its kinds, its rights, and what it runs in a process.

Wiring iterates over such values and knows no feature by name; CRDs, RBAC and the tables of the
documentation are generated from them. A part of a feature is opened when all kinds that it reads
are served, and gets everything that it needs in one context.
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
from lading.loop.informer import Informers
from lading.loop.optional_informer import OptionalInformer
from lading.loop.pool_contributions import PoolContributions
from lading.loop.recorder import EventRecorder
from lading.observability.metrics import Metrics
from lading.ports.clock import Clock
from lading.ports.cri import ImageSpec
from lading.ports.kube import Kube
from lading.ports.node import NodeParts
from lading.ports.pools import PoolContributor

Page = Callable[[], Awaitable[Any]]
"""What an endpoint shows as JSON, asked anew for each request."""

S = TypeVar("S")
T = TypeVar("T", bound=Object)


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind that a part reads. It needs one of the versions; the first one served is used."""

    resource: Resource[Any]
    other_versions: tuple[str, ...] = ()
    """Versions that will do where that of the resource is not served."""
    namespaces: tuple[str, ...] = ()
    """Where it is read; none means the whole cluster."""
    names: tuple[str, ...] = ()
    """Which objects are read, each by a selector of its name; none means all."""

    @property
    def name(self) -> str:
        """As a CustomResourceDefinition is named: `plural.group`."""
        return f"{self.resource.plural}.{self.resource.group}".rstrip(".")

    @property
    def versions(self) -> tuple[str, ...]:
        return (self.resource.version, *self.other_versions)

    def candidates(self) -> Iterator[Resource[Any]]:
        """The resource in each version, the preferred one first."""
        return (replace(self.resource, version=version) for version in self.versions)


class Runnable(Protocol):
    """Works until it is cancelled: a controller, a recorder, an actuator."""

    async def run(self) -> None: ...


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What a part runs."""

    controllers: tuple[Runnable, ...] = ()
    """Run only while leading, where there is an election."""
    support: tuple[Runnable, ...] = ()
    """Run always."""
    pages: Mapping[str, Page] = {}
    """By path, beside /metrics."""
    pool_facts: PoolContributor | None = None
    """What it knows about pools; only of a part that contributes to their status."""


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a part gets from its process."""

    kube: Kube
    clock: Clock
    rng: random.Random
    informers: Informers
    recorder: EventRecorder
    metrics: Metrics
    gates: Gates
    namespace: str
    """Where the process runs."""
    settings: tuple[object, ...] = ()
    """Settings of the process, of any feature: each finds its own by type."""
    elector: Elector | None = None
    served: Mapping[Kind, Resource[Any]] = {}
    """The resource in the version that is served, for each kind that the part reads."""
    pools: PoolContributions = msgspec.field(default_factory=PoolContributions)
    """What all parts know about pools, for the one writer of their status."""

    def setting(self, type_: type[S]) -> S | None:
        return next((one for one in self.settings if isinstance(one, type_)), None)

    def optional(self, resource: Resource[T]) -> OptionalInformer[T]:
        """The cache of a kind that the cluster need not have; it is to be run as support."""
        return OptionalInformer(
            kube=self.kube,
            clock=self.clock,
            rng=self.rng,
            informers=self.informers,
            resource=resource,
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
    """What a part gets on a node in addition."""

    node_name: str
    node: NodeParts
    """With the runtime as the feature gates let us see it."""
    handlers_honoured: bool
    """Whether the runtime keeps images apart by runtime handler."""
    record_pull: Callable[[ImageKey, ImageSpec], Awaitable[None]]
    """Records an image that was pulled for a runtime handler, and the name it was pulled by."""
    left_by_gate: Callable[[], Awaitable[frozenset[str]]]
    """The IDs of images for runtime classes only, while the gate of these is off."""


C = TypeVar("C", bound=Context)


class Part(msgspec.Struct, Generic[C], frozen=True, kw_only=True):
    """What a feature does in one process."""

    open: Callable[[C], AbstractAsyncContextManager[Work]]
    """Called when all kinds are served; what it imports is loaded only then."""
    reads: tuple[Kind, ...] = ()
    """It waits for these, and may get, list and watch them."""
    rights: tuple[Right, ...] = ()
    """Whatever it may do besides."""
    overlay: str = ""
    """The optional overlay that grants what it reads; without one it is always granted."""
    one_of: str = ""
    """Parts of a feature with the same word here are alternatives: the kinds of one are enough."""
    contributes_to_pools: bool = False
    """Whether its work has facts about pools: the status of pools waits for them."""

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
    """None for what is always on and serves the others: that it waits for kinds is no news."""
    summary: str
    """What it does, in one sentence."""
    owns: tuple[Definition, ...] = ()
    """The kinds that it brings along. One that another feature owns too is installed once."""
    controller: tuple[Part[Context], ...] = ()
    agent: tuple[Part[AgentContext], ...] = ()
    prune: tuple[Right, ...] = ()
    """Rights of the prune job, which runs to its end and has no controllers."""

    def is_on(self, gates: Gates) -> bool:
        return self.gate is None or gates[self.gate]

    def rights(self, process: Process) -> tuple[Right, ...]:
        match process:
            case Process.CONTROLLER:
                return _rights_of(self.controller)
            case Process.AGENT:
                return _rights_of(self.agent)
            case Process.PRUNE:
                return self.prune


def _rights_of(parts: Iterable[Part[Any]]) -> tuple[Right, ...]:
    return tuple(right for part in parts for right in part.all_rights())
