"""The kubelet's credential-provider plugins, as nodes of the clouds have them.

Reads a `CredentialProviderConfig` and runs the plugins it names by the exec protocol
`credentialprovider.kubelet.k8s.io`, with the kubelet's rules for which images and how long an
answer is kept. A provider that is malformed or fails is reported and skipped; the others work. One
that cannot do without a pod's service account token is for the kubelet alone.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import yaml

from lading.adapters.programs import Program, ProgramFailed
from lading.adapters.registry import image_patterns
from lading.adapters.registry.credentials import Table
from lading.adapters.registry.endpoints import Endpoint
from lading.kernel import durations, yaml_text
from lading.kernel.errors import UNREADABLE, Malformed
from lading.kernel.values import Redacted
from lading.ports.clock import Clock
from lading.ports.registry import Credential

CONFIG_API_GROUP = "kubelet.config.k8s.io/"
# The same messages under three names; nodes of the clouds have all of them.
PROTOCOLS = tuple(
    f"credentialprovider.kubelet.k8s.io/{version}" for version in ("v1", "v1beta1", "v1alpha1")
)
RESPONSE = "CredentialProviderResponse"
KEPT_ANSWERS_MAX = 1024


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    protocol: str
    program: Program
    match_images: tuple[str, ...]
    kept_for: timedelta


class ProviderConfig(msgspec.Struct, frozen=True, kw_only=True):
    providers: tuple[Provider, ...] = ()
    problems: tuple[str, ...] = ()


class _Variable(msgspec.Struct):
    name: str
    value: str = ""


class _TokenAttributes(msgspec.Struct, rename="camel"):
    require_service_account: bool = False


class _Provider(msgspec.Struct, rename="camel"):
    name: str
    match_images: list[str]
    default_cache_duration: str
    api_version: str
    args: list[str] | None = None
    env: list[_Variable] | None = None
    token_attributes: _TokenAttributes | None = None


class _Auth(Redacted, frozen=True):
    username: str = ""
    password: str = ""


class _Response(msgspec.Struct, rename="camel"):
    kind: str = ""
    api_version: str = ""
    cache_key_type: str = ""
    cache_duration: str | None = None
    auth: dict[str, _Auth] | None = None


def parse(content: bytes, *, name: str, folder: Path) -> ProviderConfig:
    """The usable providers of a configuration; their programs are in `folder`."""
    try:
        document: Any = yaml_text.value(content)
        entries = document["providers"]
        is_ours = str(document["apiVersion"]).startswith(CONFIG_API_GROUP)
    except (yaml.YAMLError, LookupError, TypeError):
        is_ours, entries = False, []
    if not is_ours or not isinstance(entries, list):
        expected = f"expected a CredentialProviderConfig of {CONFIG_API_GROUP}v1"
        return ProviderConfig(problems=(f"{name}: {expected}; ignored",))
    providers, problems = [], []
    for position, entry in enumerate(entries):
        try:
            providers.append(_provider(entry, folder))
        except (msgspec.ValidationError, Malformed) as error:
            problems.append(f"{name}: providers[{position}]: {error}; ignored")
    return ProviderConfig(providers=tuple(providers), problems=tuple(problems))


def _provider(entry: object, folder: Path) -> Provider:
    raw = msgspec.convert(entry, _Provider)
    if "/" in raw.name or raw.name in ("", ".", ".."):
        raise Malformed(what="provider name", text=raw.name, reason="expected a file name")
    if raw.api_version not in PROTOCOLS:
        expected = f"expected one of {', '.join(PROTOCOLS)}"
        raise Malformed(what="apiVersion", text=raw.api_version, reason=expected)
    if not raw.match_images:
        raise Malformed(what="matchImages", text=raw.match_images, reason="expected at least one")
    if raw.token_attributes and raw.token_attributes.require_service_account:
        reason = "it needs the service account token of a pod, which only the kubelet has"
        raise Malformed(what="provider for use without a pod", text=raw.name, reason=reason)
    return Provider(
        name=raw.name,
        protocol=raw.api_version,
        program=Program(
            command=(str(folder / raw.name), *(raw.args or ())),
            environment={variable.name: variable.value for variable in raw.env or ()},
        ),
        match_images=tuple(image_patterns.normalised(glob) for glob in raw.match_images),
        kept_for=durations.parse(raw.default_cache_duration),
    )


class ProviderAnswer(Redacted, frozen=True, kw_only=True):
    shown = ("cache_key_type", "kept_for")

    cache_key_type: str
    kept_for: timedelta
    credential_by_pattern: Mapping[str, Credential]


class _CachedAnswer(Redacted, frozen=True):
    shown = ("until",)

    credential_by_pattern: Mapping[str, Credential]
    until: float


class ProviderSource:
    """What one provider gives; callers that come at once share one run."""

    def __init__(self, provider: Provider, clock: Clock, report: Callable[[str], None]) -> None:
        self._provider = provider
        self._clock = clock
        self._report = report
        self._kept: OrderedDict[str, _CachedAnswer] = OrderedDict()
        self._turn = asyncio.Lock()

    async def find(self, endpoint: Endpoint) -> tuple[Credential, ...]:
        globs = self._provider.match_images
        if not any(image_patterns.matches(glob, endpoint.image) for glob in globs):
            return ()
        async with self._turn:
            found = self._still_kept(endpoint)
            if found is None:
                found = await self._ask(endpoint)
        return await Table(found).find(endpoint)

    def forget(self, endpoint: Endpoint) -> bool:
        dropped = [self._kept.pop(key, None) for key in _keys(endpoint)]
        return any(kept is not None for kept in dropped)

    def _still_kept(self, endpoint: Endpoint) -> Mapping[str, Credential] | None:
        now = self._clock.monotonic()
        for key in _keys(endpoint):
            kept = self._kept.get(key)
            if kept is not None and kept.until > now:
                return kept.credential_by_pattern
        return None

    async def _ask(self, endpoint: Endpoint) -> Mapping[str, Credential]:
        request = {
            "apiVersion": self._provider.protocol,
            "kind": "CredentialProviderRequest",
            "image": endpoint.image,
        }
        try:
            output = await self._provider.program.run(msgspec.json.encode(request))
            answer = parse_answer(output, self._provider)
        except (ProgramFailed, Malformed) as error:
            self._report(f"{endpoint.image}: {error}")
            return {}
        self._keep(answer, endpoint)
        return answer.credential_by_pattern

    def _keep(self, answer: ProviderAnswer, endpoint: Endpoint) -> None:
        key_by_type = dict(zip(("Image", "Registry", "Global"), _keys(endpoint), strict=True))
        key = key_by_type.get(answer.cache_key_type)
        if key is None:
            self._report(
                f"provider {self._provider.name}: cacheKeyType {answer.cache_key_type[:40]!r} is"
                f" none of {', '.join(key_by_type)}; the answer is used once"
            )
            return
        until = self._clock.monotonic() + answer.kept_for.total_seconds()
        self._kept[key] = _CachedAnswer(answer.credential_by_pattern, until)
        self._kept.move_to_end(key)
        while len(self._kept) > KEPT_ANSWERS_MAX:
            self._kept.popitem(last=False)


def _keys(endpoint: Endpoint) -> tuple[str, str, str]:
    """The cache keys of an image, of its registry, and of everything."""
    return f"image {endpoint.image}", f"registry {endpoint.host}", "everything"


def parse_answer(output: bytes, provider: Provider) -> ProviderAnswer:
    """What a provider printed; raises Malformed, which does not show it."""
    what = f"answer of provider {provider.name}"
    try:
        response = msgspec.json.decode(output, type=_Response)
    except UNREADABLE as error:
        raise Malformed(what=what, text="(hidden)", reason="expected JSON") from error
    answered, expected = (response.api_version, response.kind), (provider.protocol, RESPONSE)
    if answered != expected:
        raise Malformed(what=what, text=answered, reason=f"expected {' '.join(expected)}")
    duration = response.cache_duration
    return ProviderAnswer(
        cache_key_type=response.cache_key_type,
        kept_for=provider.kept_for if duration is None else durations.parse(duration),
        credential_by_pattern={
            image_patterns.normalised(pattern): Credential(
                username=auth.username, password=auth.password
            )
            for pattern, auth in (response.auth or {}).items()
        },
    )
