"""`lading policies`: the admission policies that bind the processes, as YAML."""

import click

from lading.api import rbac
from lading.cli import options
from lading.installation import boot_image_policies, policies


@click.command(name="policies")
@click.option(
    "-n",
    "--namespace",
    metavar="NAME",
    callback=options.meaning(options.object_name),
    default=rbac.NAMESPACE,
    show_default=True,
    help="The namespace of the agents and the controller.",
)
@click.option(
    "--account",
    metavar="NAME",
    callback=options.meaning(options.object_name),
    default=policies.ACCOUNT,
    show_default=True,
    help="The ServiceAccount of the agents.",
)
@click.option(
    "--controller-account",
    metavar="NAME",
    callback=options.meaning(options.object_name),
    default=policies.CONTROLLER_ACCOUNT,
    show_default=True,
    help="The ServiceAccount of the controller.",
)
@click.option(
    "--boot-images", is_flag=True, help="Also print the policies for managed boot images."
)
def command(namespace: str, account: str, controller_account: str, boot_images: bool) -> None:
    """Print the ValidatingAdmissionPolicies of the agents and of the controller."""
    made = [
        *policies.agent_policies(namespace=namespace, account=account),
        *policies.controller_policies(namespace=namespace, account=controller_account),
    ]
    if boot_images:
        made += boot_image_policies.boot_image_policies(
            namespace=namespace, account=controller_account
        )
    click.echo(policies.as_yaml(made), nl=False)
