"""The entries of a kubeconfig: a cluster and a user, read field by field into a `Connection`.

Files that an entry names are read here, except the token file, which rotates. An error names the
file and the field; values are never shown, since most of them are secret.
"""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from lading.adapters.kube.connection import (
    Certificate,
    ConfigurationError,
    Connection,
    ExecPlugin,
    Impersonation,
    Trust,
    User,
)

EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
EXEC_EXTENSION = "client.authentication.k8s.io/exec"
_INTERACTIVE_MODES = ("Never", "IfAvailable", "Always")
_SCHEMES = ("https", "http")
_PEM_BEGIN = "-----BEGIN "


class KubeconfigEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One mapping of a kubeconfig, and where it stands."""

    file: Path
    where: str
    fields: Mapping[str, Any]

    def error(self, field: str, problem: str) -> ConfigurationError:
        return ConfigurationError(f"{self.file}: {self.where}.{field} {problem}")

    def text(self, field: str) -> str:
        value = self.fields.get(field)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.error(field, f"must be a string, found {type(value).__name__}")
        return value

    def required_text(self, field: str) -> str:
        text = self.text(field)
        if not text:
            raise self.error(field, "is required")
        return text

    def flag(self, field: str) -> bool:
        value = self.fields.get(field)
        if not isinstance(value, bool | None):
            raise self.error(field, f"must be true or false, found {type(value).__name__}")
        return bool(value)

    def texts(self, field: str) -> tuple[str, ...]:
        values = self.fields.get(field) or []
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise self.error(field, "must be a list of strings")
        return tuple(values)

    def part(self, field: str) -> "KubeconfigEntry | None":
        value = self.fields.get(field)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.error(field, "must be a mapping")
        return KubeconfigEntry(file=self.file, where=f"{self.where}.{field}", fields=value)

    def parts(self, field: str) -> "list[KubeconfigEntry]":
        values = self.fields.get(field) or []
        if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
            raise self.error(field, "must be a list of mappings")
        return [
            KubeconfigEntry(file=self.file, where=f"{self.where}.{field}[{index}]", fields=value)
            for index, value in enumerate(values)
        ]

    def path(self, field: str) -> Path | None:
        """Relative to the folder of the kubeconfig that names it."""
        text = self.text(field)
        return self.file.absolute().parent / text if text else None

    def pem(self, field: str) -> str:
        """The content of `field-data`, which wins, or of the file that `field` names."""
        data_field = f"{field}-data"
        if data := self.text(data_field):
            return self._pem_of_data(data_field, data)
        path = self.path(field)
        return self._pem_of_file(field, path) if path else ""

    def _pem_of_data(self, field: str, data: str) -> str:
        try:
            text = base64.b64decode(data, validate=True).decode()
        except ValueError as error:  # neither base64 nor UTF-8
            raise self.error(field, "must be PEM text in base64") from error
        if _PEM_BEGIN not in text:
            raise self.error(field, "must be PEM text in base64")
        return text

    def _pem_of_file(self, field: str, path: Path) -> str:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise self.error(field, f"names {path}, which cannot be read: {error}") from error
        if _PEM_BEGIN not in text:
            raise self.error(field, f"names {path}, which is not PEM text")
        return text


def connection(
    cluster: KubeconfigEntry, user: KubeconfigEntry | None, *, namespace: str
) -> Connection:
    server = _address(cluster, "server", cluster.required_text("server"), _SCHEMES)
    proxy_url = cluster.text("proxy-url")
    if proxy_url:
        _address(cluster, "proxy-url", proxy_url, _SCHEMES)
    trust = Trust(
        authority_pem=cluster.pem("certificate-authority"),
        server_name=cluster.text("tls-server-name"),
        verify=not cluster.flag("insecure-skip-tls-verify"),
    )
    if trust.authority_pem and not trust.verify:
        problem = "cannot be true together with a certificate authority"
        raise cluster.error("insecure-skip-tls-verify", problem)
    return Connection(
        server=server.rstrip("/"),
        trust=trust,
        user=_user(user, _cluster_information(cluster, trust)) if user else User(),
        proxy_url=proxy_url,
        compression=not cluster.flag("disable-compression"),
        namespace=namespace,
    )


def _address(entry: KubeconfigEntry, field: str, text: str, schemes: tuple[str, ...]) -> str:
    address = text if "://" in text else f"{schemes[-1]}://{text}"
    try:
        parts = urlsplit(address)
        usable = parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        expected = " or ".join(f"{scheme}://host:port" for scheme in schemes)
        raise entry.error(field, f"must be an address of the form {expected}")
    return address


def _user(entry: KubeconfigEntry, cluster_information: Mapping[str, Any]) -> User:
    if entry.fields.get("auth-provider"):
        problem = "is not supported; use an exec plugin of the same provider instead"
        raise entry.error("auth-provider", problem)
    token_file = entry.path("tokenFile")
    return User(
        token=entry.text("token"),
        token_file=str(token_file or ""),
        username=entry.text("username"),
        password=entry.text("password"),
        certificate=_certificate(entry),
        exec_plugin=_exec_plugin(entry, cluster_information),
        impersonation=_impersonation(entry),
    )


def _certificate(entry: KubeconfigEntry) -> Certificate | None:
    certificate_pem = entry.pem("client-certificate")
    key_pem = entry.pem("client-key")
    if bool(certificate_pem) != bool(key_pem):
        absent, present = ("client-key", "client-certificate")
        if not certificate_pem:
            absent, present = present, absent
        raise entry.error(absent, f"is required together with {present}")
    return Certificate(certificate_pem=certificate_pem, key_pem=key_pem) if key_pem else None


def _impersonation(entry: KubeconfigEntry) -> Impersonation | None:
    user = entry.text("as")
    extra = entry.part("as-user-extra")
    others = entry.text("as-uid") or entry.texts("as-groups") or extra
    if not user:
        if others:
            raise entry.error("as", "is required to impersonate a uid, groups or extra")
        return None
    return Impersonation(
        user=user,
        uid=entry.text("as-uid"),
        groups=entry.texts("as-groups"),
        extra={key: extra.texts(key) for key in extra.fields} if extra else {},
    )


def _exec_plugin(
    user: KubeconfigEntry, cluster_information: Mapping[str, Any]
) -> ExecPlugin | None:
    entry = user.part("exec")
    if entry is None:
        return None
    api_version = entry.required_text("apiVersion")
    if api_version not in EXEC_VERSIONS:
        raise entry.error("apiVersion", f"must be one of {', '.join(EXEC_VERSIONS)}")
    return ExecPlugin(
        where=f"{entry.file}: {entry.where}",
        api_version=api_version,
        command=_command(entry),
        arguments=entry.texts("args"),
        environment=_environment(entry),
        install_hint=entry.text("installHint"),
        interactive_mode=_interactive_mode(entry, api_version),
        cluster=cluster_information if entry.flag("provideClusterInfo") else None,
    )


def _command(entry: KubeconfigEntry) -> str:
    """A bare name is looked up in PATH; with a slash it is a path like any other."""
    command = entry.required_text("command")
    return str(entry.path("command")) if "/" in command else command


def _interactive_mode(entry: KubeconfigEntry, api_version: str) -> str:
    mode = entry.text("interactiveMode")
    if not mode and api_version == EXEC_VERSIONS[1]:
        return "IfAvailable"
    if mode not in _INTERACTIVE_MODES:
        expected = ", ".join(_INTERACTIVE_MODES)
        raise entry.error("interactiveMode", f"must be one of {expected} with {api_version}")
    return mode


def _environment(entry: KubeconfigEntry) -> dict[str, str]:
    return {item.required_text("name"): item.text("value") for item in entry.parts("env")}


def _cluster_information(cluster: KubeconfigEntry, trust: Trust) -> dict[str, Any]:
    extensions = cluster.parts("extensions")
    config = next(
        (
            item.fields.get("extension")
            for item in extensions
            if item.text("name") == EXEC_EXTENSION
        ),
        None,
    )
    information = {
        "server": cluster.text("server"),
        "tls-server-name": trust.server_name,
        "insecure-skip-tls-verify": not trust.verify,
        "certificate-authority-data": base64.b64encode(trust.authority_pem.encode()).decode(),
        "proxy-url": cluster.text("proxy-url"),
        "config": config,
    }
    return {field: value for field, value in information.items() if value}
