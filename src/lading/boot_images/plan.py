"""The plan for all machine sets of one API, and the order of its writes. Pure.

Every machine set gets its own verdict, and none stops another. Its current image is in the history
before the patch, and its stub exists before the patch names it.
"""

from datetime import datetime, timedelta

from lading.api.machineconfiguration.boot_image_history import (
    MachineSetBootImageHistory,
    MachineSetBootImageHistorySpec,
    MachineSetBootImageHistoryStatus,
)
from lading.boot_images import history, rules, templates
from lading.boot_images.decide import MachineSetDecision, ReconcileInput, decide
from lading.boot_images.platforms.types import Api
from lading.boot_images.release import Release
from lading.boot_images.types import (
    Action,
    BootImageSettings,
    CloneTemplate,
    DeleteHistory,
    MachineSetVerdict,
    ObservedMachineSets,
    ReportMachineSet,
    SaveHistory,
    StampGolden,
)
from lading.kernel import conditions, planning
from lading.kernel.objects import Key
from lading.kernel.planning import Plan
from lading.kernel.values import replace

MESSAGE_CHARACTERS_MAX = 4096


def plan(
    observed: ObservedMachineSets, settings: BootImageSettings, now: datetime, *, namespace: str
) -> Plan:
    """`namespace` is the namespace of the histories."""
    given = ReconcileInput.of(observed, settings, now)
    decisions = decide_all(given)
    histories = {one.key: one for one in observed.histories}
    stub_writes = {one.stub.lane: one.stub for one in decisions if one.stub is not None}
    cloned = [each for one in decisions for each in one.patch if isinstance(each, CloneTemplate)]
    removals = templates.Removals()
    if not given.enrolment.is_reporting_only and observed.cluster_pause is None:
        removals = templates.plan_removals(observed, settings, now, cloned=cloned)
    return Plan(
        actions=(
            *_stamp(observed, given.release),
            *stub_writes.values(),
            *(
                action
                for one in decisions
                for action in _actions(one, observed.api, histories, namespace, now)
            ),
            *_forget(observed, decisions, settings.history_retention, now),
            *removals.actions,
        ),
        recheck_at=planning.earliest(
            now + settings.after_stub_delay if stub_writes else None,
            now + settings.secrets_interval if decisions else None,
            *(one.retry_at for one in decisions),
            removals.recheck_at,
            *_ends_of_histories(observed, settings.history_retention, now),
        ),
    )


def decide_all(given: ReconcileInput) -> tuple[MachineSetDecision, ...]:
    observed = given.observed
    past = {
        history_key(one.spec): one.spec
        for one in observed.histories
        if one.spec.machine_set_api_group == observed.api
    }
    return tuple(
        decide(one, given, past.get(one.key) or history.empty(observed.api, one.key))
        for one in sorted(observed.machine_sets, key=lambda one: one.key)
        if rules.is_in_scope(one, observed, given.settings)
    )


def history_key(spec: MachineSetBootImageHistorySpec) -> Key:
    return Key(spec.machine_set_namespace, spec.machine_set_name)


def _stamp(observed: ObservedMachineSets, release: Release) -> tuple[StampGolden, ...]:
    stamp = release.stamp()
    if observed.golden is None or not stamp:
        return ()
    action = StampGolden(
        key=observed.golden.key,
        resource_version=observed.golden.metadata.resource_version,
        proof=stamp,
        because="; ".join(release.messages()),
    )
    return (action,)


def _actions(
    decision: MachineSetDecision,
    api: Api,
    histories: dict[Key, MachineSetBootImageHistory],
    namespace: str,
    now: datetime,
) -> tuple[Action, ...]:
    """One lane: the history before the patch, the status, the patch, the history after it."""
    machine_set = decision.verdict.machine_set
    lane = decision.lane or ("set", api, machine_set.key)
    key = Key(namespace, history.name_of(api, machine_set.key))
    existing = histories.get(key)
    before = existing.spec if existing else history.empty(api, machine_set.key)
    seen = _with_present(before, decision, now)
    intended, after = seen, seen
    if decision.patch and decision.image is not None and decision.wanted is not None:
        image, secret = decision.image, decision.secret
        intended = history.with_intention(seen, decision.wanted, image=image)
        after = history.with_observed(
            intended, field=decision.field, image=image, secret=secret, is_of_stream=True, now=now
        )
    status = _status(decision.verdict)
    actions: list[Action] = []
    if existing is None or intended != before:
        because = "the current image is new" if seen != before else "a patch follows"
        actions.append(SaveHistory(key=key, spec=intended, lane=lane, because=because))
    if existing is None or existing.status != status:
        actions.append(
            ReportMachineSet(key=key, status=status, lane=lane, because=decision.verdict.message)
        )
    actions += decision.patch
    if after != intended:
        actions.append(
            SaveHistory(key=key, spec=after, lane=lane, because="the machine set was patched")
        )
    return tuple(actions)


def _with_present(
    before: MachineSetBootImageHistorySpec, decision: MachineSetDecision, now: datetime
) -> MachineSetBootImageHistorySpec:
    verdict = decision.verdict
    if before.removed_time:
        before = replace(before, removed_time="")
    if verdict.present is None:
        return before
    return history.with_observed(
        before,
        field=decision.field,
        image=verdict.present,
        secret=verdict.secret,
        is_of_stream=decision.is_of_stream,
        now=now,
    )


def _status(verdict: MachineSetVerdict) -> MachineSetBootImageHistoryStatus:
    return MachineSetBootImageHistoryStatus(
        state=verdict.state,
        reason=verdict.why,
        message=verdict.message[:MESSAGE_CHARACTERS_MAX],
        boot_image_ref=verdict.present.reference[:1024] if verdict.present else "",
        target=verdict.target[:1024],
    )


def _forget(
    observed: ObservedMachineSets,
    decisions: tuple[MachineSetDecision, ...],
    retention: timedelta,
    now: datetime,
) -> tuple[Action, ...]:
    """A history outlives its machine set by the retention."""
    alive = {one.verdict.machine_set.key for one in decisions}
    actions: list[Action] = []
    for one in observed.histories:
        if one.spec.machine_set_api_group != observed.api or history_key(one.spec) in alive:
            continue
        since = one.spec.removed_time
        if not since:
            spec = replace(one.spec, removed_time=conditions.timestamp(now))
            actions.append(
                SaveHistory(
                    key=one.key, spec=spec, lane=("history", one.key), because="its set is gone"
                )
            )
        elif (ends_at := _ends_at(one, retention)) is not None and ends_at <= now:
            because = f"its machine set has been gone since {since}"
            actions.append(DeleteHistory(key=one.key, uid=one.metadata.uid, because=because))
    return tuple(actions)


def _ends_of_histories(
    observed: ObservedMachineSets, retention: timedelta, now: datetime
) -> tuple[datetime, ...]:
    """Future ends only; a history that has reached its end is deleted now."""
    ends = (
        _ends_at(one, retention)
        for one in observed.histories
        if one.spec.machine_set_api_group == observed.api
    )
    return tuple(one for one in ends if one is not None and one > now)


def _ends_at(one: MachineSetBootImageHistory, retention: timedelta) -> datetime | None:
    """When the history of a deleted machine set is removed; None if the set exists."""
    since = conditions.instant(one.spec.removed_time)
    return None if since is None else since + retention
