"""`lading prune why`: every chain that keeps something, or the rule by which it goes."""

from typing import TYPE_CHECKING

import click

from lading.cli import output
from lading.cli.output import Format
from lading.cli.prune import progress, running
from lading.cli.prune.options import prune_options
from lading.pruning.engine.types import Inventory

if TYPE_CHECKING:
    from lading.pruning.engine.decisions.why import Answer
    from lading.wiring.prune import Opened, Options

_TAGS_SHOWN_MAX = 10
_ALGORITHMS = ("sha256", "sha512")


@click.command(name="why")
@click.argument("reference")
@output.form_option(default=Format.TABLE)
@prune_options
def command(options: "Options", reference: str, form: Format) -> None:
    """Show why REFERENCE (a tag, a digest, a blob) is kept or deleted."""
    if not reference.strip():
        raise click.BadParameter("it is empty", param_hint="REFERENCE")

    from lading.pruning.engine.decisions import why  # slow to load, and --help needs none of it

    async def work(opened: "Opened") -> None:
        async with progress.shown(opened.pruner.progress):
            observed = await opened.pruner.observe(with_every_referrer=True)
            plan = opened.pruner.plan(observed)
        name = observed.names.without_host(reference.partition("://")[2] or reference)
        answer = why.why(name, observed.inventory, observed.references, plan)
        if not answer.is_known:
            raise click.ClickException(_unknown(name, opened.registry, observed.inventory))
        click.echo(_shown(answer, form), nl=False)

    running.run(options, work)


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


def _shown(answer: "Answer", form: Format) -> str:
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
