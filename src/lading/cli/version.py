"""`lading version`: the versions of this program, of Python and of the cluster."""

import asyncio
import platform

import click
import msgspec

import lading
from lading.adapters.kube.connection import ConfigurationError, NothingConfigured
from lading.cli import connection, output, running
from lading.cli.connection import Target
from lading.cli.output import Format
from lading.ports import kube
from lading.ports.http import Request

_SERVER_SECONDS_MAX = 5


class ServerVersion(msgspec.Struct, rename="camel"):
    git_version: str


@click.command(name="version")
@output.form_option(default=Format.TABLE)
@connection.target_options
def command(target: Target, form: Format) -> None:
    """Show the version of this program, and of the API server if there is one."""
    running.run(_show(target, form))


async def _show(target: Target, form: Format) -> None:
    found = {"lading": lading.__version__, "python": platform.python_version()}
    if server := await _server_version(target):
        found["server"] = server
    if form is Format.TABLE:
        click.echo("".join(f"{name}: {value}\n" for name, value in found.items()), nl=False)
    else:
        click.echo(output.document(found, form), nl=False)


async def _server_version(target: Target) -> str:
    """Empty if no cluster is configured; with a warning if it does not answer.

    A bug report needs the version of this program in any case.
    """
    try:
        async with asyncio.timeout(_SERVER_SECONDS_MAX), target.open() as client:
            answer = await client.send(Request(method="GET", path="/version"))
            return msgspec.json.decode(answer, type=ServerVersion).git_version
    except NothingConfigured:
        return ""
    except TimeoutError:
        reason = f"no answer within {_SERVER_SECONDS_MAX} s"
    except (ConfigurationError, kube.KubeError, msgspec.DecodeError) as error:
        reason = str(error)
    output.sentence(f"Warning: the version of the API server is unknown: {reason}", err=True)
    return ""
