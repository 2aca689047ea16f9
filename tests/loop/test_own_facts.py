"""Facts that only this process has."""

from typing import Any, cast

import msgspec
import pytest

from lading.adapters.clock import VirtualClock
from lading.api.core import Pod
from lading.loop import own_facts
from lading.loop.own_facts import ReadOnce, WriteLog
from lading.ports import kube
from lading.ports.kube import Kube


class OnePod:
    async def get(self, _: Any, name: str, **__: Any) -> Pod:
        if name != "controller-1":
            raise kube.NotFound("no such pod") if name == "gone" else kube.Forbidden("no")
        containers = [{"name": "proxy", "image": "proxy:1"}, {"name": "controller", "image": "a:1"}]
        return msgspec.convert({"spec": {"containers": containers}}, Pod)


@pytest.mark.parametrize(
    ("pod_name", "option", "expected"),
    [
        ("controller-1", "", "a:1"),
        ("controller-1", "option:1", "option:1"),
        ("gone", "", None),
        ("forbidden", "", None),
        ("", "", None),
    ],
)
async def test_the_own_image_is_the_option_or_that_of_the_controller_s_container(
    pod_name: str, option: str, expected: str | None
) -> None:
    api = cast(Kube, OnePod())
    found = await own_facts.own_image(api, option=option, pod_name=pod_name, namespace="x")
    assert found == expected


async def test_a_fact_is_read_until_it_is_found_and_then_kept() -> None:
    answers = iter((None, "", "later"))

    async def read() -> str | None:
        return next(answers)

    fact = ReadOnce(read)
    assert [await fact.get() for _ in range(3)] == [None, "", ""]


async def test_a_refusal_is_kept_beside_the_last_accepted_answer() -> None:
    calls: list[int] = []
    log = WriteLog(VirtualClock(), changed=lambda: calls.append(1))

    async def accept() -> Pod:
        return Pod()

    async def refuse() -> Pod:
        raise kube.Forbidden("no")

    await log.record("Pod a", {"first": True}, accept())
    with pytest.raises(kube.Forbidden):
        await log.record("Pod a", {"second": True}, refuse())
    last = log.all()["Pod a"]
    assert (last.body, last.refusal, last.answer) == ({"second": True}, "no", Pod())
    assert len(calls) == 2
