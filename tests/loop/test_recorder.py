"""Events as a person finds them in the API, however often and however fast they were recorded."""

import random
from enum import StrEnum
from typing import Any

import pytest
from structlog.testing import capture_logs

from lading.adapters.clock import VirtualClock, settle
from lading.adapters.kube.client import KubeClient
from lading.api.core import EVENTS, Event, ObjectReference
from lading.loop import recorder, tasks
from lading.loop.recorder import EventRecorder
from lading.observability.metrics import Metrics
from tests.loop.faults import Link

POOL = ObjectReference(
    api_version="machineconfiguration.openshift.io/v1",
    kind="MachineConfigPool",
    name="worker",
    uid="1",
)


class Happening(StrEnum):
    PINNED = "Pinned"
    PULL_FAILED = "PullFailed"


@pytest.fixture
async def subject(
    link: Link, clock: VirtualClock, rng: random.Random, metrics: Metrics
) -> EventRecorder:
    return EventRecorder(
        kube=KubeClient(link),
        clock=clock,
        rng=rng,
        metrics=metrics,
        controller="lading/pinned-images",
        instance="lading-0",
    )


def record(
    subject: EventRecorder, note: str = "pinned 3 of 3 images", name: str = "worker"
) -> None:
    regarding = ObjectReference(kind=POOL.kind, name=name, uid=name, api_version=POOL.api_version)
    subject.record(regarding, reason=Happening.PINNED, action="Pin", note=note)


async def events(kube: KubeClient) -> list[Event]:
    return [event async for event in kube.each(EVENTS)]


def dropped(metrics: Metrics) -> float | None:
    return metrics.registry.get_sample_value("lading_events_dropped_total")


async def test_an_event_says_what_happened_to_which_object(
    subject: EventRecorder, kube: KubeClient, clock: VirtualClock
) -> None:
    async with tasks.started(subject.run()):
        subject.record(
            POOL,
            severity=recorder.Severity.WARNING,
            reason=Happening.PULL_FAILED,
            action="Pull",
            note="quay.io/a: no such image",
        )
        await settle()
    [event] = await events(kube)
    assert event.metadata.namespace == "default"
    assert event.regarding == POOL
    assert (event.type, event.reason, event.action) == ("Warning", "PullFailed", "Pull")
    assert event.note == "quay.io/a: no such image"
    assert event.event_time == "2026-01-01T00:00:00.000000Z"
    assert event.series is None


async def test_the_same_again_raises_a_count_with_few_writes(
    subject: EventRecorder, kube: KubeClient, clock: VirtualClock, link: Link
) -> None:
    async with tasks.started(subject.run()):
        for _ in range(600):
            record(subject)
            await clock.advance(0.1)
        await clock.advance(60)
    [event] = await events(kube)
    assert event.series is not None
    assert event.series.count == 600
    assert event.series.last_observed_time == "2026-01-01T00:00:59.900000Z"
    assert len(link.served) <= 5


async def test_the_same_after_a_long_silence_is_a_new_event(
    subject: EventRecorder, kube: KubeClient, clock: VirtualClock
) -> None:
    async with tasks.started(subject.run()):
        record(subject)
        await clock.advance(recorder.SERIES_IDLE_MAX.total_seconds() + 1)
        record(subject)
        await settle()
    assert len(await events(kube)) == 2


async def test_a_different_note_is_a_different_event(
    subject: EventRecorder, kube: KubeClient
) -> None:
    async with tasks.started(subject.run()):
        record(subject, "pinned 2 of 3 images")
        record(subject, "pinned 3 of 3 images")
        await settle()
    assert len(await events(kube)) == 2


async def test_an_event_survives_a_short_outage(
    subject: EventRecorder, kube: KubeClient, clock: VirtualClock, link: Link
) -> None:
    link.is_down = True
    async with tasks.started(subject.run()):
        record(subject)
        await clock.advance(1)
        link.is_down = False
        await clock.advance(10)
    assert len(await events(kube)) == 1


async def test_a_long_outage_costs_events_and_nothing_else(
    subject: EventRecorder, kube: KubeClient, clock: VirtualClock, link: Link, metrics: Metrics
) -> None:
    link.is_down = True
    async with tasks.started(subject.run()):
        record(subject)
        await clock.advance(3600)
        assert dropped(metrics) == 1
        link.is_down = False
        record(subject, "and then it worked")
        await settle()
    assert [event.note for event in await events(kube)] == ["and then it worked"]


async def test_a_flood_is_bounded(
    subject: EventRecorder, kube: KubeClient, metrics: Metrics
) -> None:
    for number in range(2 * recorder.UNWRITTEN_MAX):
        record(subject, name=f"pool-{number}")
    assert dropped(metrics) == recorder.UNWRITTEN_MAX
    async with tasks.started(subject.run()):
        await settle()
    assert len(await events(kube)) == recorder.UNWRITTEN_MAX


async def test_no_secret_gets_into_an_event(subject: EventRecorder, kube: KubeClient) -> None:
    async with tasks.started(subject.run()):
        record(subject, "GET https://me:hunter2@quay.io/v2 with Authorization: Bearer abcdefghijk")
        await settle()
    [event] = await events(kube)
    assert "hunter2" not in event.note
    assert "abcdefghijk" not in event.note
    assert "quay.io/v2" in event.note


async def test_a_long_note_is_cut_within_the_limit(
    subject: EventRecorder, kube: KubeClient
) -> None:
    async with tasks.started(subject.run()):
        record(subject, "ü" * 2000 + " and the cause")
        await settle()
    [event] = await events(kube)
    assert len(event.note.encode()) <= recorder.NOTE_BYTES_MAX
    assert event.note.endswith("and the cause")


async def test_an_unexpected_error_costs_its_event_and_not_the_process(
    subject: EventRecorder, kube: KubeClient, metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = recorder.event_body

    def broken(record: recorder.EventRecord, *arguments: Any, **options: Any) -> Any:
        if record.note == "a bug":
            raise ValueError("a bug of ours")
        return body(record, *arguments, **options)

    monkeypatch.setattr(recorder, "event_body", broken)
    async with tasks.started(subject.run()):
        with capture_logs() as logs:
            record(subject, "a bug")
            await settle()
        record(subject, "and then it worked")
        await settle()
    assert [event.note for event in await events(kube)] == ["and then it worked"]
    assert dropped(metrics) == 1
    assert [one["error"] for one in logs] == ["ValueError: a bug of ours"]
