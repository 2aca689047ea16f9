"""Reads the references of clusters: all objects of all kinds that name images.

If a list is forbidden, incomplete or fails, the observation fails, because references may be
missing. A kind that discovery does not list has no objects.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.kube import Cluster, Untyped
from lading.pruning.engine.progress import PruneProgress
from lading.pruning.engine.references import extraction, mirrors
from lading.pruning.engine.references.custom_paths import READY_MADE, CustomPath
from lading.pruning.engine.types import Mention, Settings

PAGE_OBJECTS = 500
WALKS_MAX = 3  # a list that expires (410) is walked again, the last time in one piece

KINDS = frozenset(
    {
        *(("", plural) for plural in ("pods", "replicationcontrollers", "podtemplates")),
        *(("apps", f"{one}s") for one in ("deployment", "daemonset", "replicaset", "statefulset")),
        ("apps", "controllerrevisions"),
        ("batch", "jobs"),
        ("batch", "cronjobs"),
        ("build.openshift.io", "builds"),
        ("build.openshift.io", "buildconfigs"),
        ("apps.openshift.io", "deploymentconfigs"),
        ("image.openshift.io", "imagestreams"),
        ("machineconfiguration.openshift.io", "pinnedimagesets"),
        ("longhorn.io", "images"),
        ("operator.openshift.io", "imagecontentsourcepolicies"),
        ("config.openshift.io", "imagedigestmirrorsets"),
        ("config.openshift.io", "imagetagmirrorsets"),
    }
)
REQUIRED = ("", "pods")


class ReferencesIncomplete(Exception):
    """References may be missing, so nothing may be deleted."""


class ClusterReferences(msgspec.Struct, frozen=True, kw_only=True):
    """The references of one cluster, when they were read, and where a watch continues."""

    cluster: str
    taken_at: datetime
    mentions: tuple[Mention, ...]
    mirrors: tuple[tuple[str, str], ...] = ()
    watched: tuple[tuple[Untyped, str], ...] = ()
    """(resource, resourceVersion of its list)."""
    unserved: tuple[str, ...] = ()
    """Declared kinds that the cluster does not serve, with similar kinds that it serves."""
    served: frozenset[tuple[str, str]] | None = None
    """(group, kind) of all kinds that the cluster serves; None if unknown."""
    custom: tuple[CustomPath, ...] = ()
    """The paths by which custom resources were read."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """How to read a cluster."""

    settings: Settings
    custom: tuple[CustomPath, ...]

    def cutoff(self, now: datetime) -> datetime | None:
        """With size limits a finished pod of any age protects."""
        if self.settings.prune_over_size_limit:
            return None
        return now - max(self.settings.keep_younger_than, timedelta(0))

    def mentions(
        self, document: dict[str, Any], resource: Untyped, cutoff: datetime | None
    ) -> tuple[Mention, ...]:
        return tuple(
            extraction.mentions(
                document,
                kind=resource.kind,
                group=resource.group,
                cutoff=cutoff,
                custom=self.custom,
            )
        )


async def of_clusters(
    clusters: Sequence[Cluster],
    clock: Clock,
    reading: Reading,
    progress: PruneProgress | None = None,
    *,
    files: Sequence[ClusterReferences] = (),
) -> tuple[ClusterReferences, ...]:
    """The references of these clusters; `files` are recorded references of others."""
    found = tuple([await references(one, clock, reading, progress) for one in clusters])
    every = (*found, *files)
    for declared in (one for one in reading.custom if one not in READY_MADE):
        _check_declared(declared, every)
    return found


def _check_declared(declared: CustomPath, clusters: Sequence[ClusterReferences]) -> None:
    """A path that some cluster does not read would not protect its images."""
    key = declared.group, declared.kind
    serving = [one for one in clusters if one.served is None or key in one.served]
    if clusters and not serving:
        name = f"{declared.kind}.{declared.group}"
        hints = (
            text for one in clusters for text in one.unserved if text.partition(" ")[0] == name
        )
        raise ReferencesIncomplete(
            f"no cluster serves {max(hints, default=name, key=len)}; `kubectl api-resources` shows"
            " the kinds, and --custom-path takes KIND.GROUP=JSONPATH"
        )
    for one in serving:
        if declared not in one.custom:
            raise ReferencesIncomplete(
                f"the references of cluster {one.cluster} were read without --custom-path"
                f" '{declared}'; write their file again with it: `lading prune references`"
            )


async def references(
    cluster: Cluster, clock: Clock, reading: Reading, progress: PruneProgress | None = None
) -> ClusterReferences:
    progress = progress or PruneProgress()
    identity = await cluster.identity()
    try:
        now = await cluster.server_time() or clock.now()
        kinds = await cluster.kinds()
        resources = _chosen(kinds, reading.custom)
    except kube.KubeError as error:
        raise _incomplete(identity, f"discovery: {error}") from error
    mentions: dict[Mention, None] = {}
    pairs: list[tuple[str, str]] = []
    watched: list[tuple[Untyped, str]] = []
    progress.begin("reading references", len(resources))
    for resource in resources:
        found, own_pairs, version = await _of_kind(cluster, identity, resource, reading, now)
        mentions |= dict.fromkeys(found)
        pairs += own_pairs
        watched.append((resource, version))
        progress.advance()
    return ClusterReferences(
        cluster=identity,
        taken_at=now,
        mentions=tuple(mentions),
        mirrors=tuple(pairs),
        watched=tuple(watched),
        unserved=tuple(_unserved(kinds, reading.custom)),
        served=frozenset((one.group, one.kind) for one in kinds),
        custom=reading.custom,
    )


def _unserved(kinds: tuple[Untyped, ...], custom: tuple[CustomPath, ...]) -> Iterator[str]:
    """Only declared kinds, because a cluster serves only some of the ready-made ones."""
    served = {(one.group, one.kind) for one in kinds}
    meant = {(one.group, one.plural): one.kind for one in kinds}
    for declared in custom:
        key = declared.group, declared.kind
        if declared not in READY_MADE and key not in served:
            hint = f" (the kind is {meant[key]})" if key in meant else ""
            yield f"{declared.kind}.{declared.group}{hint}"


def _chosen(kinds: tuple[Untyped, ...], custom: tuple[CustomPath, ...]) -> tuple[Untyped, ...]:
    declared = {(one.group, one.kind) for one in custom}
    chosen = tuple(
        one
        for one in kinds
        if (one.group, one.plural) in KINDS or (one.group, one.kind) in declared
    )
    if REQUIRED not in {(one.group, one.plural) for one in chosen}:
        raise kube.Unavailable("the API server does not list pods")
    return chosen


async def _of_kind(
    cluster: Cluster, identity: str, resource: Untyped, reading: Reading, now: datetime
) -> tuple[list[Mention], list[tuple[str, str]], str]:
    cutoff = reading.cutoff(now)
    for walk in range(1, WALKS_MAX + 1):
        mentions: list[Mention] = []
        pairs: list[tuple[str, str]] = []
        version = ""
        limit = 0 if walk == WALKS_MAX else PAGE_OBJECTS
        try:
            async for document, revision in walked(cluster, resource, limit=limit):
                version = revision
                if document is None:
                    continue
                mentions += reading.mentions(document, resource, cutoff)
                if resource.kind in mirrors.KINDS:
                    pairs += mirrors.pairs_of(document, resource.kind)
        except kube.Gone:
            continue
        except kube.Forbidden as error:
            message = (
                f"the list of {resource.plural} failed: {error}. Grant the account of this run the"
                f" verbs get, list and watch on {resource.plural} of API group"
                f" {resource.group or 'core'}, with a ClusterRole"
            )
            raise _incomplete(identity, message) from error
        except kube.KubeError as error:
            message = f"the list of {resource.plural} failed: {error}"
            raise _incomplete(identity, message) from error
        return mentions, pairs, version
    raise _incomplete(identity, f"the list of {resource.plural} expired {WALKS_MAX} times")


async def walked(
    cluster: Cluster, resource: Untyped, *, limit: int = PAGE_OBJECTS, token: str = ""
) -> AsyncIterator[tuple[dict[str, Any] | None, str]]:
    """Every object with the revision of the list; None stands for an empty page."""
    while True:
        page = await cluster.page(resource, limit=limit, continue_token=token)
        yield None, page.resource_version
        for item in page.items:
            yield item, page.resource_version
        token = page.continue_token
        if not token:
            return


def _incomplete(identity: str, message: str) -> ReferencesIncomplete:
    return ReferencesIncomplete(
        f"cluster {identity}: {message}. Nothing is deleted, because a reference may be missing"
    )
