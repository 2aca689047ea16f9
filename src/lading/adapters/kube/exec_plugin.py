"""Runs a credential plugin (client.authentication.k8s.io v1 and v1beta1) and keeps what it gave.

The plugin is asked again when its credential has expired, or after the server refused it. No
shell is involved; what it prints on stderr is shown when it fails, what it prints on stdout never.
"""

import asyncio
import sys
from datetime import datetime

import msgspec

from lading.adapters.kube.connection import ExecCredentialStatus, ExecPlugin
from lading.adapters.kube.errors import CredentialsFailed
from lading.adapters.programs import Program, ProgramFailed
from lading.kernel import errors as kernel_errors
from lading.kernel.objects import Model
from lading.ports.clock import Clock

PLUGIN_SECONDS_MAX = 60.0
"""A browser log-in takes its time; a plugin that hangs must still not hang us for ever."""


class _ExecCredential(Model, frozen=True, kw_only=True):
    api_version: str = ""
    kind: str = ""
    status: ExecCredentialStatus | None = None


class PluginCredentials:
    """The newest credential of one plugin; callers that come at once share one run."""

    def __init__(self, plugin: ExecPlugin, clock: Clock) -> None:
        self._plugin = plugin
        self._clock = clock
        self._status: ExecCredentialStatus | None = None
        self._turn = asyncio.Lock()

    async def current(self) -> ExecCredentialStatus:
        async with self._turn:
            if self._status is None or self._has_expired(self._status):
                self._status = await _run(self._plugin)
            return self._status

    def forget(self) -> None:
        self._status = None

    def _has_expired(self, status: ExecCredentialStatus) -> bool:
        if not status.expiration_timestamp:
            return False
        return datetime.fromisoformat(status.expiration_timestamp) <= self._clock.now()


async def _run(plugin: ExecPlugin) -> ExecCredentialStatus:
    interactive = plugin.interactive_mode != "Never" and sys.stdin.isatty()
    if plugin.interactive_mode == "Always" and not interactive:
        raise _failure(plugin, "it needs a terminal (interactiveMode: Always) and there is none")
    program = Program(
        command=(plugin.command, *plugin.arguments),
        environment=_environment(plugin, interactive),
        interactive=interactive,
    )
    try:
        return _read(plugin, await program.run(seconds_max=PLUGIN_SECONDS_MAX))
    except ProgramFailed as error:
        raise _failure(plugin, f"it {error.reason}") from error


def _environment(plugin: ExecPlugin, interactive: bool) -> dict[str, str]:
    spec: dict[str, object] = {"interactive": interactive}
    if plugin.cluster is not None:
        spec["cluster"] = dict(plugin.cluster)
    information = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    encoded = msgspec.json.encode(information).decode()
    return {**plugin.environment, "KUBERNETES_EXEC_INFO": encoded}


def _read(plugin: ExecPlugin, stdout: bytes) -> ExecCredentialStatus:
    try:
        credential = msgspec.json.decode(stdout, type=_ExecCredential)
    except kernel_errors.UNREADABLE as error:
        raise _failure(plugin, f"it printed no ExecCredential: {error}") from error
    if credential.kind != "ExecCredential" or credential.api_version != plugin.api_version:
        found = f"{credential.kind!r} of {credential.api_version!r}"
        wanted = f"'ExecCredential' of {plugin.api_version!r}"
        raise _failure(plugin, f"it printed {found}, expected {wanted}")
    status = credential.status
    if status is None or not (status.token or status.client_certificate_data):
        raise _failure(plugin, "its status has neither token nor clientCertificateData")
    if bool(status.client_certificate_data) != bool(status.client_key_data):
        raise _failure(plugin, "clientCertificateData and clientKeyData must come together")
    _check_expiration(plugin, status)
    return status


def _check_expiration(plugin: ExecPlugin, status: ExecCredentialStatus) -> None:
    if not status.expiration_timestamp:
        return
    try:
        moment = datetime.fromisoformat(status.expiration_timestamp)
    except ValueError as error:
        raise _failure(plugin, "its expirationTimestamp is not a time of RFC 3339") from error
    if moment.tzinfo is None:
        raise _failure(plugin, "its expirationTimestamp lacks a time zone")


def _failure(plugin: ExecPlugin, problem: str) -> CredentialsFailed:
    hint = f"\n{plugin.install_hint}" if plugin.install_hint else ""
    return CredentialsFailed(
        f"{plugin.where}: the credential plugin {plugin.command!r} failed: {problem}{hint}"
    )
