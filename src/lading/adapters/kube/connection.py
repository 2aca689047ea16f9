"""How to reach one API server, as plain data. Kubeconfigs and pods both give a `Connection`.

Secrets stay out of `repr`, so that a connection can be logged.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from lading.kernel.objects import Model
from lading.kernel.values import Redacted


class ConfigurationError(Exception):
    """The connection settings cannot be read; names the file, the field and the next step."""


class NothingConfigured(ConfigurationError):
    """No API server is configured: there is no kubeconfig, and this is not a pod."""


class Trust(Redacted, frozen=True, kw_only=True):
    """How the server proves who it is."""

    shown = ("server_name", "verify")

    authority_pem: str = ""
    """Empty: the authorities of the operating system."""
    server_name: str = ""
    """Empty: the host of the address."""
    verify: bool = True


class Certificate(Redacted, frozen=True, kw_only=True):
    """How we prove who we are, with TLS."""

    shown = ("certificate_pem",)

    certificate_pem: str
    key_pem: str


class Impersonation(msgspec.Struct, frozen=True, kw_only=True):
    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = {}


class ExecPlugin(Redacted, frozen=True, kw_only=True):
    """A command that prints credentials (client.authentication.k8s.io)."""

    shown = ("where", "command", "arguments")

    where: str
    """The file and field that ask for it, for errors."""
    api_version: str
    command: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}
    install_hint: str = ""
    interactive_mode: str = "IfAvailable"
    cluster: Mapping[str, Any] | None = None
    """What `provideClusterInfo` passes on, in the form of ExecCredential's spec.cluster."""


class User(Redacted, frozen=True, kw_only=True):
    """At most one way to authenticate by header, and perhaps a certificate as well."""

    shown = ("token_file", "username", "certificate", "exec_plugin", "impersonation")

    token: str = ""
    token_file: str = ""
    username: str = ""
    password: str = ""
    certificate: Certificate | None = None
    exec_plugin: ExecPlugin | None = None
    impersonation: Impersonation | None = None


class Connection(msgspec.Struct, frozen=True, kw_only=True):
    server: str
    """An address such as `https://host:port/prefix`, without a slash at the end."""
    trust: Trust = Trust()
    user: User = User()
    proxy_url: str = ""
    """Empty: what the environment says (HTTPS_PROXY, NO_PROXY)."""
    compression: bool = True
    namespace: str = "default"


class ExecCredentialStatus(Model, frozen=True, kw_only=True):
    """What an exec plugin prints; never shown, since all of it is secret."""

    token: str = ""
    expiration_timestamp: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""

    def __repr__(self) -> str:
        return "ExecCredentialStatus(…)"


SERVICE_ACCOUNT_FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_HOST = "KUBERNETES_SERVICE_HOST"
_PORT = "KUBERNETES_SERVICE_PORT"


def is_in_pod(environment: Mapping[str, str], folder: Path = SERVICE_ACCOUNT_FOLDER) -> bool:
    return bool(environment.get(_HOST)) and (folder / "token").exists()


def of_pod(environment: Mapping[str, str], folder: Path = SERVICE_ACCOUNT_FOLDER) -> Connection:
    """The service account of this pod. The kubelet rotates the token, so it is read again later."""
    host, port = environment.get(_HOST, ""), environment.get(_PORT, "")
    if not host or not port:
        raise ConfigurationError(f"{_HOST} and {_PORT} are not set: this is not a pod")
    address = f"[{host}]" if ":" in host else host
    namespace_file = folder / "namespace"
    return Connection(
        server=f"https://{address}:{port}",
        trust=Trust(authority_pem=_read(folder / "ca.crt")),
        user=User(token_file=str(folder / "token")),
        namespace=_read(namespace_file).strip() if namespace_file.exists() else "default",
    )


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{file}: cannot be read: {error}") from error
