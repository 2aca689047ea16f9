"""The options of a deletion, which stand in its body or in its query.

Delete options that cannot be read are refused: nothing is deleted on a guess.
"""

from typing import Any

import msgspec

from lading.servers.kube import bodies, deleting, requests, status
from lading.servers.kube.deleting import Deletion
from lading.servers.kube.protobuf import decode as protobuf
from lading.servers.kube.protobuf import wire
from lading.servers.kube.requests import Call
from lading.servers.kube.schema import causes

_KIND = "DeleteOptions"
_DEFINITION = f"io.k8s.apimachinery.pkg.apis.meta.v1.{_KIND}"
_JOBS = "jobs.batch"
_PODS_STAY = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background "
    "to remove them or set propagationPolicy=Orphan to suppress this warning"
)
_SUPPORTED = ("Foreground", "Background", "Orphan", "nil")


class _Preconditions(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    uid: str | None = None
    resource_version: str | None = None


class _Options(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    kind: str = _KIND
    grace_period_seconds: int | None = None
    """Only pods on a node with a kubelet take time to end."""
    preconditions: _Preconditions | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    dry_run: list[str] | None = None


def of(call: Call) -> Deletion:
    options = _read(call)
    in_query = call.number("gracePeriodSeconds") if "gracePeriodSeconds" in call.query else None
    preconditions = options.preconditions or _Preconditions()
    dry_run = requests.check_dry_run(options.dry_run or [], _KIND)
    return Deletion(
        policy=_policy(options, call),
        uid=preconditions.uid or "",
        resource_version=preconditions.resource_version or "",
        grace_seconds=(
            in_query if options.grace_period_seconds is None else options.grace_period_seconds
        ),
        dry_run=dry_run or requests.is_dry_run(call, _KIND),
    )


def _policy(options: _Options, call: Call) -> str:
    policy = options.propagation_policy or call.query.get("propagationPolicy", "")
    orphan = options.orphan_dependents
    if orphan is not None and policy:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        cause = causes.invalid("propagationPolicy", policy, detail)
        raise status.invalid_options(_KIND, [cause])
    if orphan is not None:
        return "Orphan" if orphan else "Background"
    if policy and policy not in deleting.POLICIES:
        cause = causes.not_supported("propagationPolicy", policy, _SUPPORTED)
        raise status.invalid_options(_KIND, [cause])
    if not policy and call.resource.storage_name == _JOBS:
        call.warnings.append(_PODS_STAY)
        return "Orphan"
    return policy


def _read(call: Call) -> _Options:
    if not call.body.strip():
        return _Options()
    try:
        options = msgspec.convert(_value(call), _Options)
    except msgspec.ValidationError as error:
        raise status.bad_request(f"the body of a deletion is no {_KIND}: {error}") from None
    if options.kind not in ("", _KIND):
        raise status.bad_request(f"the body of a deletion must be {_KIND}, not {options.kind}")
    return options


def _value(call: Call) -> Any:
    try:
        match bodies.media_type(call.headers):
            case protobuf.MEDIA_TYPE:
                return protobuf.document(call.body, _DEFINITION)
            case "application/yaml":
                return bodies.yaml_value(call.body)
            case _:
                return bodies.json_value(call.body)
    except wire.Malformed as error:
        raise status.bad_request(f"the body of a deletion is no {_KIND}: {error}") from None
    except bodies.Unreadable as error:
        raise status.bad_request(f"couldn't get version/kind; json parse error: {error}") from None
