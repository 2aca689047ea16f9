"""Rows of nodes and sets with what the agents themselves answer now. Pure.

A report says what is so; an agent that answers only adds how far it is. So no row becomes Pinned
here, and one that the agent does not know in this generation stays as it is.
"""

from collections.abc import Iterable, Mapping

from lading.kernel.values import replace
from lading.pinned_images.progress import Progress, SetProgress, SetState
from lading.pinned_images.rows import Row, RowState

NODES_ASKED_MAX = 50
"""Nodes that are asked at a time: one request each, and a table of more cannot be followed."""
_UNFINISHED = (RowState.PULLING, RowState.FAILED)


def nodes_to_ask(found: Iterable[Row]) -> list[str]:
    """Those with a set that is not done, at most `NODES_ASKED_MAX`."""
    names = {row.node for row in found if row.node and row.state in _UNFINISHED}
    return sorted(names)[:NODES_ASKED_MAX]


def with_progress(found: Iterable[Row], progress: Mapping[str, Progress]) -> list[Row]:
    """`progress` by the names of nodes; a node that did not answer keeps what it reported."""
    sets = {(node, one.name): one for node, answer in progress.items() for one in answer.sets}
    return [_live(row, sets.get((row.node, row.set))) for row in found]


def _live(row: Row, one: SetProgress | None) -> Row:
    if one is None or row.state not in _UNFINISHED:
        return row
    if row.generation.rpartition("/")[2] != str(one.generation):
        return row
    left = row.missing_bytes
    if one.bytes_total is not None and one.bytes_done is not None:
        left = one.bytes_total - one.bytes_done
    return replace(
        row,
        state=RowState.PULLING if one.state == SetState.PULLING else row.state,
        images=one.image_count,
        present=one.present_count,
        missing_bytes=left,
        attempt=one.attempt,
        next_pull_time=one.next_try_at,
        is_live=True,
        bytes_done=one.bytes_done,
        bytes_total=one.bytes_total,
        bytes_per_second=one.bytes_per_second,
        ends_at=one.ends_at,
    )
