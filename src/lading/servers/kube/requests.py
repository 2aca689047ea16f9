"""One request as the verbs see it: who asks, for what, with which options.

Options are checked once, here, with the messages kube-apiserver has for them.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from lading.servers.kube import status
from lading.servers.kube.authentication import User
from lading.servers.kube.resources import Resource
from lading.servers.kube.routes import Target
from lading.servers.kube.schema import causes

Document = dict[str, Any]

FIELD_MANAGER_CHARACTERS_MAX = 128  # kube-apiserver's limit
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")


class Call(msgspec.Struct, frozen=True, kw_only=True):
    target: Target
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    user: User
    warnings: list[str] = []
    """Sent to the client beside the answer, in Warning headers."""

    @property
    def resource(self) -> Resource:
        return self.target.resource

    def flag(self, name: str) -> bool:
        return self.query.get(name, "") not in ("", "0", "false", "False")

    def number(self, name: str) -> int:
        text = self.query.get(name, "")
        if not text:
            return 0
        try:
            return int(text)
        except ValueError:
            message = f'strconv.ParseInt: parsing "{text}": invalid syntax'
            raise status.bad_request(message) from None


class WriteOptions(msgspec.Struct, frozen=True, kw_only=True):
    dry_run: bool
    manager: str
    field_validation: str
    force: bool


def write_options(call: Call, kind: str) -> WriteOptions:
    """The options of a create, update or patch; `kind` is what messages call them."""
    dry_run = is_dry_run(call, kind)
    validation = call.query.get("fieldValidation", "")
    if validation not in _VALIDATIONS:
        cause = causes.not_supported("fieldValidation", validation, _VALIDATIONS)
        raise status.invalid_options(kind, [cause])
    return WriteOptions(
        dry_run=dry_run,
        manager=_manager(call, kind),
        field_validation=validation or "Warn",
        force=call.flag("force"),
    )


def is_dry_run(call: Call, kind: str) -> bool:
    return check_dry_run([call.query["dryRun"]] if "dryRun" in call.query else [], kind)


def check_dry_run(asked: list[str], kind: str) -> bool:
    if any(each != "All" for each in asked):
        cause = causes.not_supported("dryRun", asked, ["All"])
        raise status.invalid_options(kind, [cause])
    return bool(asked)


def _manager(call: Call, kind: str) -> str:
    """The named field manager, or else the program that asks."""
    named = call.query.get("fieldManager", "")
    if len(named) > FIELD_MANAGER_CHARACTERS_MAX:
        cause = causes.too_long("fieldManager", FIELD_MANAGER_CHARACTERS_MAX)
        raise status.invalid_options(kind, [cause])
    if named:
        return named
    agent = call.headers.get("user-agent", "").partition("/")[0]
    return agent[:FIELD_MANAGER_CHARACTERS_MAX] or "unknown"


def revision_of(text: str) -> int:
    """Reads a resourceVersion option; 0 and "" are the same to the caller."""
    if not text:
        return 0
    if not text.isascii() or not text.isdigit():
        raise status.bad_request(
            f'invalid resource version: resourceVersion: Invalid value: "{text}": '
            f'strconv.ParseUint: parsing "{text}": invalid syntax'
        )
    return int(text)
