"""What it takes to reach one API server, as plain data: kubeconfig and in-cluster both end here.

Whatever is secret stays out of `repr`, so that a connection can be logged.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lading.kernel.objects import Model


class ConfigurationError(Exception):
    """The connection settings cannot be read; names the file, the field and the next step."""


class NothingConfigured(ConfigurationError):
    """No API server is configured: there is no kubeconfig, and this is not a pod."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """How the server proves who it is."""

    authority_pem: str = field(default="", repr=False)
    """Empty: the authorities of the operating system."""
    server_name: str = ""
    """Empty: the host of the address."""
    verify: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """How we prove who we are, with TLS."""

    certificate_pem: str
    key_pem: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Impersonation:
    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecPlugin:
    """A command that prints credentials (client.authentication.k8s.io)."""

    where: str
    """The file and field that ask for it, for errors."""
    api_version: str
    command: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    install_hint: str = ""
    interactive_mode: str = "IfAvailable"
    cluster: Mapping[str, Any] | None = None
    """What `provideClusterInfo` passes on, in the form of ExecCredential's spec.cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """At most one way to authenticate by header, and perhaps a certificate as well."""

    token: str = field(default="", repr=False)
    token_file: str = ""
    username: str = ""
    password: str = field(default="", repr=False)
    certificate: Certificate | None = None
    exec_plugin: ExecPlugin | None = None
    impersonation: Impersonation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
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
