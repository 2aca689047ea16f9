"""The plan of nodes as a table or as data, and its problems as sentences."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from lading.cli import output
from lading.cli.output import Format
from lading.kernel import quantities, texts
from lading.kernel.images import ImageKey
from lading.pinned_images.node.preview import Preview, UnavailableImage, bytes_behind_cache


def complaints(previews: Sequence[Preview], set_names: Sequence[str]) -> list[str]:
    """The problems of the plan; none if every set fits and every image can be pulled."""
    taken = {name for one in previews for name in one.set_names}
    found = [
        f"no node would take the set {name}: compare its labels with `lading get mcp`, and its"
        " nodeSelector with `lading get nodes`"
        for name in set_names
        if name not in taken
    ]
    if refusing := sum(bool(one.refusals) for one in previews):
        found.append(f"{refusing} of {len(previews)} nodes would refuse images")
    if unavailable := {failure.key for one in previews for failure in one.unavailable}:
        found.append(f"{_counted(len(unavailable), 'image')} cannot be pulled")
    if unknown := sum(_space_is_needed(one) for one in previews):
        found.append(f"the free space of {_counted(unknown, 'node')} is unknown")
    return found


def rendered(
    previews: Sequence[Preview],
    form: Format,
    *,
    columns: int | None = None,
    behind_cache: bool = False,
) -> str:
    if form is not Format.TABLE:
        nodes = [_plain(one) for one in previews]
        return output.document(_site(previews, nodes) if behind_cache else nodes, form)
    lines = list(_explanations(previews))
    if behind_cache:
        lines.append(_site_line(previews))
    return _table(previews, columns) + "".join(f"{texts.bounded_text(line)}\n" for line in lines)


def _table(previews: Sequence[Preview], columns: int | None) -> str:
    headers = ("NODE", "ADDED", "BEFORE", "TO PULL", "DOWNLOAD", "FREE NOW", "FREE AFTER")
    rows = [
        (
            one.node_name,
            str(len(one.added)),
            str(len(one.wanted_before)),
            str(len(one.to_pull)),
            _at_least(one, one.pull_bytes),
            _bytes(one.free_bytes),
            _bytes(one.free_after_bytes),
        )
        for one in previews
    ]
    return output.table(headers, rows, columns=columns)


def _site_line(previews: Sequence[Preview]) -> str:
    plus = "+" if any(one.unknown for one in previews) else ""
    each, once = (
        f"{quantities.format_bytes(count)}{plus}"
        for count in (_sum_of_nodes(previews), bytes_behind_cache(previews))
    )
    return f"All nodes together pull {each}; a pull-through cache of the site downloads {once}"


def _site(previews: Sequence[Preview], nodes: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "nodes": nodes,
        "downloadBytes": _sum_of_nodes(previews),
        "downloadBytesBehindCache": bytes_behind_cache(previews),
    }


def _sum_of_nodes(previews: Sequence[Preview]) -> int:
    return sum(one.pull_bytes for one in previews)


def _explanations(previews: Sequence[Preview]) -> Iterator[str]:
    refusals = ((refusal, one.node_name) for one in previews for refusal in one.refusals)
    for text, nodes in _by_text(refusals):
        yield f"{output.names(nodes)} {'refuses' if len(nodes) == 1 else 'refuse'} {text}"
    pending = ((_pending(one), one.node_name) for one in previews if one.pending_before)
    for text, nodes in _by_text(pending):
        yield f"{text} already needed by sets of the cluster, on {output.names(nodes)}"
    failed = ((_failure(failure), one.node_name) for one in previews for failure in one.unavailable)
    for text, nodes in _by_text(failed):
        yield f"{text}; wanted on {output.names(nodes)}"
    unseen = ((one.space_problem, one.node_name) for one in previews if _space_is_needed(one))
    for text, nodes in _by_text(unseen):
        yield f"the free space of {output.names(nodes)} is unknown: {text}"


def _pending(one: Preview) -> str:
    count = len(one.pending_before)
    return f"{count} of the {len(one.to_pull)} images to pull {'is' if count == 1 else 'are'}"


def _failure(failure: UnavailableImage) -> str:
    """Replaces the image at the begin of a registry's message by image and runtime handler."""
    message = failure.message.removeprefix(f"{failure.key.image}: ").removesuffix(".")
    return f"{failure.reason}: {failure.key}: {message}"


def _by_text(pairs: Iterable[tuple[str, str]]) -> Iterable[tuple[str, list[str]]]:
    """Each text once, with its nodes."""
    nodes_with: dict[str, list[str]] = {}
    for text, node in pairs:
        nodes_with.setdefault(text, []).append(node)
    return nodes_with.items()


def _space_is_needed(one: Preview) -> bool:
    return one.free_bytes is None and bool(one.missing)


def _plain(one: Preview) -> dict[str, Any]:
    return {
        "node": one.node_name,
        "sets": list(one.set_names),
        "images": len(one.wanted),
        "added": _plain_images(sorted(one.added)),
        "before": _plain_images(sorted(one.wanted_before)),
        "toPull": _plain_images(one.to_pull),
        "toPullOfBefore": _plain_images(one.pending_before),
        "sizeUnknown": _plain_images(one.unknown),
        "unavailable": [
            _plain_image(failure.key) | {"reason": failure.reason, "message": failure.message}
            for failure in one.unavailable
        ],
        "downloadBytes": one.pull_bytes,
        "diskBytes": one.disk_bytes,
        "freeBytes": one.free_bytes,
        "freeAfterBytes": one.free_after_bytes,
        "freeUnknown": one.space_problem,
        "refusals": list(one.refusals),
    }


def _plain_images(keys: Iterable[ImageKey]) -> list[dict[str, str]]:
    return [_plain_image(key) for key in keys]


def _plain_image(key: ImageKey) -> dict[str, str]:
    handler = {"runtimeHandler": key.runtime_handler} if key.runtime_handler else {}
    return {"image": key.image} | handler


def _counted(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count} {what}s"


def _at_least(one: Preview, count: int) -> str:
    shown = quantities.format_bytes(count)
    return f"{shown}+" if one.unknown else shown


def _bytes(count: int | None) -> str:
    return "unknown" if count is None else quantities.format_bytes(count)
