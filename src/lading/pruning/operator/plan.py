"""What becomes of the ImagePruner: the first one, its objects, its status. Pure.

A spec that cannot be carried out changes nothing: the last good CronJob stays. Where OpenShift has
an operator for the object, nothing is written unless Lading is to take over.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec

from lading.api.batch import CronJob
from lading.api.core import CONFIG_MAPS
from lading.api.definitions import OWNER, OWNER_LABEL
from lading.api.imageregistry import ImagePrunerStatus, StoredImagePruner
from lading.api.rbac_objects import ClusterRoleBinding, ServiceAccount
from lading.kernel import conditions
from lading.kernel.conditions import Condition, Truth
from lading.kernel.objects import Object
from lading.kernel.planning import Plan
from lading.kernel.values import replace
from lading.pruning.operator import decision, effective, objects, report
from lading.pruning.operator.effective import InvalidSpec
from lading.pruning.operator.report import Report
from lading.pruning.operator.types import (
    OBJECT_NAME,
    CreateObject,
    DeleteBinding,
    EffectiveSpec,
    ObjectWrite,
    ObservedPruner,
    PrunerAction,
    PrunerConditionType,
    PrunerFacts,
    PrunerReason,
    PrunerSettings,
    RecordPrunerEvent,
    RepairMetadata,
    ReplaceCronJob,
    ReplaceSubjects,
    WritePrunerStatus,
    written_body,
    written_name,
)

MANAGED = "Managed"
SETTLING = timedelta(seconds=1)
"""A write that changes nothing causes no event, and the status still waits for it."""


class PrunerPlan(msgspec.Struct, frozen=True, kw_only=True):
    plan: Plan
    facts: PrunerFacts


def plan(observed: ObservedPruner, settings: PrunerSettings, now: datetime) -> PrunerPlan:
    if observed.is_openshift and not settings.take_over:
        return PrunerPlan(plan=Plan(), facts=report.facts_of_others(observed, now))
    decided = tuple(decision.decide(observed, settings, now))
    pruner = observed.pruner
    if pruner is None or pruner.metadata.deletion_timestamp:
        return PrunerPlan(plan=Plan(actions=decided), facts=PrunerFacts())
    spec, problem = _spec(pruner)
    writes = tuple(_objects(observed, pruner, spec))
    problem = problem or _problem(observed) or " ".join(_refused(observed, writes))
    found = report.report(observed, pruner, spec, problem, settings, now)
    is_under_way = bool(writes) and not problem
    status = () if is_under_way else tuple(_status(observed, pruner, found))
    recheck_at = now + SETTLING if is_under_way else found.recheck_at
    return PrunerPlan(
        plan=Plan(actions=(*decided, *writes, *status), recheck_at=recheck_at),
        facts=found.facts,
    )


def _spec(pruner: StoredImagePruner) -> tuple[EffectiveSpec | None, str]:
    try:
        return effective.effective(pruner.spec), ""
    except InvalidSpec as error:
        return None, str(error)


def prune_registry(observed: ObservedPruner, spec: EffectiveSpec) -> bool:
    if observed.management_state is None:
        return bool(spec.registries)
    return observed.management_state == MANAGED


def _problem(observed: ObservedPruner) -> str:
    foreign = {
        f"CronJob {observed.namespace}/{OBJECT_NAME}": observed.cron_job,
        f"ServiceAccount {observed.namespace}/{OBJECT_NAME}": observed.account,
        **{f"ClusterRoleBinding {name}": one for name, one in observed.bindings.items()},
    }
    for name, one in foreign.items():
        if one is not None and not _is_ours(one, observed.pruner):
            return f"{name} belongs to another owner and is not changed. Rename or delete it."
    if not observed.own_image:
        return (
            "Lading's own image is unknown, because the controller does not run in a pod. Set "
            "--pruner-image of the controller."
        )
    return ""


def _refused(observed: ObservedPruner, writes: Iterable[ObjectWrite]) -> Iterator[str]:
    """Only what is still to be written as it was refused: another body may be accepted."""
    for one in writes:
        name = written_name(one)
        refusal = observed.refusals.get(name)
        if refusal is not None and refusal.body == written_body(one):
            yield f"The API server refuses {name}: {refusal.answer.rstrip('.')}."


def _is_ours(one: Object, pruner: StoredImagePruner | None) -> bool:
    uids = {owner.uid for owner in one.metadata.owner_references}
    is_owned = pruner is not None and pruner.metadata.uid in uids
    return is_owned or one.metadata.labels.get(OWNER_LABEL) == OWNER


def _objects(
    observed: ObservedPruner, pruner: StoredImagePruner, spec: EffectiveSpec | None
) -> Iterator[ObjectWrite]:
    """In the order in which each needs the one before."""
    if _problem(observed):
        return
    namespace = observed.namespace
    yield from _account(observed.account, objects.account(pruner, namespace))
    for body in objects.bindings(pruner, namespace, is_openshift=observed.is_openshift):
        yield from _binding(observed.bindings.get(body["metadata"]["name"]), body)
    if observed.drops_status and not observed.has_report_map:
        body = objects.report_map(pruner, namespace)
        yield CreateObject(body=body, because=f"{CONFIG_MAPS.kind} of reports does not exist")
    if spec is None:
        return
    wanted = objects.cron_job(
        pruner,
        spec,
        namespace=namespace,
        image=observed.own_image,
        prune_registry=prune_registry(observed, spec),
        reports_to_map=observed.drops_status,
    )
    yield from _cron_job(observed.cron_job, wanted, observed.answered_spec)


def _account(found: ServiceAccount | None, body: Mapping[str, Any]) -> Iterator[ObjectWrite]:
    if found is None:
        yield CreateObject(body=body, because="the ServiceAccount does not exist")
    elif because := _metadata_difference(found, body):
        yield RepairMetadata(body=body, found=found, because=because)


def _binding(found: ClusterRoleBinding | None, body: Mapping[str, Any]) -> Iterator[ObjectWrite]:
    name = body["metadata"]["name"]
    create = CreateObject(body=body, because=f"ClusterRoleBinding {name} does not exist")
    if found is None:
        yield create
        return
    if found.role_ref.name != body["roleRef"]["name"] or found.role_ref.kind != "ClusterRole":
        because = "its role was changed"
        yield DeleteBinding(name=name, uid=found.metadata.uid, because=because)
        yield create
        return
    (subject,) = body["subjects"]
    subjects = [(one.kind, one.name, one.namespace) for one in found.subjects or ()]
    if subjects != [(subject["kind"], subject["name"], subject["namespace"])]:
        yield ReplaceSubjects(body=body, found=found, because="its subjects were changed")
    elif because := _metadata_difference(found, body):
        yield RepairMetadata(body=body, found=found, because=because)


def _cron_job(
    found: CronJob | None, body: Mapping[str, Any], answered: Mapping[str, Any] | None
) -> Iterator[ObjectWrite]:
    """The API server and its webhooks add to what is written, so their answer is compared."""
    if found is None:
        yield CreateObject(body=body, because="the CronJob does not exist")
        return
    name = objects.HASH_ANNOTATION
    if found.metadata.annotations.get(name) != body["metadata"]["annotations"][name]:
        because = "its spec is to change"
    elif difference := _metadata_difference(found, body):
        because = difference
    elif answered is None:
        because = "this process has not written it yet"
    else:
        because = "" if found.spec == answered else "it was changed by hand"
    if because:
        yield ReplaceCronJob(body=body, found=found, because=because)


def _metadata_difference(found: Object, body: Mapping[str, Any]) -> str:
    wanted = body["metadata"]
    labels = found.metadata.labels
    if any(labels.get(key) != value for key, value in wanted["labels"].items()):
        return "its labels were changed"
    owners = {one["uid"] for one in wanted["ownerReferences"]}
    if {one.uid for one in found.metadata.owner_references} != owners:
        return "its owner was changed"
    return ""


def _status(
    observed: ObservedPruner, pruner: StoredImagePruner, found: Report
) -> Iterator[PrunerAction]:
    last, status = report.status_of(pruner), found.status
    if _compared(status, observed) == _compared(last, observed):
        return
    yield WritePrunerStatus(
        key=pruner.key,
        resource_version=pruner.metadata.resource_version,
        status=_written(status, observed),
        because="its status changed",
    )
    for one in _news(last, status):
        bad = one.status is (Truth.TRUE if one.type == PrunerConditionType.FAILED else Truth.FALSE)
        yield RecordPrunerEvent(
            key=pruner.key, reason=PrunerReason(one.reason), warning=bad, because=one.message
        )


def _compared(status: ImagePrunerStatus, observed: ObservedPruner) -> object:
    if observed.drops_status:
        own = {one.type: one for one in status.conditions if one.type in set(PrunerConditionType)}
        return status.observed_generation, own
    return status


def _written(status: ImagePrunerStatus, observed: ObservedPruner) -> ImagePrunerStatus:
    """Only what is ours: not what the Job reports, and no condition of another writer."""
    own = tuple(one for one in status.conditions if one.type in set(PrunerConditionType))
    if observed.drops_status:
        return ImagePrunerStatus(observed_generation=status.observed_generation, conditions=own)
    return replace(status, last_run=(), conditions=own)


def _news(last: ImagePrunerStatus, status: ImagePrunerStatus) -> Iterator[Condition]:
    """Conditions with another status or reason; not that nothing has run, nor that all agrees."""
    for one in status.conditions:
        before = conditions.find(last.conditions, one.type)
        is_same = before is not None and (before.status, before.reason) == (one.status, one.reason)
        quiet = (PrunerReason.NOT_RUN, PrunerReason.SETTINGS_AGREE)
        if not is_same and one.reason not in quiet and one.type in set(PrunerConditionType):
            yield one
