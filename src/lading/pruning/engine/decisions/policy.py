"""The policy file of a plain registry: which tags of which repositories to keep. Pure.

The first policy with a glob that matches the repository decides, and in it the first entry of
`keepTags` with a pattern that matches the tag. Without a policy for a repository, or without
`keepTags`, every tag is kept. A tag is deleted if no entry matches it, or if the conditions of the
matching entry do not hold.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Any

import msgspec
import re2

from lading.kernel import durations
from lading.kernel.errors import Malformed

_PATTERN_CHARACTERS_MAX = 1000
_SEMVER = re.compile(
    r"v?(0|[1-9]\d{0,18})\.(0|[1-9]\d{0,18})(?:\.(0|[1-9]\d{0,18}))?(?:-([0-9A-Za-z.-]+))?(?:\+.*)?"
)


class OrderBy(StrEnum):
    PUSHED = "pushed"
    SEMVER = "semver"


class Match(StrEnum):
    ANY = "any"
    ALL = "all"


class KeepTags(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    patterns: tuple[str, ...] = (".*",)
    newest: int | None = None
    by: OrderBy = OrderBy.PUSHED
    younger_than: str | None = None
    match: Match = Match.ANY

    @property
    def is_unconditional(self) -> bool:
        return self.newest is None and self.younger_than is None


class RepositoryPolicy(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    repositories: tuple[str, ...]
    keep_tags: tuple[KeepTags, ...] | None = None
    artifact_types: tuple[str, ...] = ()
    """Types of artifacts other than images (Helm charts) that this policy includes."""


class Policy(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    policies: tuple[RepositoryPolicy, ...] = ()

    def of(self, repository: str) -> RepositoryPolicy | None:
        return next(
            (
                policy
                for policy in self.policies
                if any(_glob(glob).fullmatch(repository) for glob in policy.repositories)
            ),
            None,
        )


WHAT = "prune policy"
NO_POLICY = Policy()


def parse(document: Any) -> Policy:
    """The policy of a decoded YAML or JSON document."""
    try:
        policy = msgspec.convert(document, type=Policy)
    except msgspec.ValidationError as error:
        raise _malformed(str(error)) from error
    for position, one in enumerate(policy.policies):
        _check(one, f"policies[{position}]")
    return policy


def _check(policy: RepositoryPolicy, where: str) -> None:
    if not policy.repositories:
        raise _malformed(f"{where}.repositories must name at least one glob, such as 'team/**'")
    for position, entry in enumerate(policy.keep_tags or ()):
        place = f"{where}.keepTags[{position}]"
        if entry.newest is not None and entry.newest < 0:
            raise _malformed(f"{place}.newest must be 0 or more")
        if entry.younger_than is not None and durations.parse(entry.younger_than) < timedelta(0):
            raise _malformed(f"{place}.youngerThan must not be negative")
        for pattern in entry.patterns:
            _compiled(pattern, place)


def verdicts(
    policy: RepositoryPolicy, pushed_at: Mapping[str, datetime | None], now: datetime
) -> dict[str, tuple[bool, str]]:
    """Whether each tag is kept, and by which condition."""
    if policy.keep_tags is None:
        return dict.fromkeys(pushed_at, (True, "its policy has no keepTags"))
    found: dict[str, tuple[bool, str]] = {}
    for position, entry in enumerate(policy.keep_tags):
        patterns = [_compiled(pattern, "patterns") for pattern in entry.patterns]
        matching = [
            tag
            for tag in pushed_at
            if tag not in found and any(pattern.fullmatch(tag) for pattern in patterns)
        ]
        found |= _of_entry(entry, f"keepTags[{position}]", matching, pushed_at, now)
    unmatched = (False, "no entry of keepTags matches it")
    return {tag: found.get(tag, unmatched) for tag in pushed_at}


def _of_entry(
    entry: KeepTags,
    where: str,
    tags: Sequence[str],
    pushed_at: Mapping[str, datetime | None],
    now: datetime,
) -> dict[str, tuple[bool, str]]:
    if entry.is_unconditional:
        return dict.fromkeys(tags, (True, f"{where} matches it"))
    conditions: list[tuple[str, set[str]]] = []
    alike: set[str] = set()
    if entry.newest is not None:
        text = f"the newest {entry.newest} by {entry.by}"
        newest, alike = _newest(entry, tags, pushed_at)
        conditions.append((text, newest | alike))
    if entry.younger_than is not None:
        limit = now - durations.parse(entry.younger_than)
        young = {tag for tag in tags if (time := pushed_at[tag]) is None or time > limit}
        conditions.append((f"younger than {entry.younger_than}", young))
    decide = any if entry.match is Match.ANY else all
    text = f" {'or' if entry.match is Match.ANY else 'and'} ".join(text for text, _ in conditions)
    kept, gone = (True, f"{where}: {text}"), (False, f"{where}: not {text}")
    tied = (True, f"{where}: {text}; {len(alike)} tags have no order by {entry.by}: all are kept")
    return {
        tag: (tied if tag in alike else kept)
        if decide(tag in holding for _, holding in conditions)
        else gone
        for tag in tags
    }


def _newest(
    entry: KeepTags, tags: Sequence[str], pushed_at: Mapping[str, datetime | None]
) -> tuple[set[str], set[str]]:
    """The newest, and the tags that have no order: their names must not decide.

    A tag without a push time or a version has none, and tags with the same one have none. So all
    tags are kept that one run saw first at the same time, if one of them is among the newest.
    """
    keys: dict[str, Any] = (
        {tag: version(tag) for tag in tags}
        if entry.by is OrderBy.SEMVER
        else {tag: pushed_at[tag] for tag in tags}
    )
    alike = {tag for tag, key in keys.items() if key is None}
    ordered = sorted((key for key in keys.values() if key is not None), reverse=True)
    wanted = ordered[: entry.newest]
    if not wanted:
        return set(), alike
    last = wanted[-1]
    newest = {tag for tag, key in keys.items() if key is not None and key >= last}
    if len(newest) > len(wanted):
        alike |= {tag for tag in newest if keys[tag] == last}
    return newest, alike


def version(tag: str) -> tuple[Any, ...] | None:
    """The precedence of a semantic version; a pre-release comes before its release."""
    match = _SEMVER.fullmatch(tag)
    if match is None:
        return None
    release = tuple(int(part or 0) for part in match.groups()[:3])
    if match[4] is None:
        return (*release, 1, ())
    parts = tuple((0, int(p), "") if p.isdigit() else (1, 0, p) for p in match[4].split("."))
    return (*release, 0, parts)


@lru_cache(maxsize=4096)
def _glob(text: str) -> Any:
    """`*` stays within a path component, `**` does not."""
    if len(text) > _PATTERN_CHARACTERS_MAX:
        raise _malformed("a glob of repositories is too long")
    parts = re.split(r"(\*\*/?|\*|\?)", text)
    meaning = {"**": ".*", "**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]"}
    return _linear("".join(meaning.get(part, re2.escape(part)) for part in parts), "repositories")


@lru_cache(maxsize=4096)
def _compiled(pattern: str, where: str) -> Any:
    if len(pattern) > _PATTERN_CHARACTERS_MAX:
        raise _malformed(f"{where}: a pattern is longer than {_PATTERN_CHARACTERS_MAX} characters")
    return _linear(pattern, where)


def _linear(pattern: str, where: str) -> Any:
    """RE2 matches in linear time and bounded memory, for every pattern."""
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = f"{where}: {pattern!r} is no regular expression of RE2: {_text(error)}"
        raise _malformed(reason) from error


def _text(error: Exception) -> str:
    """RE2 gives its messages as bytes."""
    message = error.args[0] if error.args else ""
    return message.decode(errors="replace") if isinstance(message, bytes) else str(message)


def _malformed(reason: str) -> Malformed:
    return Malformed(what=WHAT, text="policy", reason=reason)
