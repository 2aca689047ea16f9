"""`lading prune why`: shows what keeps an image, or the rule that deletes it."""

from typing import Any

import click

from lading.cli import output
from lading.cli.output import Format
from lading.cli.prune import options, running, settings
from lading.pruning.engine.decisions import why
from lading.pruning.engine.decisions.why import Answer
from lading.pruning.engine.types import Inventory
from lading.wiring.prune import PruneSession

_TAGS_SHOWN_MAX = 10
_ALGORITHMS = ("sha256", "sha512")


@click.command(name="why")
@click.argument("reference")
@output.form_option(default=Format.TABLE)
@options.prune_options
def command(reference: str, form: Format, **given: Any) -> None:
    """Show why REFERENCE (a tag, a digest, a blob) is kept or deleted."""
    if not reference.strip():
        raise click.BadParameter("it is empty", param_hint="REFERENCE")

    async def work(session: PruneSession) -> None:
        async with running.with_progress(session.pruner.progress):
            observed = await session.pruner.observe(with_every_referrer=True)
            plan = session.pruner.plan(observed)
        name = observed.names.without_host(reference.partition("://")[2] or reference)
        answer = why.why(name, observed.inventory, observed.references, plan)
        if not answer.is_known:
            raise click.ClickException(_unknown(name, session.registry, observed.inventory))
        click.echo(_shown(answer, form), nl=False)

    running.run(settings.of_plan(given), work)


def _unknown(reference: str, registry: str, inventory: Inventory) -> str:
    own = reference.removeprefix(f"{registry}/")
    name, _, tag = own.partition(":")
    if "@" in own or name in _ALGORITHMS:
        return f"{registry} lists no such manifest or blob: {own}; it lists no untagged manifests"
    repository = inventory.repositories.get(name)
    if repository is None:
        return f"{registry} has no repository {name}"
    tags = ", ".join(one.name for one in repository.tags[:_TAGS_SHOWN_MAX])
    more = len(repository.tags) - _TAGS_SHOWN_MAX
    shown = f"{tags} and {more} more" if more > 0 else tags
    return f"{registry}/{name} has no tag {tag or 'latest'}; its tags are: {shown or 'none'}"


def _shown(answer: Answer, form: Format) -> str:
    if form is not Format.TABLE:
        verdicts = [
            {
                "place": place,
                "decision": verdict.decision.value,
                "reason": verdict.reason.value,
                "message": verdict.message,
            }
            for place, verdict in answer.verdicts
        ]
        value = {"reference": answer.subject, "verdicts": verdicts, "chains": answer.chains}
        return output.document(value, form)
    lines = [
        f"{place}: {verdict.decision} ({verdict.reason}: {verdict.message})"
        for place, verdict in answer.verdicts
    ]
    for chain in answer.chains:
        lines += [
            "Kept by:",
            *(f"  {'<- ' if step else ''}{one}" for step, one in enumerate(chain)),
        ]
    if not answer.chains and not lines:
        lines.append(f"{answer.subject}: nothing keeps it")
    return "\n".join(lines) + "\n"
