"""Docker's credential helpers: `docker-credential-NAME get` with the host on stdin.

Answers are kept for a while, because a helper may be slow; a refusal by the registry drops them.
A helper that fails is reported and counts as having nothing.
"""

import asyncio
from collections.abc import Callable

import msgspec

from lading.adapters.programs import Program, ProgramFailed
from lading.adapters.registry import auth_files, image_patterns
from lading.adapters.registry.auth_files import AuthFile
from lading.adapters.registry.endpoints import Endpoint
from lading.kernel.errors import UNREADABLE
from lading.kernel.references import DOCKER_HUB, DOCKER_HUB_INDEX
from lading.kernel.values import Redacted
from lading.ports.clock import Clock
from lading.ports.registry import Credential

KEPT_SECONDS = 300.0
_DOCKER_HUB_KEY = f"https://{DOCKER_HUB_INDEX}/v1/"  # the name under which docker stores Docker Hub

_NOTHING_STORED = b"credentials not found"  # how docker's helpers say so, on stdout


class _Answer(Redacted, frozen=True, rename="pascal"):
    username: str = ""
    secret: str = ""


class _CachedAnswer(msgspec.Struct, frozen=True):
    credentials: tuple[Credential, ...]
    until: float


class HelperSource:
    """The credentials that the helpers of an auth file know."""

    def __init__(self, file: AuthFile, clock: Clock, report: Callable[[str], None]) -> None:
        self._file = file
        self._clock = clock
        self._report = report
        self._kept: dict[tuple[str, str], _CachedAnswer] = {}
        self._turn = asyncio.Lock()

    async def find(self, endpoint: Endpoint) -> tuple[Credential, ...]:
        key = self._key(endpoint)
        if key is None:
            return ()
        async with self._turn:
            kept = self._kept.get(key)
            if kept is None or kept.until <= self._clock.monotonic():
                credentials = await self._ask(helper=key[0], server=key[1])
                kept = _CachedAnswer(credentials, self._clock.monotonic() + KEPT_SECONDS)
                self._kept[key] = kept
            return kept.credentials

    def forget(self, endpoint: Endpoint) -> bool:
        key = self._key(endpoint)
        return key is not None and self._kept.pop(key, None) is not None

    def _key(self, endpoint: Endpoint) -> tuple[str, str] | None:
        """The helper to ask, and the server name to ask it for."""
        fitting = [
            pattern
            for pattern in self._file.helper_by_pattern
            if image_patterns.matches(pattern, endpoint.image)
        ]
        if fitting:
            pattern = max(fitting, key=image_patterns.specificity)
            return self._file.helper_by_pattern[pattern], _server(pattern)
        if self._file.default_helper:
            return self._file.default_helper, _server(endpoint.host)
        return None

    async def _ask(self, *, helper: str, server: str) -> tuple[Credential, ...]:
        if "/" in helper:
            self._report(f"credential helper {helper[:120]!r}: the name must not hold a '/'")
            return ()
        program = Program(command=(f"docker-credential-{helper}", "get"))
        try:
            answer = msgspec.json.decode(await program.run(server.encode()), type=_Answer)
        except ProgramFailed as error:
            if _NOTHING_STORED not in error.output:
                self._report(f"{server}: {error}")
            return ()
        except UNREADABLE:
            self._report(f"{server}: credential helper {helper!r} answered no JSON credential")
            return ()
        return (auth_files.from_secret(answer.username, answer.secret),)


def _server(pattern: str) -> str:
    return _DOCKER_HUB_KEY if pattern == DOCKER_HUB else pattern
