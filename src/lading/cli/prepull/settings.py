"""The options by which an administrator says which images are held, and with which pods."""

import functools
import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeVar

import click

from lading.kernel import quantities, references, selectors
from lading.kernel.errors import Malformed
from lading.prepull.types import (
    LINUX,
    OS_LABEL,
    DefaultImage,
    PrePullSettings,
    Toleration,
    Wave,
)

_DEFAULTS = PrePullSettings()
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_OBJECT_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
_OBJECT_NAME_CHARACTERS_MAX = 253
_WAVE = re.compile(r"(?P<number>[1-9][0-9]{0,4})(?P<percent>%?)")
_EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
_PERCENT_MAX = 100
_USER_ID = re.compile(r"[1-9][0-9]{0,9}")
_USER_ID_MAX = 2**31 - 1  # of the API server
_AFFINITIES = ("nodeAffinity", "podAffinity", "podAntiAffinity")
_LISTS = ("requests", "limits")
_RESOURCES_EXAMPLE = '{"requests": {"cpu": "1m", "memory": "1Mi"}, "limits": {"memory": "32Mi"}}'
T = TypeVar("T")
Callback = Callable[[click.Context, click.Parameter, Any], Any]


def parse_image(text: str) -> DefaultImage:
    name, equals, url = text.partition("=")
    if not equals or not _NAME.fullmatch(name):
        raise click.BadParameter(
            f"{text!r}: expected NAME=URL, with a name of at most 63 lower-case letters, digits "
            "and '-', for example share-manager=registry.example.com/share-manager:1.0"
        )
    try:
        references.parse(url)
    except Malformed as error:
        raise click.BadParameter(f"{name}: {error}") from error
    return DefaultImage(name=name, url=url)


def parse_hold_image(text: str) -> str:
    if text:
        try:
            references.parse(text)
        except Malformed as error:
            raise click.BadParameter(str(error)) from error
    return text


def parse_default(text: str) -> bool:
    found = {"true": True, "false": False}.get(text.lower())
    if found is None:
        raise click.BadParameter(f"{text!r}: expected true or false")
    return found


def parse_wave(text: str) -> Wave:
    found = _WAVE.fullmatch(text)
    number = int(found["number"]) if found else 0
    if found is None or (found["percent"] and number > _PERCENT_MAX):
        raise click.BadParameter(f"{text!r}: expected a number of nodes or 1% to 100%")
    return Wave(percent=number) if found["percent"] else Wave(count=number)


def parse_toleration(text: str) -> Toleration:
    """`*` tolerates everything."""
    if text == "*":
        return Toleration()
    left, colon, effect = text.partition(":")
    key, _, value = left.partition("=")
    is_known = effect in _EFFECTS or not colon
    is_taint = selectors.LABEL_KEY.fullmatch(key) and selectors.LABEL_VALUE.fullmatch(value)
    if not is_known or not is_taint:
        raise click.BadParameter(
            f"{text!r}: expected KEY[=VALUE][:EFFECT] or *, with effect {', '.join(_EFFECTS)}"
        )
    return Toleration(key=key, value=value, effect=effect)


def parse_label(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    is_label = selectors.LABEL_KEY.fullmatch(key) and selectors.LABEL_VALUE.fullmatch(value)
    if not equals or not is_label:
        raise click.BadParameter(f"{text!r}: expected KEY=VALUE, a label of nodes")
    if key == OS_LABEL and value != LINUX:
        raise click.BadParameter(f"{text!r}: holder pods run on Linux nodes only; leave it out")
    return key, value


def parse_user(text: str) -> int | None:
    if text == "none":
        return None
    if not _USER_ID.fullmatch(text) or int(text) > _USER_ID_MAX:
        raise click.BadParameter(
            f"{text!r}: expected a user ID above 0, at most {_USER_ID_MAX}, or none on OpenShift"
        )
    return int(text)


def parse_object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text) if text else {}
    except ValueError as error:
        raise click.BadParameter(f"expected a JSON object: {error}") from error
    if not isinstance(found, dict):
        raise click.BadParameter(f"{text!r}: expected a JSON object")
    return found


def parse_affinity(text: str) -> dict[str, Any]:
    found = parse_object(text)
    for name, value in found.items():
        if name not in _AFFINITIES or not isinstance(value, dict):
            raise click.BadParameter(f"{name}: expected objects named {', '.join(_AFFINITIES)}")
    return found


def parse_resources(text: str) -> dict[str, Any]:
    found = parse_object(text)
    if set(found) != set(_LISTS):
        raise click.BadParameter(f"expected requests and limits, for example {_RESOURCES_EXAMPLE}")
    requests, limits = (_quantities(name, found[name]) for name in _LISTS)
    for name, amount in requests.items():
        if name in limits and amount > limits[name]:
            raise click.BadParameter(f"requests.{name}: expected at most limits.{name}")
    return found


def _quantities(field: str, found: object) -> dict[str, Decimal]:
    if not isinstance(found, dict) or not found:
        raise click.BadParameter(f"{field}: expected quantities, for example {_RESOURCES_EXAMPLE}")
    amounts = {}
    for name, text in found.items():
        try:
            amounts[name] = quantities.parse(str(text))
        except Malformed as error:
            raise click.BadParameter(f"{field}.{name}: {error}") from error
        if amounts[name] < 0:
            raise click.BadParameter(f"{field}.{name}: {text!r}: expected 0 or more")
    return amounts


def parse_name(text: str) -> str:
    if not _OBJECT_NAME.fullmatch(text) or len(text) > _OBJECT_NAME_CHARACTERS_MAX:
        raise click.BadParameter(
            f"{text!r}: expected the name of an object: lower-case letters, digits, '-' and '.'"
        )
    return text


def parse_optional_name(text: str) -> str:
    return parse_name(text) if text else ""


def _each(parse: Callable[[str], T]) -> Callback:
    return lambda context, parameter, values: tuple(map(parse, values))


def _one(parse: Callable[[str], T]) -> Callback:
    return lambda context, parameter, value: parse(value)


def _listed(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[DefaultImage, ...]:
    found = tuple(map(parse_image, values))
    names = [one.name for one in found]
    for name in names:
        if names.count(name) > 1:
            raise click.BadParameter(f"{name} is given twice; give each image its own name")
    return found


prepull_image_option = click.option(
    "--prepull-image",
    "images",
    metavar="NAME=URL",
    multiple=True,
    callback=_listed,
    help="An image that every worker node holds; may be repeated, each name once.",
)
_OPTIONS = (
    prepull_image_option,
    click.option(
        "--prepull-default",
        "default_value",
        metavar="BOOL",
        default=str(_DEFAULTS.default_value).lower(),
        show_default=True,
        callback=_one(parse_default),
        help="The value that Setting start-pre-pull-manager-images gets when it is created; it"
        " also applies if the Setting cannot be created.",
    ),
    click.option(
        "--prepull-hold-image",
        "hold_image",
        metavar="IMAGE",
        default="",
        callback=_one(parse_hold_image),
        help="Lading's own image for holder pods; default: that of the controller's pod.",
    ),
    click.option(
        "--prepull-wave",
        "wave",
        metavar="COUNT",
        default=f"{_DEFAULTS.wave.percent}%",
        show_default=True,
        callback=_one(parse_wave),
        help="How many worker nodes pull at once: a number, or a percentage (at least one node).",
    ),
    click.option(
        "--prepull-toleration",
        "tolerations",
        metavar="KEY[=VALUE][:EFFECT]",
        multiple=True,
        callback=_each(parse_toleration),
        help="A taint that holder pods tolerate, or * for all; may be repeated.",
    ),
    click.option(
        "--prepull-node-selector",
        "node_selector",
        metavar="KEY=VALUE",
        multiple=True,
        callback=_each(parse_label),
        help="A label of the worker nodes; may be repeated.",
    ),
    click.option(
        "--prepull-affinity",
        "affinity",
        metavar="JSON",
        default="",
        callback=_one(parse_affinity),
        help="The affinity of holder pods.",
    ),
    click.option(
        "--prepull-priority-class",
        "priority_class",
        metavar="NAME",
        default=_DEFAULTS.priority_class,
        show_default=True,
        callback=_one(parse_optional_name),
        help="The PriorityClass of holder pods; empty for none.",
    ),
    click.option(
        "--prepull-resources",
        "resources",
        metavar="JSON",
        default=json.dumps(_DEFAULTS.resources),
        callback=_one(parse_resources),
        help="Requests and limits of each container that holds an image.",
    ),
    click.option(
        "--prepull-user-id",
        "user_id",
        metavar="ID",
        default=str(_DEFAULTS.user_id),
        show_default=True,
        callback=_one(parse_user),
        help="The user of holder pods; none where OpenShift assigns one.",
    ),
    click.option(
        "--prepull-pull-secret",
        "pull_secrets",
        metavar="NAME",
        multiple=True,
        callback=_each(parse_name),
        help="A pull secret in the controller's namespace; may be repeated.",
    ),
    click.option(
        "--pod-name",
        metavar="NAME",
        envvar="POD_NAME",
        default="",
        help="The controller's own pod.",
    ),
    click.option(
        "--node-name",
        metavar="NAME",
        envvar="NODE_NAME",
        default="",
        help="The node of that pod, for status.ownerID.",
    ),
)
_NAMES = (
    *("images", "default_value", "hold_image", "wave", "tolerations", "node_selector", "affinity"),
    *("priority_class", "resources", "user_id", "pull_secrets", "pod_name", "node_name"),
)


def prepull_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options and hands them over as `prepull`."""

    @functools.wraps(command)
    def with_settings(*args: Any, **more: Any) -> Any:
        prepull = PrePullSettings(**{name: more.pop(name) for name in _NAMES})
        return command(*args, prepull=prepull, **more)

    decorated: Callable[..., Any] = with_settings
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated
