"""Combines the components of all features into the manager of one process."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import msgspec
import structlog

from lading.installation import check
from lading.kernel.objects import Key, Resource
from lading.kernel.values import replace
from lading.loop import recorder
from lading.loop.component_runner import ComponentRunner, Served
from lading.loop.dependencies import ProcessEventReason
from lading.loop.feature import C, Component, Context, Feature, Tasks
from lading.loop.manager import Manager
from lading.loop.recorder import Severity
from lading.ports import kube

log = structlog.get_logger(__name__)


class Subject(msgspec.Struct, frozen=True):
    """The object that events about the process itself refer to."""

    resource: Resource[Any]
    key: Key


def manager_of(
    parts: Iterable[tuple[Feature, Component[C]]], context: C, *, subject: Subject | None
) -> Manager:
    made = [(feature, part, _managed(feature, part, context)) for feature, part in parts]
    for feature, part, managed in made:
        managed.set_alternatives(
            one
            for owner, other, one in made
            if part.alternatives_group
            and (owner, other.alternatives_group) == (feature, part.alternatives_group)
            and one != managed
        )
    return Manager(
        informers=context.informers,
        parts=tuple(managed for _, _, managed in made),
        support=(context.recorder,),
        elector=context.elector,
        report=partial(_report_waiting, context, subject),
    )


def _managed(feature: Feature, part: Component[C], context: C) -> ComponentRunner:
    own = replace(context, informers=context.informers.scoped())
    return ComponentRunner(
        name=feature.name,
        is_on=feature.is_on(context.gates),
        kinds=part.reads,
        informers=own.informers,
        open_work=partial(_open, feature, part, own),
        check=partial(check.find, context.kube),
        clock=context.clock,
        rng=context.rng,
        is_reported=feature.gate is not None,
        contribution=context.pools.place() if part.contributes_to_pools else None,
    )


@asynccontextmanager
async def _open(
    feature: Feature, part: Component[C], context: C, served: Served
) -> AsyncIterator[Tasks]:
    await _note_foreign(feature, context)
    async with part.open(replace(context, served=served)) as work:
        yield work


async def _note_foreign(feature: Feature, context: Context) -> None:
    """Logs only: an unavailable API server must not end the process because of a note."""
    try:
        notes = await check.foreign(context.kube, feature.owns)
    except kube.Transient as error:
        log.warning("owners of kinds are unknown", feature=feature.name, error=str(error))
        return
    for note in notes:
        log.warning("kind of another owner", feature=feature.name, note=note)


async def _report_waiting(
    context: C, subject: Subject | None, feature: str, missing: tuple[str, ...]
) -> None:
    """Records an event about the subject. Without a subject, the log has the report."""
    if subject is None:
        return
    try:
        found = await context.kube.get(
            subject.resource, subject.key.name, namespace=subject.key.namespace
        )
    except kube.KubeError as error:
        log.warning("event was not recorded", about=str(subject.key), error=str(error))
        return
    context.recorder.record(
        recorder.reference(subject.resource, found),
        reason=ProcessEventReason.WAITING_FOR_KINDS,
        action="StartFeature",
        note=f"Feature {feature} waits for {', '.join(missing)}. Install the missing kinds, for "
        "instance with `lading crds | kubectl apply --server-side -f -`.",
        severity=Severity.WARNING,
    )
