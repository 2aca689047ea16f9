"""Options of an earlier release that set single fields of the holder pods.

Without a toleration of its manifest, an upgraded controller would remove holder pods, and nodes
would lose images. So these options still work, as fields of --prepull-pods.
"""

import functools
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click
import msgspec
import yaml

from lading.kernel import yaml_text


def _tolerations(texts: Iterable[str]) -> list[dict[str, str]]:
    return [_toleration(one) for one in texts]


def _toleration(text: str) -> dict[str, str]:
    """From KEY[=VALUE][:EFFECT], or * for every taint."""
    taint, _, effect = text.removeprefix("*").partition(":")
    key, _, value = taint.partition("=")
    operator = "Equal" if value else "Exists"
    return {"key": key, "operator": operator, "value": value, "effect": effect}


def _labels(texts: Iterable[str]) -> dict[str, str]:
    return {key: value for key, _, value in (one.partition("=") for one in texts)}


def _user(text: str) -> Any:
    return None if text == "none" else _document(text)


def _document(text: str) -> Any:
    return yaml_text.value(text.encode()) or {}


_FIELDS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "--prepull-toleration": ("tolerations", _tolerations),
    "--prepull-node-selector": ("nodeSelector", _labels),
    "--prepull-affinity": ("affinity", _document),
    "--prepull-priority-class": ("priorityClassName", str),
    "--prepull-resources": ("resources", _document),
    "--prepull-user-id": ("runAsUser", _user),
}
"""The field of each option, and how its value is read."""
_REPEATED = ("tolerations", "nodeSelector")


def with_former_options(
    parse: Callable[[str], msgspec.Struct],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds the options, hidden. Their fields go into `pods`, and what `pods` has already stays."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def with_pods(*args: Any, pods: msgspec.Struct, **more: Any) -> Any:
            given = {option: more.pop(field) for option, (field, _) in _FIELDS.items()}
            used = {option: value for option, value in given.items() if value not in (None, ())}
            if used:
                fields = _replacement(used, pods)
                pods = parse(fields)
                names = ", ".join(used)
                click.echo(f"Warning: replace {names} by --prepull-pods='{fields}'", err=True)
            return command(*args, pods=pods, **more)

        decorated: Callable[..., Any] = with_pods
        for option, (field, _) in _FIELDS.items():
            add = click.option(option, field, multiple=field in _REPEATED, hidden=True)
            decorated = add(decorated)
        return decorated

    return decorate


def _replacement(used: Mapping[str, Any], pods: msgspec.Struct) -> str:
    former = {}
    for option, value in used.items():
        field, read = _FIELDS[option]
        try:
            former[field] = read(value)
        except yaml.YAMLError as error:
            reason = str(error).partition("\n")[0]
            raise click.BadParameter(f"expected JSON: {reason}", param_hint=option) from error
    return json.dumps({**former, **msgspec.to_builtins(pods)})
