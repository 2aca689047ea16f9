"""Random walks: whatever the server and the network do, the cache ends up telling the truth.

The calls of the handlers must add up as well: applied in order, they lead to the same objects.
"""

import asyncio
import contextlib
import random

import prometheus_client
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lading.adapters.clock import VirtualClock
from lading.adapters.kube.client import KubeClient
from lading.api.core import CONFIG_MAPS, ConfigMap
from lading.kernel.objects import Key
from lading.loop.informer import Informers
from lading.observability.metrics import Metrics
from tests.loop import build
from tests.loop.faults import Link
from tests.loop.server import serving

HEAL_SECONDS = 400  # longer than the idle time-out and the longest back-off together


class InformerMachine(RuleBasedStateMachine):
    names = st.sampled_from("abcd")

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.worlds = contextlib.AsyncExitStack()
        self.truth: dict[str, str] = {}
        self.handled: dict[Key, ConfigMap] = {}
        self.runner.run(self._build())

    async def _build(self) -> None:
        self.clock = VirtualClock()
        self.server = await self.worlds.enter_async_context(serving(self.clock))
        self.link = Link(self.server, self.clock)
        self.kube = KubeClient(self.server)
        self.informers = Informers(
            kube=KubeClient(self.link),
            clock=self.clock,
            rng=random.Random(3),
            metrics=Metrics(prometheus_client.CollectorRegistry()),
        )
        self.informer = self.informers.of(CONFIG_MAPS)
        self.informer.add_handler(self._handle)

    def _handle(self, old: ConfigMap | None, new: ConfigMap | None) -> None:
        one = new or old
        assert one is not None
        assert self.handled.get(one.key) == old, "a handler got an old object that never was"
        if new is None:
            del self.handled[one.key]
        else:
            self.handled[one.key] = new

    @initialize(refuses=st.booleans())
    def start(self, refuses: bool) -> None:
        self.link.refuses_initial_events = refuses
        self.running = self.runner.get_loop().create_task(self.informers.run())

    @rule(name=names, value=st.text("xyz", max_size=3))
    def write(self, name: str, value: str) -> None:
        action = build.change if name in self.truth else build.create
        self.runner.run(action(self.kube, name, value=value))
        self.truth[name] = value

    @precondition(lambda self: self.truth)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.truth)))
        self.runner.run(build.delete(self.kube, name))
        del self.truth[name]

    @rule(down=st.booleans(), silent=st.booleans())
    def disturb(self, down: bool, silent: bool) -> None:
        self.link.is_down, self.link.is_silent = down, silent

    @rule()
    def cut(self) -> None:
        self.link.cut_watches()

    @rule()
    def compact(self) -> None:
        self.server.compact()

    @rule(seconds=st.integers(1, 200))
    def advance(self, seconds: int) -> None:
        self.runner.run(self.clock.advance(seconds))

    @rule()
    def heal_and_converge(self) -> None:
        self.link.is_down = self.link.is_silent = False
        self.advance(HEAL_SECONDS)
        cached = {one.metadata.name: one.data["value"] for one in self.informer}
        assert cached == self.truth
        assert {key.name: one.data["value"] for key, one in self.handled.items()} == self.truth

    @invariant()
    def the_story_matches_the_cache(self) -> None:
        assert {one.key: one for one in self.informer} == self.handled

    def teardown(self) -> None:
        if hasattr(self, "running"):
            self.heal_and_converge()
            assert not self.running.done()
            self.running.cancel()
            self.runner.run(ended(self.running))
        self.runner.run(self.worlds.aclose())
        self.runner.close()


async def ended(task: "asyncio.Task[None]") -> None:
    await asyncio.wait({task})


InformerMachine.TestCase.settings = settings(
    max_examples=settings().max_examples // 2, stateful_step_count=30
)
test_informer_under_random_walks = InformerMachine.TestCase
