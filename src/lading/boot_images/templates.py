"""Clones of infrastructure templates: how one is made, and when one is removed. Pure.

A template is immutable, so a new image needs a clone. A clone is removed a while after nothing
needs it. An annotation of the clone keeps since when, so a restart of the controller loses nothing.
"""

import copy
import hashlib
import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from lading.api.cluster_api import MachineTemplate, TemplateKey
from lading.api.definitions import OWNER, OWNER_LABEL
from lading.api.machine import MachineSet
from lading.boot_images.platforms.types import BootImage, Path, text_at, value_at
from lading.boot_images.types import (
    BootImageSettings,
    CloneTemplate,
    DeleteTemplate,
    MarkTemplate,
    ObservedMachineSets,
    TemplateVersion,
)
from lading.kernel import conditions, planning

NAME_CHARACTERS_MAX = 63  # a template's name may become a label
TRACKING_LABELS = ("app.kubernetes.io/instance", OWNER_LABEL)
TRACKING_DOMAINS = (
    "argocd.argoproj.io/",
    "kustomize.toolkit.fluxcd.io/",
    "helm.toolkit.fluxcd.io/",
)
SOURCE_ANNOTATION = "lading.dev/copy-of"
UNUSED_ANNOTATION = "lading.dev/unused-since"


def reference_of(machine_set: MachineSet) -> TemplateKey:
    """The infrastructure template of a machine set or a deployment."""
    found = value_at(machine_set.spec, ("template", "spec", "infrastructureRef"))
    found = found if isinstance(found, dict) else {}
    return text_at(found, "kind"), machine_set.metadata.namespace, text_at(found, "name")


def clone(
    template: MachineTemplate, *, machine_set: str, path: Path, image: BootImage
) -> dict[str, Any]:
    """The same template with another image. Its name ends with a hash of its content."""
    spec = copy.deepcopy(template.spec)
    machine = spec["template"]["spec"]
    for step in path[:-1]:
        machine = machine[step]
    machine[path[-1]] = image.value
    content = json.dumps(spec["template"]["spec"], sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(content.encode()).hexdigest()[:8]
    base = machine_set[: NAME_CHARACTERS_MAX - len(digest) - 1].rstrip("-.")
    return {
        "apiVersion": template.api_version,
        "kind": template.kind,
        "metadata": {
            "name": f"{base}-{digest}",
            "namespace": template.metadata.namespace,
            "labels": {**_own_labels(template), OWNER_LABEL: OWNER},
            "annotations": {SOURCE_ANNOTATION: template.metadata.name},
        },
        "spec": spec,
    }


def is_ours(template: MachineTemplate) -> bool:
    metadata = template.metadata
    return metadata.labels.get(OWNER_LABEL) == OWNER and SOURCE_ANNOTATION in metadata.annotations


def holds(present: Any, wanted: Any) -> bool:
    """A stored spec is the wanted one; the API server may have added defaults."""
    if isinstance(wanted, dict):
        return isinstance(present, dict) and all(
            key in present and holds(present[key], one) for key, one in wanted.items()
        )
    return bool(present == wanted)


def _own_labels(template: MachineTemplate) -> dict[str, str]:
    """Without the labels by which a GitOps tool would find the clone and prune it."""
    return {
        key: value
        for key, value in template.metadata.labels.items()
        if key not in TRACKING_LABELS and not key.startswith(TRACKING_DOMAINS)
    }


class Removals(msgspec.Struct, frozen=True, kw_only=True):
    actions: tuple[MarkTemplate | DeleteTemplate, ...] = ()
    recheck_at: datetime | None = None


def may_be_unused(observed: ObservedMachineSets) -> frozenset[TemplateKey]:
    """Our clones that no cached machine set names, or that are marked as unused."""
    named = {reference_of(one) for one in observed.machine_sets}
    return frozenset(
        key
        for key, one in observed.templates.items()
        if is_ours(one) and (key not in named or UNUSED_ANNOTATION in one.metadata.annotations)
    )


def plan_removals(
    observed: ObservedMachineSets,
    settings: BootImageSettings,
    now: datetime,
    *,
    cloned: Iterable[CloneTemplate],
) -> Removals:
    """`cloned` are the templates that this plan makes. They count as in use."""
    in_use, later = observed.templates_in_use, now + settings.templates_interval
    if in_use is None:
        return Removals(recheck_at=later if may_be_unused(observed) else None)
    in_use |= {_key_of(one) for one in cloned}
    found = [
        _removal(key, observed, settings, now, is_in_use=key in in_use)
        for key in sorted(may_be_unused(observed))
    ]
    return Removals(
        actions=tuple(action for one in found for action in one.actions),
        recheck_at=planning.earliest(*(one.recheck_at for one in found)),
    )


def _removal(
    key: TemplateKey,
    observed: ObservedMachineSets,
    settings: BootImageSettings,
    now: datetime,
    *,
    is_in_use: bool,
) -> Removals:
    """Machines are not watched, so a clone in use is checked again after a while."""
    template = observed.templates[key]
    version = TemplateVersion.of(template)
    marked = template.metadata.annotations.get(UNUSED_ANNOTATION)
    again_at = now + settings.templates_interval
    if template.metadata.deletion_timestamp:
        return Removals(recheck_at=again_at)
    if is_in_use:
        if marked is None:
            return Removals(recheck_at=again_at)
        because = "a machine set, a deployment or a machine needs it again"
        return Removals(actions=(MarkTemplate(template=version, unused_since="", because=because),))
    since = conditions.instant(marked or "")
    if since is None or since > now:
        because = "no machine set, deployment or machine needs it"
        mark = MarkTemplate(
            template=version, unused_since=conditions.timestamp(now), because=because
        )
        return Removals(actions=(mark,), recheck_at=now + settings.unused_templates_retention)
    due = since + settings.unused_templates_retention
    if due > now:
        return Removals(recheck_at=due)
    because = f"nothing has needed it since {marked}"
    return Removals(actions=(DeleteTemplate(template=version, because=because),))


def _key_of(action: CloneTemplate) -> TemplateKey:
    metadata = action.body["metadata"]
    return action.body["kind"], metadata["namespace"], metadata["name"]
