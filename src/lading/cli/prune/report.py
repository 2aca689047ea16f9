"""How prune commands print: the sentences of oc, a summary, and tables that fit 80 columns."""

from collections.abc import Iterable, Sequence
from typing import Any

import click
import msgspec

from lading.cli import output
from lading.cli.output import Format
from lading.kernel import quantities
from lading.pruning.engine.effects.apply import PruneOutcome, Result
from lading.pruning.engine.effects.restore_used import Restored
from lading.pruning.engine.types import Deletion, PrunePlan, PruneReason, Saving, Source, What

DRY_RUN = "Dry run enabled - no modifications will be made. Add --confirm to remove images"
ONLY_OBJECTS = (
    "Only API objects will be removed.  No modifications to the image registry will be made."
)
DRY_RUN_ENDED = "This was a dry run: nothing is deleted"
NOT_YET_FREE = (
    "The bytes are free when the images are out of the trash and the registry has collected its"
    " garbage"
)
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
    """As oc counts; parts that are zero are left out."""
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
    """The end of a long name says more than its beginning."""
    return name if len(name) <= _NAME_CHARACTERS_MAX else f"...{name[3 - _NAME_CHARACTERS_MAX :]}"


def document(plan: PrunePlan) -> dict[str, Any]:
    return {
        "header": msgspec.to_builtins(plan.header),
        "deletions": msgspec.to_builtins(plan.deletions),
    }


def show_outcomes(outcomes: Sequence[PruneOutcome], form: Format) -> bool:
    """Prints what happened; True when nothing failed."""
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
