"""The headers and the certificate that prove who we are, fresh for every request.

A token file is read again now and then, because somebody rotates it; a plugin decides by itself
how long its credential is good. `forget` is called when the server refused what we sent.
"""

import base64
from collections.abc import Iterator
from pathlib import Path

from lading.adapters.kube.connection import (
    Certificate,
    Impersonation,
    User,
)
from lading.adapters.kube.errors import CredentialsFailed
from lading.adapters.kube.exec_plugin import PluginCredentials
from lading.ports.clock import Clock

TOKEN_FILE_SECONDS = 60.0
"""How long a token that was read from a file is used; client-go waits as long."""
Headers = tuple[tuple[str, str], ...]


class Credentials:
    """Everything about one user."""

    def __init__(self, user: User, clock: Clock) -> None:
        self._user = user
        self._plugin = PluginCredentials(user.exec_plugin, clock) if user.exec_plugin else None
        self._token_file = _TokenFile(user.token_file, clock) if user.token_file else None
        self._impersonation = tuple(_impersonation_headers(user.impersonation))

    @property
    def can_be_refreshed(self) -> bool:
        return self._plugin is not None or self._token_file is not None

    def forget(self) -> None:
        if self._plugin is not None:
            self._plugin.forget()
        if self._token_file is not None:
            self._token_file.forget()

    async def headers(self) -> Headers:
        authorization = await self._authorization()
        own = (("authorization", authorization),) if authorization else ()
        return own + self._impersonation

    async def certificate(self) -> Certificate | None:
        if self._plugin is not None:
            status = await self._plugin.current()
            if status.client_certificate_data:
                return Certificate(
                    certificate_pem=status.client_certificate_data, key_pem=status.client_key_data
                )
        return self._user.certificate

    async def _authorization(self) -> str:
        if self._token_file is not None:
            return f"Bearer {self._token_file.current()}"
        if self._user.token:
            return f"Bearer {self._user.token}"
        if self._user.username:
            pair = f"{self._user.username}:{self._user.password}"
            return f"Basic {base64.b64encode(pair.encode()).decode()}"
        if self._plugin is not None:
            token = (await self._plugin.current()).token
            return f"Bearer {token}" if token else ""
        return ""


class _TokenFile:
    def __init__(self, path: str, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._token = ""
        self._read_at = 0.0

    def current(self) -> str:
        now = self._clock.monotonic()
        if not self._token or now - self._read_at >= TOKEN_FILE_SECONDS:
            self._token = self._read()
            self._read_at = now
        return self._token

    def forget(self) -> None:
        self._token = ""

    def _read(self) -> str:
        try:
            token = Path(self._path).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise CredentialsFailed(f"{self._path}: the token cannot be read: {error}") from error
        if not token:
            raise CredentialsFailed(f"{self._path}: the file is empty, expected a bearer token")
        return token


def _impersonation_headers(impersonation: Impersonation | None) -> Iterator[tuple[str, str]]:
    if impersonation is None:
        return
    yield "impersonate-user", impersonation.user
    if impersonation.uid:
        yield "impersonate-uid", impersonation.uid
    for group in impersonation.groups:
        yield "impersonate-group", group
    for key, values in impersonation.extra.items():
        for value in values:
            yield f"impersonate-extra-{key}", value
