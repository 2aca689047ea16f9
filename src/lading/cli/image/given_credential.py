"""The credential that a person gives with a pull, in crictl's ways and on standard input.

Every user who may list the processes of the machine can read an option; a variable and
standard input cannot. No error shows what was given.
"""

import base64
import binascii
import functools
import sys
from collections.abc import Callable
from typing import Any

import click

from lading.ports.registry import Credential

STANDARD_INPUT = "-"


def credential_option(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options, and passes the credential as `given`."""

    @click.option(
        "--creds",
        envvar="CRICTL_CREDS",
        metavar="USER[:PASSWORD]",
        help="Credentials for the registry; `-` reads them from standard input.",
    )
    @click.option(
        "--auth",
        envvar="CRICTL_AUTH",
        metavar="BASE64",
        help="The same credentials in base64, as in auth files.",
    )
    @functools.wraps(command)
    def with_credential(creds: str | None, auth: str | None, **more: Any) -> None:
        command(given=_given(creds, auth), **more)

    return with_credential


def _given(creds: str | None, auth: str | None) -> Credential | None:
    if creds is not None and auth is not None:
        raise click.UsageError("use either --creds or --auth, not both")
    if auth is not None:
        return _credential(_decoded(auth), option="--auth")
    if creds == STANDARD_INPUT:
        creds = sys.stdin.readline().rstrip("\r\n")
    return None if creds is None else _credential(creds, option="--creds")


def _decoded(auth: str) -> str:
    try:
        return base64.b64decode(auth, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _credential(pair: str, *, option: str) -> Credential:
    username, _, password = pair.partition(":")
    if not username:
        form = "USER[:PASSWORD]" if option == "--creds" else "USER[:PASSWORD] in base64"
        raise click.UsageError(f"{option}: expected {form}")
    return Credential(username=username, password=password)
