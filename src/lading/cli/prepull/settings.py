"""The options of the controller for pre-pulled images and for the pods that hold them."""

import functools
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeVar

import click
import msgspec
import yaml

from lading.cli import options
from lading.cli.prepull import former_options
from lading.kernel import references, yaml_text
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
_WAVE = re.compile(r"(?P<number>[1-9][0-9]{0,4})(?P<percent>%?)")
_PERCENT_MAX = 100
_USER_ID_MAX = 2**31 - 1  # of the API server
T = TypeVar("T")
Callback = Callable[[click.Context, click.Parameter, Any], Any]


class _Toleration(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    key: str = ""
    operator: Literal["Exists", "Equal"] = "Equal"
    value: str = ""
    effect: Literal["", "NoSchedule", "NoExecute", "PreferNoSchedule"] = ""


class _Resources(msgspec.Struct, forbid_unknown_fields=True):
    requests: dict[str, str | int | float]
    limits: dict[str, str | int | float]


class HolderPods(
    msgspec.Struct, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True
):
    """The fields of a pod that an administrator may set, with Kubernetes' own names."""

    tolerations: list[_Toleration] = []
    node_selector: dict[str, str] = {}
    affinity: dict[Literal["nodeAffinity", "podAffinity", "podAntiAffinity"], dict[str, Any]] = {}
    priority_class_name: str = _DEFAULTS.priority_class
    resources: _Resources | None = None
    run_as_user: Annotated[int, msgspec.Meta(ge=1, le=_USER_ID_MAX)] | None = _DEFAULTS.user_id

    def settings(self) -> Mapping[str, Any]:
        """As fields of PrePullSettings."""
        return {
            "tolerations": tuple(
                Toleration(key=one.key, value=one.value, effect=one.effect)
                for one in self.tolerations
            ),
            "node_selector": tuple(self.node_selector.items()),
            "affinity": self.affinity,
            "priority_class": self.priority_class_name,
            "resources": msgspec.to_builtins(self.resources)
            if self.resources
            else _DEFAULTS.resources,
            "user_id": self.run_as_user,
        }


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


def parse_wave(text: str) -> Wave:
    found = _WAVE.fullmatch(text)
    number = int(found["number"]) if found else 0
    if found is None or (found["percent"] and number > _PERCENT_MAX):
        raise click.BadParameter(f"{text!r}: expected a number of nodes or 1% to 100%")
    return Wave(percent=number) if found["percent"] else Wave(count=number)


def parse_pods(text: str) -> HolderPods:
    try:
        found = msgspec.convert(yaml_text.value(text.encode()) or {}, HolderPods)
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        reason = str(error).partition("\n")[0]
        raise click.BadParameter(f"expected fields of a pod as JSON or YAML: {reason}") from error
    if found.node_selector.get(OS_LABEL, LINUX) != LINUX:
        raise click.BadParameter(f"nodeSelector: holder pods need {OS_LABEL}: {LINUX}")
    for one in found.tolerations:
        if not one.key and one.operator != "Exists":
            raise click.BadParameter("tolerations: without a key, the operator must be Exists")
    return found


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


def _secret_names(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    try:
        return tuple(map(options.object_name, values))
    except Malformed as error:
        raise click.BadParameter(str(error)) from error


image_option = click.option(
    "--prepull-image",
    "images",
    metavar="NAME=URL",
    multiple=True,
    callback=_listed,
    help="An image that every worker node holds; may be repeated, each name once.",
)
_OPTIONS = (
    image_option,
    click.option(
        "--prepull-default",
        "default_value",
        metavar="BOOL",
        type=click.BOOL,
        default=_DEFAULTS.default_value,
        show_default=True,
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
        "--prepull-pods",
        "pods",
        metavar="YAML",
        default="{}",
        callback=_one(parse_pods),
        help="Fields of the holder pods: tolerations, nodeSelector, affinity, priorityClassName, "
        "resources, runAsUser (null where OpenShift assigns one).",
    ),
    click.option(
        "--prepull-pull-secret",
        "pull_secrets",
        metavar="NAME",
        multiple=True,
        callback=_secret_names,
        help="A pull secret in the controller's namespace; may be repeated.",
    ),
)
_NAMES = ("images", "default_value", "hold_image", "wave", "pull_secrets")


def prepull_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options, and passes `prepull`."""

    @former_options.with_former_options(parse_pods)
    @functools.wraps(command)
    def with_settings(*args: Any, pods: HolderPods, **more: Any) -> Any:
        own = {name: more.pop(name) for name in _NAMES}
        return command(*args, prepull=PrePullSettings(**own, **pods.settings()), **more)

    decorated: Callable[..., Any] = with_settings
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated
