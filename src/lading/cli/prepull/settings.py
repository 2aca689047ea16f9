"""The options by which an administrator says which images are held, and with which pods."""

import functools
import json
import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from lading.kernel import references, selectors
from lading.kernel.errors import Malformed
from lading.prepull.types import ListedImage, PrePullSettings, Toleration, Wave

_DEFAULTS = PrePullSettings()
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_OBJECT_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_WAVE = re.compile(r"(?P<number>[1-9][0-9]{0,4})(?P<percent>%?)")
_EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
_PERCENT_MAX = 100
T = TypeVar("T")
Callback = Callable[[click.Context, click.Parameter, Any], Any]


def parse_image(text: str) -> ListedImage:
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
    return ListedImage(name=name, url=url)


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
    if not is_known or not selectors.LABEL_KEY.fullmatch(key):
        raise click.BadParameter(
            f"{text!r}: expected KEY[=VALUE][:EFFECT] or *, with effect {', '.join(_EFFECTS)}"
        )
    return Toleration(key=key, value=value, effect=effect)


def parse_label(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    is_label = selectors.LABEL_KEY.fullmatch(key) and selectors.LABEL_VALUE.fullmatch(value)
    if not equals or not is_label:
        raise click.BadParameter(f"{text!r}: expected KEY=VALUE, a label of nodes")
    return key, value


def parse_user(text: str) -> int | None:
    if text == "none":
        return None
    if not text.isdigit() or int(text) == 0:
        raise click.BadParameter(f"{text!r}: expected a user ID above 0, or none on OpenShift")
    return int(text)


def parse_object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text) if text else {}
    except ValueError as error:
        raise click.BadParameter(f"expected a JSON object: {error}") from error
    if not isinstance(found, dict):
        raise click.BadParameter(f"{text!r}: expected a JSON object")
    return found


def parse_resources(text: str) -> dict[str, Any]:
    found = parse_object(text)
    if not found.get("requests") or not found.get("limits"):
        raise click.BadParameter(
            "expected requests and limits, for example "
            '{"requests": {"cpu": "1m", "memory": "1Mi"}, "limits": {"memory": "32Mi"}}'
        )
    return found


def parse_name(text: str) -> str:
    if text and not _OBJECT_NAME.fullmatch(text):
        raise click.BadParameter(f"{text!r}: expected the name of an object")
    return text


def _each(parse: Callable[[str], T]) -> Callback:
    return lambda context, parameter, values: tuple(map(parse, values))


def _one(parse: Callable[[str], T]) -> Callback:
    return lambda context, parameter, value: parse(value)


def _listed(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[ListedImage, ...]:
    found = tuple(map(parse_image, values))
    names = [one.name for one in found]
    for name in names:
        if names.count(name) > 1:
            raise click.BadParameter(f"{name} is there twice; give each image its own name")
    return found


prepull_image_option = click.option(
    "--prepull-image",
    "images",
    metavar="NAME=URL",
    multiple=True,
    callback=_listed,
    help="An image that every worker node holds; may be repeated.",
)
_OPTIONS = (
    prepull_image_option,
    click.option(
        "--prepull-default",
        "default_value",
        type=bool,
        default=_DEFAULTS.default_value,
        show_default=True,
        help="The first value of Setting start-pre-pull-manager-images.",
    ),
    click.option(
        "--prepull-hold-image",
        "hold_image",
        default="",
        help="Lading's own image for holder pods; default: that of the controller's pod.",
    ),
    click.option(
        "--prepull-wave",
        "wave",
        metavar="COUNT",
        default=f"{_DEFAULTS.wave.percent}%",
        show_default=True,
        callback=_one(parse_wave),
        help="How many worker nodes pull at once: a number or a percentage.",
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
        callback=_one(parse_object),
        help="The affinity of holder pods.",
    ),
    click.option(
        "--prepull-priority-class",
        "priority_class",
        default=_DEFAULTS.priority_class,
        show_default=True,
        callback=_one(parse_name),
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
    click.option("--pod-name", envvar="POD_NAME", default="", help="The controller's own pod."),
    click.option("--node-name", envvar="NODE_NAME", default="", help="The node of that pod."),
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
