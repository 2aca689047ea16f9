"""What becomes of the Setting, the listed Images, the DaemonSet and its pods. Pure.

The list's new Images are made before the DaemonSet changes, and its old ones are deleted after it:
at no time is there a template that lacks both.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from lading.api.apps import DaemonSet
from lading.api.definitions import OWNER, OWNER_LABEL
from lading.kernel.objects import Key
from lading.kernel.planning import Plan, earliest
from lading.prepull import holder, holding, rules
from lading.prepull.holding import Holding, HoldingWay
from lading.prepull.rules import Cargo
from lading.prepull.types import (
    HOLD_KEY_NAME,
    Action,
    CreateDaemonSet,
    CreateHoldKey,
    CreateImage,
    CreateSetting,
    DeleteDaemonSet,
    DeleteImage,
    DeletePod,
    EnabledBy,
    Enablement,
    ImageReason,
    ObservedPrePull,
    PrePullProblem,
    PrePullSettings,
    RemoveGate,
    ReplaceDaemonSet,
)


def plan(observed: ObservedPrePull, settings: PrePullSettings, now: datetime) -> Plan:
    enabled = enablement(observed, settings)
    held = holding_of(observed, settings, now)
    cargo = rules.cargo(observed.images, settings.images)
    waits_until = _quiet_at(observed, cargo, settings, now) if enabled.is_on else None
    repulls = tuple(_repulls(observed, settings, now)) if enabled.is_on else ()
    actions: list[Action] = [
        *_setting(observed, settings, enabled),
        *_new_images(observed, settings),
    ]
    if waits_until is None:
        actions += _daemon_set(observed, settings, enabled, cargo, held)
    if enabled.is_on and is_ours(observed.daemon_set):
        actions += _gates(observed, settings)
    actions += (one for one, due_at in repulls if due_at <= now)
    later = [due_at for _, due_at in repulls if due_at > now]
    if any(isinstance(one, CreateHoldKey) for one in actions):
        later.append(now)  # no cache shows the Secret
    if enabled.is_on and held.recheck_at is not None:
        later.append(held.recheck_at)
    return Plan(actions=tuple(actions), recheck_at=earliest(waits_until, *later))


def holding_of(observed: ObservedPrePull, settings: PrePullSettings, now: datetime) -> Holding:
    found = observed.daemon_set
    way = holder.way_of(found.spec) if found is not None and is_ours(found) else None
    return holding.decide(
        way,
        refusal=observed.volumes_refusal,
        obstacles=observed.roll_out.obstacles,
        without_obstacle_since=observed.without_obstacle_since,
        now=now,
        settle=settings.periods.holding_settle,
    )


def enablement(observed: ObservedPrePull, settings: PrePullSettings) -> Enablement:
    return rules.enablement(
        observed.setting,
        observed.images,
        gate_is_on=observed.gate_is_on,
        default=settings.default_value,
        refusal=observed.setting_refusal,
    )


def is_ours(found: DaemonSet | None) -> bool:
    return found is not None and found.metadata.labels.get(OWNER_LABEL) == OWNER


def daemon_set_problem(
    found: DaemonSet | None, hold_image: str, refusal: str, key_refusal: str, namespace: str
) -> PrePullProblem | None:
    """Why no Image can be held at all."""
    if found is not None and not is_ours(found):
        message = (
            f"DaemonSet {namespace}/{holder.NAME} belongs to another owner and is not changed. "
            "Rename or delete it."
        )
        return PrePullProblem(why=ImageReason.FOREIGN_DAEMON_SET, message=message)
    if not hold_image:
        message = (
            "Lading's own image is unknown, because the controller does not run in a pod. Set "
            "--prepull-hold-image of the controller."
        )
        return PrePullProblem(why=ImageReason.HOLD_IMAGE_UNKNOWN, message=message)
    if key_refusal:
        message = f"Secret {namespace}/{HOLD_KEY_NAME}: {key_refusal}"
        return PrePullProblem(why=ImageReason.HOLD_KEY_UNKNOWN, message=message)
    if refusal:
        message = f"The API server refuses DaemonSet {namespace}/{holder.NAME}: {refusal}"
        return PrePullProblem(why=ImageReason.DAEMON_SET_REFUSED, message=message)
    return None


def _setting(
    observed: ObservedPrePull, settings: PrePullSettings, enabled: Enablement
) -> Iterator[CreateSetting]:
    if enabled.by is EnabledBy.SETTING_MISSING:
        yield CreateSetting(
            namespace=observed.namespace,
            value=str(settings.default_value).lower(),
            because="it does not exist",
        )


def _new_images(observed: ObservedPrePull, settings: PrePullSettings) -> Iterator[CreateImage]:
    existing = {one.metadata.name for one in observed.images}
    for name, listed in rules.listed_by_name(settings.images).items():
        if name not in existing:
            yield CreateImage(
                namespace=observed.namespace,
                name=name,
                listed=listed,
                because=f"--prepull-image has {listed.name}",
            )


def _quiet_at(
    observed: ObservedPrePull, cargo: Cargo, settings: PrePullSettings, now: datetime
) -> datetime | None:
    """When the DaemonSet may follow the Images; None is now. Only a change of images waits."""
    if tuple(_new_images(observed, settings)):
        return now + settings.quiet  # they are made in this pass, and held with the next one
    if observed.changed_at is None or observed.changed_since is None:
        return None
    if observed.daemon_set is not None and containers(observed.daemon_set) == _names(cargo):
        return None
    quiet_at = min(
        observed.changed_at + settings.quiet, observed.changed_since + settings.quiet_max
    )
    return quiet_at if quiet_at > now else None


def containers(found: DaemonSet) -> tuple[str, ...]:
    template = found.spec.get("template") or {}
    listed = (template.get("spec") or {}).get("containers") or ()
    return tuple(one["name"] for one in listed if one["name"].startswith(holder.CONTAINER_PREFIX))


def _names(cargo: Cargo) -> tuple[str, ...]:
    return tuple(map(holder.container_name, cargo.urls))


def _daemon_set(
    observed: ObservedPrePull,
    settings: PrePullSettings,
    enabled: Enablement,
    cargo: Cargo,
    held: Holding,
) -> Iterator[Action]:
    found = observed.daemon_set
    if found is not None and not is_ours(found):
        return
    if not enabled.is_on or not cargo.urls:
        because = "pre-pulling is off" if not enabled.is_on else "no image is to be held"
        yield from _deleted(found, because)
        yield from _old_images(observed, settings)
        return
    if not observed.hold_image:
        return
    by_containers = held.way is HoldingWay.CONTAINERS
    if by_containers and observed.key is None:
        if not observed.key_unreadable:
            yield CreateHoldKey(namespace=observed.namespace, because=held.message)
        return
    body = holder.daemon_set(
        cargo.urls,
        cargo.owners,
        settings,
        namespace=observed.namespace,
        hold_image=observed.hold_image,
        key=observed.key if by_containers else None,
    )
    if found is None:
        yield CreateDaemonSet(body=body, because="it does not exist")
    elif because := _difference(found, body, observed.answered_spec):
        yield ReplaceDaemonSet(body=body, found=found, because=because)
    else:
        yield from _old_images(observed, settings)


def _deleted(found: DaemonSet | None, because: str) -> Iterator[DeleteDaemonSet]:
    if found is not None and not found.metadata.deletion_timestamp:
        yield DeleteDaemonSet(key=found.key, uid=found.metadata.uid, because=because)


def _difference(
    found: DaemonSet, body: Mapping[str, Any], answered: Mapping[str, Any] | None
) -> str:
    """Why the DaemonSet must be written; empty when it need not be.

    The API server and its webhooks add to what is written, so what they answered is compared.
    """
    wanted = body["metadata"]
    name = holder.TEMPLATE_ANNOTATION
    if found.metadata.annotations.get(name) != wanted["annotations"][name]:
        return "its template is to change"
    owners = {one.uid for one in found.metadata.owner_references}
    if owners != {one["uid"] for one in wanted["ownerReferences"]}:
        return "its Images changed"
    labels = found.metadata.labels
    if any(labels.get(key) != value for key, value in wanted["labels"].items()):
        return "its labels were changed"
    if answered is None:
        return "this process has not written it yet"
    return "" if found.spec == answered else "it was changed by hand"


def _old_images(observed: ObservedPrePull, settings: PrePullSettings) -> Iterator[DeleteImage]:
    for one in observed.images:
        if rules.is_outdated(one, settings.images) and not one.metadata.deletion_timestamp:
            yield DeleteImage(
                key=one.key, uid=one.metadata.uid, because="--prepull-image no longer has it"
            )


def _gates(observed: ObservedPrePull, settings: PrePullSettings) -> Iterator[RemoveGate]:
    """Pods that replace one that was not ready go at once, and count as pulling."""
    found = observed.roll_out
    at_once = [one for one in found.gated if one.is_replacement]
    waiting = [one for one in found.gated if not one.is_replacement]
    free = settings.wave.size(found.node_count) - found.pulling_count - len(at_once)
    for one in (*at_once, *waiting[: max(0, free)]):
        why = "its predecessor was not ready" if one.is_replacement else "its turn has come"
        yield RemoveGate(
            key=Key(observed.namespace, one.name), uid=one.uid, node=one.node, because=why
        )


def _repulls(
    observed: ObservedPrePull, settings: PrePullSettings, now: datetime
) -> Iterator[tuple[DeletePod, datetime]]:
    """Each pod with lost images, and when it may be deleted."""
    for one in observed.roll_out.lost:
        before = observed.deletions.get(one.node)
        due_at = now
        if before is not None:
            delay = settings.periods.repull.delay_seconds(failures=before.count, jitter=0)
            due_at = before.last_at + timedelta(seconds=delay)
        action = DeletePod(
            key=Key(observed.namespace, one.pod),
            uid=one.uid,
            node=one.node,
            containers=one.containers,
            because=f"images of {', '.join(one.containers)} are gone from node {one.node}",
        )
        yield action, due_at
