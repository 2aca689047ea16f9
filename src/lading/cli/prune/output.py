"""How prune commands print: the sentences of oc, a summary, and tables of 80 columns."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from lading.cli import output
from lading.cli.output import Format
from lading.kernel import quantities
from lading.pruning.engine.decisions.guards import Refusal
from lading.pruning.engine.effects.outcomes import PruneOutcome, Result
from lading.pruning.engine.effects.restore_used import Restored
from lading.pruning.engine.types import Deletion, PrunePlan, PruneReason, Saving, Source, What
from lading.pruning.sweep import types as sweeps
from lading.pruning.sweep.controller import SweepResult
from lading.pruning.sweep.types import BlobReason, Listing, SweepPlan

DRY_RUN = "Dry run enabled - no modifications will be made. Add --confirm to remove images"
ONLY_OBJECTS = (
    "Only API objects will be removed.  No modifications to the image registry will be made."
)
DRY_RUN_ENDED = "This was a dry run: nothing is deleted"
NOT_YET_FREE = (
    "The registry frees this space after the trash expires and it runs garbage collection."
)
SWEEP_DRY_RUN = "Dry run enabled - no modifications will be made. Add --confirm to free storage"
_BLOB_DECISIONS = {BlobReason.CONDEMNED: "condemn", BlobReason.UNREFERENCED: "delete"}
_NAME_CHARACTERS_MAX = 46  # with the other columns a row has 80


def sentences(lines: Sequence[Deletion]) -> Iterable[str]:
    items: dict[str, int] = {}
    for line in lines:
        if line.what is What.TAG_ITEM:
            items[line.repository] = items.get(line.repository, 0) + 1
    shown: set[str] = set()
    for line in lines:
        match line.what:
            case What.TAG_ITEM:
                if line.repository not in shown:
                    shown.add(line.repository)
                    count = items[line.repository]
                    yield f"Deleting {count} items from image stream {line.repository}"
            case What.LAYER_LINK:
                yield f"Deleting layer link {line.digest} in repository {line.repository}"
            case What.MANIFEST_LINK:
                yield f"Deleting manifest link {line.digest} in repository {line.repository}"
            case What.BLOB:
                yield f"Deleting blob {line.digest}"
            case What.IMAGE:
                yield f"Deleting image {line.digest}"
            case What.TAG:
                yield f"Deleting tag {line.repository}:{line.tag} ({line.because})"
            case What.MANIFEST:
                yield f"Deleting manifest {line.digest} in repository {line.repository}"


def summary(lines: Iterable[Deletion]) -> str:
    """Counts as oc does. Parts that are zero are left out."""
    counts: dict[What, int] = {}
    streams: set[str] = set()
    for line in lines:
        counts[line.what] = counts.get(line.what, 0) + 1
        if line.what is What.TAG_ITEM:
            streams.add(line.repository)
    parts = (
        (counts.get(What.IMAGE, 0), "deleted {} image object(s)"),
        (counts.get(What.TAG_ITEM, 0), "deleted {} image stream tag item(s)"),
        (len(streams), "updated {} image stream(s)"),
        (counts.get(What.LAYER_LINK, 0), "deleted {} layer link(s)"),
        (counts.get(What.MANIFEST_LINK, 0), "deleted {} manifest link(s)"),
        (counts.get(What.BLOB, 0), "deleted {} blob(s)"),
        (counts.get(What.TAG, 0), "deleted {} tag(s)"),
        (counts.get(What.MANIFEST, 0), "deleted {} manifest(s)"),
    )
    texts = [text.format(count) for count, text in parts if count]
    return f"Summary: {', '.join(texts) if texts else 'deleted 0 objects'}"


def show_plan(plan: PrunePlan, form: Format) -> None:
    if form is not Format.TABLE:
        click.echo(output.document(document(plan), form), nl=False)
        return
    for sentence in sentences(plan.deletions):
        click.echo(sentence)
    show_header(plan)
    click.echo(summary(plan.deletions))


def show_header(plan: PrunePlan, *, is_confirmed: bool = False) -> None:
    header = plan.header
    if header.source is not Source.IMAGE_STREAMS and header.by_repository:
        click.echo(_table("REPOSITORY", header.by_repository), nl=False)
        click.echo(_table("RULE", header.by_rule), nl=False)
        output.sentence(NOT_YET_FREE, err=True)
    if header.kept_for_unknown_push_time:
        begins = "now" if is_confirmed else "with the first run with --confirm"
        output.sentence(
            f"{header.kept_for_unknown_push_time} tags and manifests stay because their push time"
            f" is unknown; their age begins {begins}",
            err=True,
        )
    verdicts = plan.tag_verdicts.values()
    if without := sum(one.reason is PruneReason.NO_POLICY for one in verdicts):
        output.sentence(
            f"{without} tags stay because no policy names their repositories; --policy takes a file"
            " with rules for tags",
            err=True,
        )


def show_refusals(refusals: Iterable[Refusal]) -> None:
    for refusal in refusals:
        output.sentence(f"Warning: guard {refusal.guard}: {refusal.message}", err=True)


def show_restored(restored: Restored) -> None:
    for record in restored.records:
        output.sentence(f"Restored an image of {record.repository}: it is used again", err=True)
    for record in restored.lost:
        tags = ", ".join(record.tags) or record.group
        output.sentence(
            f"Warning: {record.repository}: {tags} is used again and cannot be restored: it is no"
            " longer in the trash; push it again",
            err=True,
        )


def _table(what: str, savings: Sequence[Saving]) -> str:
    rows = [
        (_short(one.name), str(one.deletions), quantities.format_bytes(one.size_bytes))
        for one in savings
    ]
    return output.table((what, "DELETIONS", "FREES"), rows)


def _short(name: str) -> str:
    """The end of a long name tells more than its beginning."""
    return name if len(name) <= _NAME_CHARACTERS_MAX else f"...{name[3 - _NAME_CHARACTERS_MAX :]}"


def document(plan: PrunePlan) -> dict[str, Any]:
    return {
        "header": msgspec.to_builtins(plan.header),
        "deletions": msgspec.to_builtins(plan.deletions),
    }


def show_outcomes(outcomes: Sequence[PruneOutcome], form: Format) -> bool:
    """Prints the outcomes. True if nothing failed."""
    deleted = [one.line for one in outcomes if one.result is Result.DELETED]
    if form is not Format.TABLE:
        rows = [
            {
                **msgspec.to_builtins(one.line),
                "result": one.result.value,
                "message": one.message,
            }
            for one in outcomes
        ]
        click.echo(output.document({"outcomes": rows}, form), nl=False)
    else:
        for sentence in sentences(deleted):
            click.echo(sentence)
        click.echo(summary(deleted))
    for one in outcomes:
        if one.result is not Result.DELETED:
            output.sentence(f"{one.result}: {one.line}: {one.message}", err=True)
    return not any(one.is_failure for one in outcomes)


def show_sweep_plan(plan: SweepPlan, listing: Listing, form: Format) -> None:
    if form is not Format.TABLE:
        click.echo(output.document(_sweep_document(plan, listing), form), nl=False)
        return
    click.echo(_sweep_table(plan, listing), nl=False)
    click.echo(
        f"Would condemn {len(plan.condemned)} and delete {len(plan.swept)} blobs,"
        f" {len(plan.links)} links and {len(plan.uploads)} unfinished uploads"
    )


def show_sweep(result: SweepResult, form: Format) -> None:
    counts = result.counts
    if form is not Format.TABLE:
        document = {
            **_sweep_document(result.plan, result.listing),
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
        click.echo(_sweep_table(result.plan, result.listing), nl=False)
        click.echo(_sweep_summary(result))
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


def _sweep_summary(result: SweepResult) -> str:
    counts = result.counts
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


def _sweep_table(plan: SweepPlan, listing: Listing) -> str:
    rows = [
        (one.reason.label, str(one.blobs), quantities.format_bytes(one.size_bytes))
        for one in sweeps.totals(plan, listing.blobs)
    ]
    return output.table(("REASON", "BLOBS", "SIZE"), rows)


def _sweep_document(plan: SweepPlan, listing: Listing) -> dict[str, Any]:
    return {
        "objects": listing.objects,
        "reasons": [
            {
                "reason": one.reason.label,
                "message": one.reason.sentence,
                "decision": _BLOB_DECISIONS.get(one.reason, "keep"),
                "blobs": one.blobs,
                "sizeBytes": one.size_bytes,
            }
            for one in sweeps.totals(plan, listing.blobs)
        ],
        "links": [
            {"repository": one.repository, "kind": one.kind.value, "digest": one.digest}
            for one in plan.links
        ],
        "uploads": list(plan.uploads),
    }


def write_reasons(
    plan: SweepPlan, listing: Listing, file: Path | None, *, answered: Sequence[str] = ()
) -> None:
    """Writes the reason of every blob, one JSON document per line."""
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
            "decision": _BLOB_DECISIONS.get(reason, "keep"),
            "reason": reason.label,
            "message": reason.sentence,
        }
        yield msgspec.json.encode(line) + b"\n"
