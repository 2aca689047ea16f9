"""Plans the first ImagePruner, its objects and its status. Pure.

An invalid spec changes nothing: the last good CronJob stays. On OpenShift, which has its own
operator for the ImagePruner, nothing is written unless Lading takes over.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec

from lading.api.core import CONFIG_MAPS, CRON_JOBS, CronJob
from lading.api.definitions import OWNER, OWNER_LABEL
from lading.api.imageregistry import StoredImagePruner
from lading.api.rbac import ClusterRoleBinding, ServiceAccount
from lading.kernel.objects import Object
from lading.kernel.planning import Plan
from lading.pruning.operator import decision, effective, objects, status
from lading.pruning.operator.effective import InvalidSpec
from lading.pruning.operator.types import (
    OBJECT_NAME,
    CreateObject,
    DeleteBinding,
    EffectiveSpec,
    ObjectWrite,
    ObservedPruner,
    PrunerFacts,
    PrunerSettings,
    UpdateObject,
    written_body,
    written_name,
)

MANAGED = "Managed"
CRON_JOB = f"{CRON_JOBS.kind} {OBJECT_NAME}"
"""The name of its writes."""


class PrunerPlan(msgspec.Struct, frozen=True, kw_only=True):
    plan: Plan
    facts: PrunerFacts


def plan(observed: ObservedPruner, settings: PrunerSettings, now: datetime) -> PrunerPlan:
    if observed.is_openshift and not settings.take_over:
        return PrunerPlan(plan=Plan(), facts=status.facts_of_others(observed, now))
    decided = tuple(decision.decide(observed, settings, now))
    pruner = observed.pruner
    if pruner is None or pruner.metadata.deletion_timestamp:
        return PrunerPlan(plan=Plan(actions=decided), facts=PrunerFacts())
    spec, problem = _spec(pruner)
    writes = tuple(_objects(observed, pruner, spec))
    problem = problem or _problem(observed) or " ".join(_refused(observed, writes))
    found = status.new_status(observed, pruner, spec, problem, settings, now)
    if writes and not problem:
        # The next pass sees how the writes ended, and writes the status.
        return PrunerPlan(plan=Plan(actions=(*decided, *writes), recheck_at=now), facts=found.facts)
    reported = status.write(observed, pruner, found.status)
    return PrunerPlan(
        plan=Plan(actions=(*decided, *writes, *reported), recheck_at=found.recheck_at),
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
    """Only of writes that are still planned: the API server may accept another body."""
    for one in writes:
        name = written_name(one)
        last = observed.writes.get(name)
        if last is not None and last.refusal and last.body == written_body(one):
            yield f"The API server refuses {name}: {last.refusal.rstrip('.')}."


def _is_ours(one: Object, pruner: StoredImagePruner | None) -> bool:
    uids = {owner.uid for owner in one.metadata.owner_references}
    is_owned = pruner is not None and pruner.metadata.uid in uids
    return is_owned or one.metadata.labels.get(OWNER_LABEL) == OWNER


def _objects(
    observed: ObservedPruner, pruner: StoredImagePruner, spec: EffectiveSpec | None
) -> Iterator[ObjectWrite]:
    """Each object needs the ones before it."""
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
    yield from _cron_job(observed, wanted)


def _account(found: ServiceAccount | None, body: Mapping[str, Any]) -> Iterator[ObjectWrite]:
    if found is None:
        yield CreateObject(body=body, because="the ServiceAccount does not exist")
    elif because := _metadata_difference(found, body):
        yield UpdateObject(body=body, found=found, because=because)


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
        because = "its subjects were changed"
        yield UpdateObject(body=body, found=found, fields=("subjects",), because=because)
    elif because := _metadata_difference(found, body):
        yield UpdateObject(body=body, found=found, because=because)


def _cron_job(observed: ObservedPruner, body: Mapping[str, Any]) -> Iterator[ObjectWrite]:
    """The API server and its webhooks add fields, so the spec is compared with their answer."""
    found = observed.cron_job
    if found is None:
        yield CreateObject(body=body, because="the CronJob does not exist")
        return
    last = observed.writes.get(CRON_JOB)
    answer = last.answer if last is not None else None
    name = objects.HASH_ANNOTATION
    because = ""
    if found.metadata.annotations.get(name) != body["metadata"]["annotations"][name]:
        because = "its spec is to change"
    elif difference := _metadata_difference(found, body):
        because = difference
    elif not isinstance(answer, CronJob):
        because = "this process has not written it yet"
    elif found.spec != answer.spec:
        because = "it was changed by hand"
    if because:
        yield UpdateObject(body=body, found=found, fields=("spec",), because=because)


def _metadata_difference(found: Object, body: Mapping[str, Any]) -> str:
    wanted = body["metadata"]
    labels = found.metadata.labels
    if any(labels.get(key) != value for key, value in wanted["labels"].items()):
        return "its labels were changed"
    owners = {one["uid"] for one in wanted["ownerReferences"]}
    if {one.uid for one in found.metadata.owner_references} != owners:
        return "its owner was changed"
    return ""
