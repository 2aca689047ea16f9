"""How `lading prune blobs` prints: a table by reason, a summary, and a file with every blob."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from lading.cli import output
from lading.cli.output import Format
from lading.kernel import quantities
from lading.pruning.sweep import types
from lading.pruning.sweep.controller import Swept
from lading.pruning.sweep.types import BlobReason, Listing, SweepPlan

DRY_RUN = "Dry run enabled - no modifications will be made. Add --confirm to free storage"
_DECISIONS = {BlobReason.CONDEMNED: "condemn", BlobReason.UNREFERENCED: "delete"}


def show_plan(plan: SweepPlan, listing: Listing, form: Format) -> None:
    if form is not Format.TABLE:
        click.echo(output.document(_document(plan, listing), form), nl=False)
        return
    click.echo(_table(plan, listing), nl=False)
    click.echo(
        f"Would condemn {len(plan.condemned)} and delete {len(plan.swept)} blobs,"
        f" {len(plan.links)} links and {len(plan.uploads)} unfinished uploads"
    )


def show_swept(swept: Swept, form: Format) -> None:
    counts = swept.counts
    if form is not Format.TABLE:
        document = {
            **_document(swept.plan, swept.listing),
            "condemned": counts.condemned,
            "linksRemoved": counts.links,
            "blobsFreed": counts.freed_blobs,
            "bytesFreed": counts.freed_bytes,
            "blobsPutBack": counts.put_back,
            "linksRestored": counts.restored,
            "uploadsRemoved": counts.uploads,
            "foldersRemoved": counts.folders,
            "stillAnswered": sorted(counts.answered),
            "failed": counts.failed,
        }
        click.echo(output.document(document, form), nl=False)
    else:
        click.echo(_table(swept.plan, swept.listing), nl=False)
        click.echo(_summary(swept))
    if counts.answered:
        output.sentence(
            f"{len(counts.answered)} blobs stay, because the registry still answers for them from"
            " its cache; restart the registry",
            err=True,
        )
    for failure in counts.failures:
        output.sentence(f"Failed: {failure}", err=True)
    if counts.failed:
        hidden = counts.failed - len(counts.failures)
        more = f"{hidden} more failures are not shown. " if hidden else ""
        advice = (
            "Correct the cause of each failure, then run the command again: it tries them again"
        )
        output.sentence(f"{more}{advice}", err=True)


def _summary(swept: Swept) -> str:
    counts = swept.counts
    freed = quantities.format_bytes(counts.freed_bytes)
    parts = [f"freed {freed} in {counts.freed_blobs} blobs"]
    for count, what in (
        (counts.condemned, "condemned {} blobs, which a run after the grace period deletes"),
        (counts.links, "removed {} links"),
        (counts.put_back, "put back {} blobs"),
        (counts.restored, "restored {} links"),
        (counts.uploads, "removed {} unfinished uploads"),
        (counts.folders, "removed {} empty folders"),
        (counts.failed, "failed {} times"),
    ):
        if count:
            parts.append(what.format(count))
    return f"Summary: {', '.join(parts)}"


def _table(plan: SweepPlan, listing: Listing) -> str:
    rows = [
        (one.reason.label, str(one.blobs), quantities.format_bytes(one.size_bytes))
        for one in types.totals(plan, listing.blobs)
    ]
    return output.table(("REASON", "BLOBS", "SIZE"), rows)


def _document(plan: SweepPlan, listing: Listing) -> dict[str, Any]:
    return {
        "objects": listing.objects,
        "reasons": [
            {
                "reason": one.reason.label,
                "message": one.reason.sentence,
                "decision": _DECISIONS.get(one.reason, "keep"),
                "blobs": one.blobs,
                "sizeBytes": one.size_bytes,
            }
            for one in types.totals(plan, listing.blobs)
        ],
        "links": [
            {"repository": one.repository, "kind": one.kind.value, "digest": one.digest}
            for one in plan.links
        ],
        "uploads": list(plan.uploads),
    }


def write(
    plan: SweepPlan, listing: Listing, file: Path | None, *, answered: Sequence[str] = ()
) -> None:
    """The reason of every blob."""
    if file is None:
        return
    with file.open("wb") as target:
        target.writelines(_lines(plan, listing, set(answered)))


def _lines(plan: SweepPlan, listing: Listing, answered: set[str]) -> Iterator[bytes]:
    blobs = listing.blobs
    reasons: Iterable[int] = plan.reasons.tolist()
    for place, number in enumerate(reasons):
        digest = blobs.digest(place)
        reason = BlobReason.ANSWERED if digest in answered else BlobReason(number)
        line = {
            "digest": digest,
            "sizeBytes": int(blobs.sizes[place]),
            "decision": _DECISIONS.get(reason, "keep"),
            "reason": reason.label,
            "message": reason.sentence,
        }
        yield msgspec.json.encode(line) + b"\n"
