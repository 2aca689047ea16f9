"""The policies on the embedded API server: they hold a controller that was taken over."""

import contextlib
from collections.abc import AsyncIterator

from tests.deploy import embedded, escapes
from tests.deploy.escapes import Attacker


@contextlib.asynccontextmanager
async def taken_over() -> AsyncIterator[Attacker]:
    async with embedded.installed() as clients:
        await escapes.prepare(clients["admin"], escapes.BASE_IMAGE)
        yield Attacker(controller=clients["controller"], own_image=escapes.BASE_IMAGE)


def test_there_are_at_least_40_escapes_and_each_has_a_name() -> None:
    assert len(escapes.ESCAPES) >= 40
    assert len({one.sentence for one in escapes.ESCAPES}) == len(escapes.ESCAPES)


async def test_a_controller_that_was_taken_over_is_refused_by_the_policies() -> None:
    async with taken_over() as attacker:
        accepted = [
            f"{one.sentence}: {answer or 'accepted'}"
            for one in escapes.ESCAPES
            for write in one.writes
            if one.words not in (answer := await escapes.refusal(write, attacker))
        ]
        assert accepted == []


async def test_what_lading_itself_writes_is_accepted() -> None:
    async with taken_over() as attacker:
        answers = {
            one.sentence: await escapes.refusal(one.write, attacker) for one in escapes.OWN_WRITES
        }
        assert {key: answer for key, answer in answers.items() if answer} == {}
