"""The spec of an ImagePruner with its defaults, or its errors. Pure.

The schema of the kind may belong to another owner, so every field is checked here too. If two
forms of a setting disagree, the one that keeps more images wins.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

import msgspec

from lading.api import imageregistry, pruned_registries
from lading.api.imageregistry import ImagePrunerSpec, LogLevel, PrunerHistory
from lading.api.pruned_registries import PrunedRegistry
from lading.kernel import cron, durations
from lading.kernel.cron import EverySchedule
from lading.kernel.errors import Malformed
from lading.pruning.operator.types import EffectiveSpec

DEFAULT_RESOURCES: Mapping[str, Any] = {"requests": {"cpu": "100m", "memory": "256Mi"}}
_LOG_LEVELS = tuple(map(str, LogLevel))
_PATH = re.compile(r"(?P<message>.*?)(?: - at `\$(?P<path>.*)`)?", re.DOTALL)


class InvalidSpec(Exception):
    """The message names the fields."""


def effective(document: Mapping[str, Any]) -> EffectiveSpec:
    spec = _decoded(document)
    problems = tuple(_problems(spec))
    if problems:
        raise InvalidSpec(" ".join(f"{one}." for one in problems))
    disagreements: list[str] = []
    history = spec.history or PrunerHistory()
    return EffectiveSpec(
        schedule=spec.schedule or imageregistry.SCHEDULE_DEFAULT,
        suspend=spec.suspend,
        keep_tag_revisions=_or(spec.keep_tag_revisions, imageregistry.KEEP_TAG_REVISIONS_DEFAULT),
        keep_younger_than=_keep_younger_than(spec, disagreements),
        starting_deadline_seconds=_or(
            spec.starting_deadline_seconds, imageregistry.STARTING_DEADLINE_SECONDS_DEFAULT
        ),
        successful_jobs_history_limit=_limit(
            "successfulJobsHistoryLimit",
            history.successful_jobs_history_limit,
            spec.successful_jobs_history_limit,
            disagreements,
        ),
        failed_jobs_history_limit=_limit(
            "failedJobsHistoryLimit",
            history.failed_jobs_history_limit,
            spec.failed_jobs_history_limit,
            disagreements,
        ),
        resources=spec.resources or DEFAULT_RESOURCES,
        affinity=spec.affinity,
        node_selector=spec.node_selector,
        tolerations=spec.tolerations,
        log_level=spec.log_level,
        registries=spec.registries,
        disagreements=tuple(disagreements),
    )


def _decoded(document: Mapping[str, Any]) -> ImagePrunerSpec:
    given = {name: value for name, value in document.items() if value is not None}
    level = given.get("logLevel", "")
    if level not in _LOG_LEVELS:
        raise InvalidSpec(f"spec.logLevel: {level!r} must be Normal, Debug, Trace or TraceAll.")
    try:
        return msgspec.convert(given, ImagePrunerSpec)
    except msgspec.ValidationError as error:
        found = _PATH.fullmatch(str(error))
        assert found is not None, "the pattern matches any text"
        raise InvalidSpec(f"spec{found['path'] or ''}: {found['message']}.") from None


def _problems(spec: ImagePrunerSpec) -> Iterator[str]:
    yield from _schedule(spec)
    yield from _below_minimum("keepTagRevisions", spec.keep_tag_revisions, 0)
    minimum = imageregistry.STARTING_DEADLINE_SECONDS_MIN
    yield from _below_minimum("startingDeadlineSeconds", spec.starting_deadline_seconds, minimum)
    history = spec.history or PrunerHistory()
    limits = {
        "history.successfulJobsHistoryLimit": history.successful_jobs_history_limit,
        "history.failedJobsHistoryLimit": history.failed_jobs_history_limit,
        "successfulJobsHistoryLimit": spec.successful_jobs_history_limit,
        "failedJobsHistoryLimit": spec.failed_jobs_history_limit,
    }
    for name, value in limits.items():
        yield from _below_minimum(name, value, 1)
    if isinstance(spec.keep_younger_than, int):
        yield from _below_minimum("keepYoungerThan", spec.keep_younger_than, 0)
    if spec.keep_younger_than is not None:
        yield from _duration("keepYoungerThan", _text(spec.keep_younger_than))
    if spec.keep_younger_than_duration:
        yield from _duration("keepYoungerThanDuration", spec.keep_younger_than_duration)
    yield from _registries(spec.registries)


def _schedule(spec: ImagePrunerSpec) -> Iterator[str]:
    """The CronJob controller counts `@every` from the deadline, if that is later."""
    try:
        schedule = cron.parse(spec.schedule or imageregistry.SCHEDULE_DEFAULT)
    except Malformed as error:
        yield f"spec.schedule: {spec.schedule!r}: {error.reason}"
        return
    deadline = _or(spec.starting_deadline_seconds, imageregistry.STARTING_DEADLINE_SECONDS_DEFAULT)
    if isinstance(schedule, EverySchedule) and schedule.delay.total_seconds() >= deadline:
        yield (
            f"spec.startingDeadlineSeconds: {deadline} must be longer than the period of "
            f"{spec.schedule!r}; otherwise Kubernetes never starts a Job"
        )


def _registries(registries: tuple[PrunedRegistry, ...]) -> Iterator[str]:
    names = [one.name for one in registries]
    for name in sorted({one for one in names if names.count(one) > 1}):
        yield f"spec.registries: the name {name} is used twice"
    for one in registries:
        yield from _registry(one, f"registries: {one.name}")
    if len(registries) > imageregistry.REGISTRIES_MAX:
        yield f"spec.registries: at most {imageregistry.REGISTRIES_MAX} are pruned"


def _registry(one: PrunedRegistry, place: str) -> Iterator[str]:
    if one.name == pruned_registries.NAME_TAKEN:
        yield f"spec.{place}: the name is reserved"
    if len(one.name) > pruned_registries.NAME_LENGTH_MAX:
        yield f"spec.{place}: the name is longer than {pruned_registries.NAME_LENGTH_MAX}"
    yield from _matches(place, one.name, pruned_registries.NAME, pruned_registries.NAME_EXPECTED)
    yield from _is_url(f"{place}: url", one.url)
    if one.storage is not None:
        expected = pruned_registries.STORAGE_RULE.message
        pattern = pruned_registries.STORAGE
        yield from _matches(f"{place}: storage.url", one.storage.url, pattern, expected)
        if one.storage.claim_name and not one.storage.url.startswith("file:///"):
            yield f"spec.{place}: storage.claimName requires a url that begins with file:///"
    if one.trash is not None:
        yield from _duration(f"{place}: trash.period", one.trash.period)
    if one.sweep is not None:
        if one.storage is None:
            yield f"spec.{place}: sweep requires storage"
        yield from _duration(f"{place}: sweep.grace", one.sweep.grace)
        for replica in one.sweep.replicas:
            yield from _is_url(f"{place}: sweep.replicas", replica)


def _is_url(name: str, text: str) -> Iterator[str]:
    yield from _matches(name, text, pruned_registries.URL, pruned_registries.URL_RULE.message)


def _matches(name: str, text: str, pattern: str, expected: str) -> Iterator[str]:
    if re.search(pattern, text) is None:
        yield f"spec.{name}: {text!r} {expected}"


def _below_minimum(name: str, value: int | None, minimum: int) -> Iterator[str]:
    if value is not None and value < minimum:
        yield f"spec.{name}: {value} must be greater than or equal to {minimum}"


def _duration(name: str, text: str) -> Iterator[str]:
    try:
        if durations.parse(text) < timedelta(0):
            yield f"spec.{name}: {text!r} must not be negative"
    except Malformed as error:
        yield f"spec.{name}: {text!r}: {error.reason}"


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def _keep_younger_than(spec: ImagePrunerSpec, disagreements: list[str]) -> str:
    given = {
        name: _text(value)
        for name, value in (
            ("keepYoungerThan", spec.keep_younger_than),
            ("keepYoungerThanDuration", spec.keep_younger_than_duration or None),
        )
        if value is not None
    }
    if not given:
        return imageregistry.KEEP_YOUNGER_THAN_DEFAULT
    longest = max(given.values(), key=durations.parse)
    if len({durations.parse(one) for one in given.values()}) > 1:
        listed = " and ".join(f"{name} {text}" for name, text in given.items())
        disagreements.append(f"spec has {listed}; {longest} keeps more and is used.")
    return longest


def _text(value: int | str) -> str:
    """Nanoseconds are rounded up to microseconds, which keeps more images."""
    if isinstance(value, str):
        return value
    return durations.format_duration(timedelta(microseconds=-(-value // 1000)))


def _limit(name: str, nested: int | None, flat: int | None, disagreements: list[str]) -> int:
    given = [one for one in (nested, flat) if one is not None]
    if len(set(given)) > 1:
        disagreements.append(
            f"spec has history.{name} {nested} and {name} {flat}; {max(given)} keeps more and "
            "is used."
        )
    return max(given, default=imageregistry.HISTORY_DEFAULT)
