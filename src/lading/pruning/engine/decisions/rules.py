"""Why a tag is kept or deleted: small rules in order, each named after the fact that it finds.

The first rule that finds its fact decides. Signatures and similar artifacts follow their subject,
not these rules. The graph finds what a kept tag needs.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache

import msgspec

from lading.kernel import durations
from lading.pruning.engine.inventory.manifest_table import InventoryManifest
from lading.pruning.engine.references import names
from lading.pruning.engine.trash import trash_tags
from lading.pruning.engine.types import (
    NO_TRASH,
    AgeFrom,
    Decision,
    PruneReason,
    References,
    Repository,
    Revision,
    Settings,
    Tag,
    TrashState,
    Verdict,
)

_SHOWN_OBJECTS_MAX = 3  # as oc: more are counted, not named
_SHOWN_ALL_BELOW = 5


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the history of one tag."""

    repository: Repository
    tag: Tag
    position: int
    revision: Revision
    manifest: InventoryManifest | None
    retained: tuple[bool, str] | None = None
    """The decision of the policy; None if no policy covers the repository or the artifact."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """All facts for a rule, besides the candidate."""

    references: References
    settings: Settings
    instant: datetime
    holds_used: Callable[[str], str] = lambda _digest: ""
    """The used digest that an image is or contains; empty if none."""
    possible_paths: Mapping[tuple[str, str], tuple[str, ...]] = {}
    """(last path component, tag) -> the paths under unknown hosts."""
    digest_paths: Mapping[str, tuple[tuple[str, bool], ...]] = {}
    kept_repositories: Mapping[str, str] = {}
    """Repositories that an unreadable reference may name, and where the reference is."""
    trash: TrashState = NO_TRASH


Rule = Callable[[Candidate, Facts], Verdict | None]


def possible_paths(
    references: References, repositories: Container[str]
) -> dict[tuple[str, str], tuple[str, ...]]:
    """Under unknown hosts, and under names of this registry if the repository does not exist."""
    found: dict[tuple[str, str], list[str]] = {}
    elsewhere = ((path, tag) for path, tag in references.tags if path not in repositories)
    for path, tag in (*references.possible_tags, *elsewhere):
        found.setdefault((path.rpartition("/")[2], tag), []).append(path)
    return {key: tuple(paths) for key, paths in found.items()}


def digest_paths(
    references: References, repositories: Container[str]
) -> dict[str, tuple[tuple[str, bool], ...]]:
    """The paths of each used digest, and whether each is a repository of this registry."""
    found: dict[str, list[tuple[str, bool]]] = {}
    for path, digest in references.images:
        found.setdefault(digest, []).append((path, path in repositories))
    return {digest: tuple(paths) for digest, paths in found.items()}


def repositories_named_by_unreadable(
    references: References, repositories: Sequence[str]
) -> dict[str, str]:
    """The repositories that an unreadable reference may name."""
    found: dict[str, str] = {}
    for mention in references.unknown:
        for name in repositories:
            if name not in found and names.may_name(mention.text, name):
                found[name] = f"{mention.found_in} has the unreadable text {mention.text[:80]!r}"
    return found


def decide(candidate: Candidate, facts: Facts, chain: Sequence[Rule]) -> Verdict:
    verdict = first_found(candidate, facts, chain)
    assert verdict is not None, "the last rule of a chain always decides"
    return verdict


def first_found(candidate: Candidate, facts: Facts, chain: Sequence[Rule]) -> Verdict | None:
    for rule in chain:
        verdict = rule(candidate, facts)
        if verdict is not None:
            return verdict
    return None


def trash_holds_it(candidate: Candidate, facts: Facts) -> Verdict | None:
    """An ImageStream of the trash: its tags begin with the date of the deletion."""
    trash = facts.trash
    if candidate.repository.name not in trash.repositories:
        return None
    date = trash_tags.date(candidate.tag.name)
    if date is None or date + trash.period > facts.instant:
        return _keep(PruneReason.IN_TRASH, "it is in the trash")
    period = durations.format_duration(trash.period)
    return _delete(PruneReason.TRASH_PERIOD_OVER, f"it was in the trash for {period}")


def repository_is_unreadable(candidate: Candidate, _: Facts) -> Verdict | None:
    opaque = candidate.repository.opaque_digests
    if not opaque:
        return None
    return _keep(PruneReason.UNREADABLE, f"manifest {opaque[0]} of its repository cannot be read")


def unreadable_text_may_name_it(candidate: Candidate, facts: Facts) -> Verdict | None:
    message = facts.kept_repositories.get(candidate.repository.name)
    return None if message is None else _keep(PruneReason.UNKNOWN_REFERENCE, message)


def tag_is_used(candidate: Candidate, facts: Facts) -> Verdict | None:
    if candidate.position:
        return None
    users = facts.references.tags.get((candidate.repository.name, candidate.tag.name))
    return _keep(PruneReason.USED, f"tag is used by {shown(users)}") if users else None


def tag_is_possibly_used(candidate: Candidate, facts: Facts) -> Verdict | None:
    """A reference with another host and the same path may be served through a mirror."""
    if candidate.position:
        return None
    name, tag = candidate.repository.name, candidate.tag.name
    for path in facts.possible_paths.get((name.rpartition("/")[2], tag), ()):
        if names.paths_end_alike(path, name):
            uses = facts.references
            users = uses.possible_tags.get((path, tag)) or uses.tags[path, tag]
            message = f"tag of {path}, which may be this repository, is used by {shown(users)}"
            return _keep(PruneReason.POSSIBLY_USED, message)
    return None


def digest_is_used(candidate: Candidate, facts: Facts) -> Verdict | None:
    """The image, or an image that it contains, is used under any name."""
    used = facts.holds_used(candidate.revision.digest)
    if not used:
        return None
    return _keep(
        PruneReason.USED_DIGEST, f"image is used by {shown(facts.references.digests.get(used, ()))}"
    )


def digest_is_used_in_stream(candidate: Candidate, facts: Facts) -> Verdict | None:
    """It is used by a name that may be that of this stream, or by the digest alone."""
    used = facts.holds_used(candidate.revision.digest)
    users = [
        user
        for path, is_exact in facts.digest_paths.get(used, ())
        if _may_be(path, candidate.repository.name, is_exact=is_exact)
        for user in facts.references.images[path, used]
    ]
    return _keep(PruneReason.USED_DIGEST, f"image is used by {shown(users)}") if users else None


def _may_be(path: str, name: str, *, is_exact: bool) -> bool:
    return path in ("", name) or (not is_exact and names.paths_end_alike(path, name))


def is_out_of_scope(candidate: Candidate, facts: Facts) -> Verdict | None:
    namespace = facts.settings.namespace
    if not namespace or candidate.repository.name.partition("/")[0] == namespace:
        return None
    return _keep(PruneReason.OUT_OF_SCOPE, f"only namespace {namespace} is pruned")


def artifact_has_no_policy(candidate: Candidate, _: Facts) -> Verdict | None:
    manifest = candidate.manifest
    if candidate.retained is not None or manifest is None or not manifest.artifact_type:
        return None
    return _keep(PruneReason.ARTIFACT, f"no policy names its type {manifest.artifact_type}")


def no_policy_is_about_it(candidate: Candidate, _: Facts) -> Verdict | None:
    if candidate.retained is not None:
        return None
    return _keep(PruneReason.NO_POLICY, "no policy is about its repository")


def policy_retains_it(candidate: Candidate, _: Facts) -> Verdict | None:
    if candidate.retained is None or not candidate.retained[0]:
        return None
    return _keep(PruneReason.RETAINED, candidate.retained[1])


def stream_is_young(candidate: Candidate, facts: Facts) -> Verdict | None:
    return _young(candidate.repository.created_at, "image stream was created", facts)


def revision_is_young(candidate: Candidate, facts: Facts) -> Verdict | None:
    return _young(_time_of(candidate, facts), facts.settings.age_from.value, facts)


def push_time_is_unknown(candidate: Candidate, facts: Facts) -> Verdict | None:
    if not facts.settings.keep_younger_than or _time_of(candidate, facts) is not None:
        return None
    return _keep(
        PruneReason.UNKNOWN_PUSH_TIME, f"it is not known when it was {facts.settings.age_from}"
    )


def image_does_not_exist(candidate: Candidate, _: Facts) -> Verdict | None:
    if candidate.manifest is not None:
        return None
    return _delete(PruneReason.NO_IMAGE, "its Image object does not exist")


def is_within_size_limit(candidate: Candidate, facts: Facts) -> Verdict | None:
    if not facts.settings.prune_over_size_limit:
        return None
    assert candidate.manifest is not None, "an item without its image went before"
    limit, size = candidate.repository.size_limit_bytes, candidate.manifest.size_bytes
    if limit is not None and size > limit:
        return None
    message = "no image limit applies" if limit is None else f"{size} bytes are within {limit}"
    return _keep(PruneReason.WITHIN_LIMIT, message)


def is_recent_revision(candidate: Candidate, facts: Facts) -> Verdict | None:
    settings = facts.settings
    if settings.prune_over_size_limit or candidate.position >= settings.keep_tag_revisions:
        return None
    message = (
        f"revision {candidate.position + 1}; the newest {settings.keep_tag_revisions} are kept"
    )
    return _keep(PruneReason.TAG_REVISIONS, message)


def is_not_retained(candidate: Candidate, _: Facts) -> Verdict | None:
    message = candidate.retained[1] if candidate.retained else "no rule keeps it"
    return _delete(PruneReason.NOT_RETAINED, message)


def is_old_revision(candidate: Candidate, facts: Facts) -> Verdict | None:
    if facts.settings.prune_over_size_limit:
        limit = candidate.repository.size_limit_bytes
        return _delete(PruneReason.OVER_LIMIT, f"larger than the image limit of {limit} bytes")
    keep = facts.settings.keep_tag_revisions
    message = f"revision {candidate.position + 1}; only the newest {keep} are kept"
    return _delete(PruneReason.OLD_REVISION, message)


def _time_of(candidate: Candidate, facts: Facts) -> datetime | None:
    if facts.settings.age_from is AgeFrom.CREATED:
        return candidate.manifest.created_at if candidate.manifest else None
    return candidate.revision.pushed_at


def _young(time: datetime | None, what: str, facts: Facts) -> Verdict | None:
    """Later than the cutoff. A time in the future is young too."""
    least = facts.settings.keep_younger_than
    if time is None or time <= facts.instant - least:
        return None
    return _keep(PruneReason.YOUNG, f"{what} {shown_age(facts.instant, time)}")


def shown_age(now: datetime, time: datetime) -> str:
    seconds = int((now - time).total_seconds())
    if seconds < 0:
        return "in the future"
    return f"{durations.format_duration(timedelta(seconds=seconds))} ago"


def shown(objects: Sequence[str]) -> str:
    if len(objects) < _SHOWN_ALL_BELOW:
        return ", ".join(objects)
    first = ", ".join(objects[:_SHOWN_OBJECTS_MAX])
    return f"{first} and {len(objects) - _SHOWN_OBJECTS_MAX} more"


@lru_cache(maxsize=4096)
def _keep(reason: PruneReason, message: str) -> Verdict:
    """Shared, because a policy has the same verdict for many tags."""
    return Verdict(Decision.KEEP, reason, message)


@lru_cache(maxsize=4096)
def _delete(reason: PruneReason, message: str) -> Verdict:
    return Verdict(Decision.DELETE, reason, message)


REGISTRY: tuple[Rule, ...] = (
    repository_is_unreadable,
    unreadable_text_may_name_it,
    tag_is_used,
    tag_is_possibly_used,
    digest_is_used,
    is_out_of_scope,
    artifact_has_no_policy,
    no_policy_is_about_it,
    revision_is_young,
    push_time_is_unknown,
    policy_retains_it,
    is_not_retained,
)
ATTACHED: tuple[Rule, ...] = (
    tag_is_used,
    tag_is_possibly_used,
    is_out_of_scope,
)
"""For a tag like `sha256-HEX.sig`. If no rule decides, it follows its subject."""
IMAGE_STREAM: tuple[Rule, ...] = (
    trash_holds_it,
    unreadable_text_may_name_it,
    is_out_of_scope,
    stream_is_young,
    revision_is_young,
    tag_is_used,
    tag_is_possibly_used,
    digest_is_used_in_stream,
    image_does_not_exist,
    is_within_size_limit,
    is_recent_revision,
    is_old_revision,
)
PREVIOUS_REVISION: tuple[Rule, ...] = (
    is_out_of_scope,
    revision_is_young,
    push_time_is_unknown,
    is_recent_revision,
    is_old_revision,
)
"""For a former image of a kept tag."""
UNTAGGED: tuple[Rule, ...] = (
    is_out_of_scope,
    artifact_has_no_policy,
    revision_is_young,
    push_time_is_unknown,
)
"""For any manifest, tagged or not. If no rule decides, the graph does."""
LEFT_OVER: tuple[Rule, ...] = (
    is_out_of_scope,
    artifact_has_no_policy,
)
"""For a manifest that an interrupted run was about to delete. Its plan checked the age."""
