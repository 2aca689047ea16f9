"""`lading policies`: the admission policies of the agents and the controller, as YAML."""

import click

from lading.api import rbac
from lading.cli import options
from lading.installation import (
    agent_policies,
    boot_image_policies,
    controller_policies,
    policies,
)


@click.command(name="policies")
@click.option(
    "-n",
    "--namespace",
    metavar="NAME",
    callback=options.meaning(options.object_name),
    default=rbac.NAMESPACE,
    show_default=True,
    help="The namespace of the controller.",
)
@click.option(
    "--agent-namespace",
    metavar="NAME",
    callback=options.meaning(options.object_name),
    default=rbac.AGENT_NAMESPACE,
    show_default=True,
    help="The namespace of the agents.",
)
@click.option(
    "--boot-images", is_flag=True, help="Also print the policies for managed boot images."
)
def command(namespace: str, agent_namespace: str, boot_images: bool) -> None:
    """Print the ValidatingAdmissionPolicies of the agents and of the controller."""
    made = [
        *agent_policies.agent_policies(namespace=agent_namespace, account=agent_policies.ACCOUNT),
        *controller_policies.controller_policies(namespace=namespace),
    ]
    if boot_images:
        made += boot_image_policies.boot_image_policies(
            namespace=namespace, account=controller_policies.ACCOUNT
        )
    click.echo(policies.as_yaml(made), nl=False)
