"""Plans the Setting, the listed Images, the DaemonSet and its pods. Pure.

The new Images of the list are created before the DaemonSet changes, and the old ones are deleted
after it, so that each template has the old or the new image.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from lading.api.core import DaemonSet
from lading.kernel.objects import Key
from lading.kernel.planning import LastWrite, Plan, earliest
from lading.prepull import holder, holding, rules
from lading.prepull.actions import (
    Action,
    CreateDaemonSet,
    CreateImage,
    CreateSetting,
    DeleteDaemonSet,
    DeleteImage,
    DeletePod,
    EnsureHoldKey,
    RemoveGate,
    ReplaceDaemonSet,
    WatchImageLists,
)
from lading.prepull.holding import Holding, HoldingWay
from lading.prepull.rules import Cargo
from lading.prepull.types import (
    CONTAINERS_WRITE,
    HOLD_KEY_NAME,
    SETTING_WRITE,
    VOLUMES_WRITE,
    EnabledBy,
    Enablement,
    GatedPod,
    ImageReason,
    ObservedPrePull,
    PrePullProblem,
    PrePullSettings,
    Setbacks,
)

_WITHOUT_SETTING = (EnabledBy.SETTING_MISSING, EnabledBy.SETTING_REFUSED)
_DROPPED = (
    "the API server drops image volumes. Turn on its feature gate ImageVolume, and restart the"
    " controller."
)


def plan(observed: ObservedPrePull, settings: PrePullSettings, now: datetime) -> Plan:
    enabled = enablement(observed, settings)
    held = holding_of(observed, settings, now)
    cargo = rules.cargo(observed.images, settings.images)
    waits_until = _quiet_at(observed, cargo, settings, now) if enabled.is_on else None
    repulls = tuple(_repulls(observed, settings, now)) if enabled.is_on else ()
    gated = _startable(observed, settings) if holder.is_ours(observed.daemon_set) else ()
    actions: list[Action] = [
        *_setting(observed, settings, enabled, now),
        *_new_images(observed, settings),
    ]
    if waits_until is None:
        actions += _daemon_set(observed, settings, enabled, cargo, held)
    if enabled.is_on:
        due = [one for one, due_at in gated if due_at is None or due_at <= now]
        actions += _gates(observed, settings, due)
    actions += (one for one, due_at in repulls if due_at <= now)
    lists_at = _image_lists_at(observed, settings)
    if lists_at is not None and lists_at <= now:
        actions.append(WatchImageLists(because="a node has no agent"))
    return Plan(
        actions=tuple(actions),
        recheck_at=earliest(
            waits_until,
            _setting_retry_at(observed, settings) if enabled.by in _WITHOUT_SETTING else None,
            _key_retry_at(observed, settings, actions, now),
            held.recheck_at if enabled.is_on else None,
            lists_at,
            *(due_at for _, due_at in repulls if due_at > now),
            *(due_at for _, due_at in gated if due_at is not None and due_at > now),
        ),
    )


def holding_of(observed: ObservedPrePull, settings: PrePullSettings, now: datetime) -> Holding:
    found = observed.daemon_set
    way = holder.way_of(found.spec) if found is not None and holder.is_ours(found) else None
    return holding.decide(
        way,
        refusal=_volumes_refusal(observed),
        obstacles=observed.roll_out.obstacles,
        without_obstacle_since=observed.roll_out.without_obstacle_since,
        now=now,
        settle=settings.periods.holding_settle,
    )


def _volumes_refusal(observed: ObservedPrePull) -> str:
    """Stays for the life of the process: after a refusal it writes no more image volumes."""
    last = observed.writes.get(VOLUMES_WRITE)
    if last is None:
        return ""
    if last.refusal:  # before Kubernetes 1.31
        is_about_volumes = ".volumes[" in last.refusal
        return f"the API server refuses image volumes: {last.refusal}" if is_about_volumes else ""
    # An API server with the feature gate off drops them and reports nothing.
    written = last.answer
    is_dropped = isinstance(written, DaemonSet) and not holder.keeps_image_volumes(written.spec)
    return _DROPPED if is_dropped else ""


def enablement(observed: ObservedPrePull, settings: PrePullSettings) -> Enablement:
    last = observed.writes.get(SETTING_WRITE)
    return rules.enablement(
        observed.setting,
        observed.images,
        gate_is_on=observed.gate_is_on,
        default=settings.default_value,
        refusal=last.refusal if last is not None else "",
    )


def problem(
    observed: ObservedPrePull, settings: PrePullSettings, now: datetime
) -> PrePullProblem | None:
    """Why no Image can be held at all."""
    namespace, found = observed.namespace, observed.daemon_set
    if found is not None and not holder.is_ours(found):
        message = (
            f"DaemonSet {namespace}/{holder.NAME} belongs to another owner and is not changed. "
            "Rename or delete it."
        )
        return PrePullProblem(why=ImageReason.FOREIGN_DAEMON_SET, message=message)
    if not observed.hold_image:
        message = (
            "Lading's own image is unknown, because the controller does not run in a pod. Set "
            "--prepull-hold-image of the controller."
        )
        return PrePullProblem(why=ImageReason.HOLD_IMAGE_UNKNOWN, message=message)
    held = holding_of(observed, settings, now)
    if held.way is HoldingWay.CONTAINERS and observed.key is None and observed.key_problem:
        message = f"Secret {namespace}/{HOLD_KEY_NAME}: {observed.key_problem}"
        return PrePullProblem(why=ImageReason.HOLD_KEY_UNKNOWN, message=message)
    if refusal := _refusal(observed, settings, held):
        message = f"The API server refuses DaemonSet {namespace}/{holder.NAME}: {refusal}"
        return PrePullProblem(why=ImageReason.DAEMON_SET_REFUSED, message=message)
    return None


def _refusal(observed: ObservedPrePull, settings: PrePullSettings, held: Holding) -> str:
    """Only of a body that is still wanted: the API server may accept another one."""
    refused = [one for one in _daemon_set_writes(observed) if one.refusal]
    if not refused:
        return ""
    enabled = enablement(observed, settings)
    cargo = rules.cargo(observed.images, settings.images)
    for write in _daemon_set(observed, settings, enabled, cargo, held):
        if isinstance(write, CreateDaemonSet | ReplaceDaemonSet):
            return next((one.refusal for one in refused if one.body == write.body), "")
    return ""


def write_name(body: Mapping[str, Any]) -> str:
    return VOLUMES_WRITE if holder.keeps_image_volumes(body["spec"]) else CONTAINERS_WRITE


def _answered(observed: ObservedPrePull) -> Mapping[str, Any] | None:
    """The spec that the API server returned for the last write of this process."""
    newest = max(_daemon_set_writes(observed), key=lambda one: one.at, default=None)
    written = newest.answer if newest else None
    return written.spec if isinstance(written, DaemonSet) else None


def _daemon_set_writes(observed: ObservedPrePull) -> list[LastWrite]:
    names = (VOLUMES_WRITE, CONTAINERS_WRITE)
    return [observed.writes[name] for name in names if name in observed.writes]


def _setting(
    observed: ObservedPrePull, settings: PrePullSettings, enabled: Enablement, now: datetime
) -> Iterator[CreateSetting]:
    """A webhook that does not know the Setting refuses it, so it is tried again rarely."""
    retry_at = _setting_retry_at(observed, settings)
    if enabled.by in _WITHOUT_SETTING and (retry_at is None or retry_at <= now):
        yield CreateSetting(
            namespace=observed.namespace,
            value=str(settings.default_value).lower(),
            because="it does not exist",
        )


def _setting_retry_at(observed: ObservedPrePull, settings: PrePullSettings) -> datetime | None:
    last = observed.writes.get(SETTING_WRITE)
    if last is None or not last.refusal:
        return None
    return last.at + settings.periods.setting_retry_interval


def _key_retry_at(
    observed: ObservedPrePull, settings: PrePullSettings, actions: list[Action], now: datetime
) -> datetime | None:
    """No cache shows the Secret."""
    if not any(isinstance(one, EnsureHoldKey) for one in actions):
        return None
    return now + settings.periods.missing_pods_interval if observed.key_problem else now


def _image_lists_at(observed: ObservedPrePull, settings: PrePullSettings) -> datetime | None:
    """When the image lists of kubelets are needed, because an agent is missing."""
    since = observed.roll_out.agents_missed_since
    if since is None or observed.reads_image_lists:
        return None
    return since + settings.periods.agent_grace


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
    """When the DaemonSet may change; None means now. Only a change of images waits."""
    if tuple(_new_images(observed, settings)):
        return now + settings.quiet  # this pass creates them, and the next one holds them
    if observed.changed_at is None or observed.changed_since is None:
        return None
    if observed.daemon_set is not None and holder.containers(observed.daemon_set) == _names(cargo):
        return None
    quiet_at = min(
        observed.changed_at + settings.quiet, observed.changed_since + settings.quiet_max
    )
    return quiet_at if quiet_at > now else None


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
    if found is not None and not holder.is_ours(found):
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
        yield EnsureHoldKey(namespace=observed.namespace, because=held.message)
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
    elif because := _difference(found, body, _answered(observed)):
        yield ReplaceDaemonSet(body=body, found=found, because=because)
    else:
        yield from _old_images(observed, settings)


def _deleted(found: DaemonSet | None, because: str) -> Iterator[DeleteDaemonSet]:
    if found is not None and not found.metadata.deletion_timestamp:
        yield DeleteDaemonSet(key=found.key, uid=found.metadata.uid, because=because)


def _difference(
    found: DaemonSet, body: Mapping[str, Any], answered: Mapping[str, Any] | None
) -> str:
    """Why the DaemonSet must be written; empty if it is as wanted.

    The API server and its webhooks add fields, so the spec is compared with their answer.
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


def _startable(
    observed: ObservedPrePull, settings: PrePullSettings
) -> tuple[tuple[GatedPod, datetime | None], ...]:
    """The pods of nodes without pressure, and when they may start after one that failed."""
    found = observed.roll_out
    return tuple(
        (one, _retry_at(found.failures.get(one.node), settings))
        for one in found.gated
        if not one.has_pressure
    )


def _retry_at(before: Setbacks | None, settings: PrePullSettings) -> datetime | None:
    if before is None:
        return None
    delay = settings.periods.repull.delay_seconds(failures=before.count, jitter=0)
    return before.last_at + timedelta(seconds=delay)


def _gates(
    observed: ObservedPrePull, settings: PrePullSettings, gated: Iterable[GatedPod]
) -> Iterator[RemoveGate]:
    """A pod that replaces one that was not ready comes first. It does not wait if it pulls nothing
    that the other one did not pull: one bad image must not start all nodes at once.
    """
    found = observed.roll_out
    ordered = sorted(gated, key=lambda one: not one.is_replacement)
    at_once = [one for one in ordered if one.is_replacement and not one.adds_images]
    waiting = [one for one in ordered if one not in at_once]
    free = settings.wave.size(found.node_count) - found.pulling_count - len(at_once)
    for one in (*at_once, *waiting[: max(0, free)]):
        why = "its predecessor was not ready" if one in at_once else "its turn has come"
        yield RemoveGate(
            key=Key(observed.namespace, one.name), uid=one.uid, node=one.node, because=why
        )


def _repulls(
    observed: ObservedPrePull, settings: PrePullSettings, now: datetime
) -> Iterator[tuple[DeletePod, datetime]]:
    """Each pod with lost images, and when it may be deleted."""
    for one in observed.roll_out.lost:
        due_at = _retry_at(observed.roll_out.deletions.get(one.node), settings) or now
        action = DeletePod(
            key=Key(observed.namespace, one.pod),
            uid=one.uid,
            node=one.node,
            containers=one.containers,
            because=f"images of {', '.join(one.containers)} are gone from node {one.node}",
        )
        yield action, due_at
