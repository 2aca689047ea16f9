"""`lading policies`: the admission policies that bind agents to their nodes, as YAML."""

import click

from lading.api import rbac
from lading.installation import policies


@click.command(name="policies")
@click.option(
    "-n",
    "--namespace",
    default=rbac.NAMESPACE,
    show_default=True,
    help="Where the agents run.",
)
@click.option(
    "--account", default=policies.ACCOUNT, show_default=True, help="Their ServiceAccount."
)
def command(namespace: str, account: str) -> None:
    """Print the ValidatingAdmissionPolicies of the agents, for the names that you use."""
    made = policies.agent_policies(namespace=namespace, account=account)
    click.echo(policies.as_yaml(made), nl=False)
