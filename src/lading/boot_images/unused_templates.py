"""Which clones of templates are removed: ours, a while after nothing needs them any more. Pure.

Since when is kept on the clone itself, so that a restart of the controller does not begin anew.
What is not known is kept.
"""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from lading.api.cluster_api import MachineTemplate, TemplateKey
from lading.boot_images import clones, machine_specs, rules
from lading.boot_images.clones import UNUSED_ANNOTATION
from lading.boot_images.types import (
    BootImageSettings,
    CloneTemplate,
    DeleteTemplate,
    MarkTemplate,
    ObservedMachineSets,
    TemplateVersion,
)
from lading.kernel import conditions, planning


class Removals(msgspec.Struct, frozen=True, kw_only=True):
    actions: tuple[MarkTemplate | DeleteTemplate, ...] = ()
    recheck_at: datetime | None = None


def may_be_unused(observed: ObservedMachineSets) -> frozenset[TemplateKey]:
    """Clones of ours that no machine set of the caches names, or that were so before."""
    named = {machine_specs.template_reference(one) for one in observed.machine_sets}
    return frozenset(
        key
        for key, one in observed.templates.items()
        if clones.is_ours(one) and (key not in named or UNUSED_ANNOTATION in _annotations(one))
    )


def plan(
    observed: ObservedMachineSets,
    settings: BootImageSettings,
    now: datetime,
    *,
    cloned: Iterable[CloneTemplate],
) -> Removals:
    """`cloned` are the templates that this pass makes: they are there for what comes next."""
    in_use = observed.templates_in_use
    enrolment = rules.enrolment(observed.configurations)
    if in_use is None or enrolment.is_reporting_only:
        return Removals()
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
    """Machines are not watched, so one that needs a template is looked for again."""
    template = observed.templates[key]
    version = _version(template)
    marked = _annotations(template).get(UNUSED_ANNOTATION)
    again_at = now + settings.secrets_interval
    failure = observed.failures.get(version.lane)
    is_too_early = failure is not None and failure.failed_at + settings.secrets_interval > now
    if is_too_early or template.metadata.deletion_timestamp:
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


def _annotations(template: MachineTemplate) -> dict[str, str]:
    return template.metadata.annotations


def _key_of(action: CloneTemplate) -> TemplateKey:
    metadata = action.body["metadata"]
    return action.body["kind"], metadata["namespace"], metadata["name"]


def _version(template: MachineTemplate) -> TemplateVersion:
    return TemplateVersion(
        api_version=template.api_version,
        kind=template.kind,
        key=template.key,
        uid=template.metadata.uid,
        resource_version=template.metadata.resource_version,
    )
