"""The headers and the client certificate of each request.

A token file is read again now and then, because it is rotated. A plugin says how long its
credential is valid. A refused credential is dropped and obtained again.
"""

import base64
import contextlib
from collections.abc import Iterator
from pathlib import Path

from lading.adapters.kube.connection import (
    Certificate,
    Impersonation,
    User,
)
from lading.adapters.kube.errors import CredentialsFailed
from lading.adapters.kube.exec_plugin import PluginCredentials
from lading.kernel.values import Redacted
from lading.ports.clock import Clock

TOKEN_FILE_SECONDS = 60.0
"""How long a token that was read from a file is used; client-go waits as long."""
Headers = tuple[tuple[str, str], ...]


class Proof(Redacted, frozen=True, kw_only=True):
    """The credentials of one request."""

    shown = ("certificate",)

    headers: Headers
    certificate: Certificate | None


class Credentials:
    """Everything about one user."""

    def __init__(self, user: User, clock: Clock) -> None:
        self._user = user
        self._plugin = PluginCredentials(user.exec_plugin, clock) if user.exec_plugin else None
        self._token_file = _TokenFile(user.token_file, clock) if user.token_file else None
        self._impersonation = tuple(_impersonation_headers(user.impersonation))
        self._newest: Proof | None = None

    @property
    def can_be_refreshed(self) -> bool:
        return self._plugin is not None or self._token_file is not None

    def forget(self, refused: Proof) -> None:
        """If many requests with the same credential are refused, only the first renews it."""
        if refused != self._newest:
            return
        if self._plugin is not None:
            self._plugin.forget()
        if self._token_file is not None:
            self._token_file.forget()

    async def proof(self) -> Proof:
        issued = await self._plugin.current() if self._plugin is not None else None
        token = self._token_file.current() if self._token_file is not None else self._user.token
        certificate = self._user.certificate
        if issued is not None and issued.client_certificate_data:
            certificate = Certificate(
                certificate_pem=issued.client_certificate_data, key_pem=issued.client_key_data
            )
        authorization = self._authorization(token or (issued.token if issued else ""))
        self._newest = Proof(headers=authorization + self._impersonation, certificate=certificate)
        return self._newest

    def _authorization(self, token: str) -> Headers:
        if token:
            return (("authorization", f"Bearer {token}"),)
        if self._user.username:
            pair = f"{self._user.username}:{self._user.password}"
            return (("authorization", f"Basic {base64.b64encode(pair.encode()).decode()}"),)
        return ()


class _TokenFile:
    def __init__(self, path: str, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._token = ""
        self._read_at = 0.0

    def current(self) -> str:
        """Keeps the old token if the file cannot be read: it may just be replaced."""
        now = self._clock.monotonic()
        if not self._token:
            self._token, self._read_at = self._read(), now
        elif now - self._read_at >= TOKEN_FILE_SECONDS:
            with contextlib.suppress(CredentialsFailed):
                self._token, self._read_at = self._read(), now
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
