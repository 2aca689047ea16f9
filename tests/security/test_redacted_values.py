"""The text of a value, which a log or a trace may show, has no secret of it."""

from collections.abc import Mapping

import pytest

from lading.adapters.kube.connection import Certificate, ExecPlugin, Trust, User
from lading.adapters.kube.credentials import Proof
from lading.adapters.kubelet_identity import KubeletTrust
from lading.adapters.programs import Program
from lading.adapters.proxies import Proxy
from lading.adapters.registry import auth_files, authorization, credential_helpers, tokens
from lading.adapters.registry import credential_providers as providers
from lading.adapters.registry.auth_files import AuthFile
from lading.adapters.registry.credentials import Table
from lading.adapters.registry.tokens import Token
from lading.api.core import Secret
from lading.cli.documents import ManifestSource
from lading.embedded.api_server import Authorized
from lading.embedded.registry.access import Passwords, TokenGuard
from lading.embedded.workloads.pods.inputs import ProcessInputs
from lading.embedded.workloads.pods.types import (
    ObservedPod,
    ProcessRecord,
    RequestPull,
    StartProcess,
)
from lading.kernel.values import Redacted
from lading.ports.registry import Credential
from lading.prepull.types import HoldKey
from lading.web.server import Session

CANARY = "canary-of-a-password"
HIDDEN: Mapping[type[Redacted], tuple[str, ...]] = {
    AuthFile: ("credential_by_pattern",),
    Authorized: ("token",),
    Certificate: ("key_pem",),
    Credential: ("password", "identity_token", "registry_token"),
    ExecPlugin: ("environment",),
    HoldKey: ("value",),
    KubeletTrust: ("authority_pem",),
    ManifestSource: ("lines",),
    ObservedPod: ("values",),
    Passwords: ("password_by_user",),
    ProcessInputs: ("environment", "files"),
    ProcessRecord: ("output",),
    Program: ("environment",),
    Proof: ("headers",),
    Proxy: ("headers",),
    RequestPull: ("pod",),
    Secret: ("data", "metadata"),
    Session: ("token", "cookie"),
    StartProcess: ("pod", "container"),
    Table: ("credential_by_pattern",),
    Token: ("value",),
    TokenGuard: ("_grants",),
    Trust: ("authority_pem",),
    User: ("token", "password"),
    auth_files._Entry: ("auth", "password", "identity_token", "registry_token"),
    authorization._Header: ("value",),
    credential_helpers._Answer: ("secret",),
    providers.ProviderAnswer: ("credential_by_pattern",),
    providers._Auth: ("password",),
    providers._CachedAnswer: ("credential_by_pattern",),
    tokens._Answer: ("token", "access_token"),
}
"""Secrets, and content that is too long for a log."""


@pytest.mark.parametrize(("kind", "hidden"), HIDDEN.items(), ids=[kind.__name__ for kind in HIDDEN])
def test_the_text_of_a_value_has_no_secret_of_it(
    kind: type[Redacted], hidden: tuple[str, ...]
) -> None:
    fields = {name: CANARY if name in hidden else "" for name in kind.__struct_fields__}
    assert {*hidden} <= fields.keys()
    value = kind(**fields)
    assert CANARY not in f"{value} {value!r} {[value]}"
    assert all(f"{name}=''" in repr(value) for name in kind.shown)


def test_every_value_of_the_kind_is_tested() -> None:
    found = {kind for kind in Redacted.__subclasses__() if kind.__module__.startswith("lading.")}
    assert found - HIDDEN.keys() == set()
