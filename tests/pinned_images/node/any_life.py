"""A node to which anything happens, in any order; every look is judged by the promises."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from lading.ports import cri
from tests.pinned_images.node import lives, promises, whole_nodes
from tests.pinned_images.node.lives import SETS_BY_SIDE, Life

SETS = st.sampled_from(sorted({name for names in SETS_BY_SIDE.values() for name in names}))
WORDS = st.sampled_from("abc")
FAULTS = st.sampled_from(
    (
        cri.Unavailable,
        cri.RegistryUnavailable,
        cri.TimedOut,
        cri.ImageNotFound,
        cri.Unauthorized,
        cri.NoSpace,
        cri.NoMatchingPlatform,
        cri.UnknownHandler,
        cri.ContentRejected,
        cri.CriError,
    )
)
TROUBLES: tuple[Callable[[Life], None], ...] = (
    lives.pulls_hang,
    lives.registry_goes_away,
    lives.api_server_goes_away,
    lives.disk_is_full,
    lives.disk_has_room_for_one_image,
    lives.node_is_not_ready,
    lives.disk_pressure_comes,
    lives.runtime_class_is_deleted,
    lives.runtime_cannot_pin,
    lives.pins_cannot_be_written,
)
SECONDS = st.sampled_from((0.1, 1, 6, 31, 121, 1000))
EVENTS_PER_LIFE_MAX = 20
LOOKS_AFTER_EACH = 4
LOOK_SECONDS = 0.2
LOOKS_MAX = 60
"""More often a node that has recovered need not look before everything is done."""


class AnyLife(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self._runner = asyncio.Runner()
        self.life = Life()
        self._run(self.life.begin())

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._runner.run(work)

    def _live(self) -> None:
        """Long enough that a pull which goes well is pinned and reported."""
        for _ in range(LOOKS_AFTER_EACH):
            self._look()
            self._run(self.life.pass_time(LOOK_SECONDS))

    def _look(self, *, actions_max: int | None = None) -> None:
        before, held = self.life.status, self.life.held()
        look = self._run(self.life.look(actions_max=actions_max))
        promises.check(look, before, self.life.status)
        promises.check_claims(look, held, before, self.life.status)
        promises.check_desired(look, self.life.wanted())

    @rule(name=SETS, words=st.dictionaries(WORDS, st.booleans(), min_size=1))
    def a_set_is_written(self, name: str, words: dict[str, bool]) -> None:
        self.life.write_set(name, sorted(words.items()))
        self._live()

    @rule(name=SETS)
    def a_set_is_deleted(self, name: str) -> None:
        self.life.delete_set(name)
        self._live()

    @rule(
        name=SETS,
        words=st.dictionaries(WORDS, st.booleans(), min_size=1),
        edits=st.integers(0, 2),
    )
    def a_set_is_made_again(self, name: str, words: dict[str, bool], edits: int) -> None:
        """Before the agent looks: another set of that name, perhaps edited already."""
        self.life.delete_set(name)
        for _ in range(edits + 1):
            self.life.write_set(name, sorted(words.items()))
        self._live()

    @rule(word=WORDS)
    def an_image_is_removed(self, word: str) -> None:
        self.life.runtime.names.discard(name_of(word))
        self._live()

    @rule(word=WORDS)
    def a_pod_brings_an_image(self, word: str) -> None:
        self.life.runtime.names.add(name_of(word))
        self._live()

    @rule(word=WORDS)
    def a_pin_is_lost(self, word: str) -> None:
        self.life.runtime.lost_pins.add(whole_nodes.image_id(name_of(word)))
        self._live()

    @rule(word=WORDS)
    def a_pin_is_lost_for_good(self, word: str) -> None:
        """The runtime lets it go, and takes no pins for a while."""
        self.life.runtime.lost_pins.add(whole_nodes.image_id(name_of(word)))
        lives.pins_cannot_be_written(self.life)
        self._live()

    @rule(word=WORDS, fault=FAULTS)
    def an_image_cannot_be_pulled(self, word: str, fault: type[cri.CriError]) -> None:
        self.life.runtime.faults[name_of(word)] = fault("it is broken")
        self._live()

    @rule(side=st.sampled_from(sorted(SETS_BY_SIDE)))
    def the_node_changes_its_pool(self, side: str) -> None:
        self.life.write_node(side=side)
        self._live()

    @rule(trouble=st.sampled_from(TROUBLES))
    def trouble_comes(self, trouble: Callable[[Life], None]) -> None:
        trouble(self.life)
        self._live()

    @rule()
    def everything_recovers(self) -> None:
        self.life.recover()
        self._live()

    @rule(seconds=SECONDS)
    def time_passes(self, seconds: float) -> None:
        self._run(self.life.pass_time(seconds))
        self._live()

    @rule(hours=st.integers(1, 3))
    def the_clock_is_set_back(self, hours: int) -> None:
        self.life.clock.set_back(timedelta(hours=hours))
        self._live()

    @rule(actions_max=st.integers(0, 8))
    def the_agent_is_killed(self, actions_max: int) -> None:
        self._look(actions_max=actions_max)

    def teardown(self) -> None:
        with self._runner:
            self.life.recover()
            self._run(self._converge())
            self._run(self.life.end())

    async def _converge(self) -> None:
        for _ in range(LOOKS_MAX):
            before, held = self.life.status, self.life.held()
            look = await self.life.look()
            promises.check(look, before, self.life.status)
            promises.check_claims(look, held, before, self.life.status)
            if look.is_at_rest:
                promises.check_that_all_is_well(look, self.life.status)
                return
            await self.life.until_next_look(look)
        raise AssertionError(f"there is still something to do: {look.plan.actions}")


def name_of(word: str) -> str:
    return whole_nodes.image_keys([word])[0].image
