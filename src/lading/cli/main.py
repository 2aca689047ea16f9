"""The `lading` command: runs the subcommand, and prints its errors."""

import contextlib
import os
import sys
from typing import Any, NoReturn

import click

import lading
from lading.cli import error_messages
from lading.cli.error_messages import ExitCode
from lading.cli.lazy import LazyGroup
from lading.kernel import texts

_COMMANDS = {
    "demo": "Run a cluster on this machine, check every feature, and end.",
    "sim": "Run a simulated cluster under seeds, with faults, and check the promises.",
    "up": "Run a cluster on this machine until Ctrl-C.",
    "dashboard": "Show the images of a cluster on a page in your browser.",
    "apply": "Create or update objects from files.",
    "get": "Show objects.",
    "delete": "Delete objects.",
    "pin": "Create and plan PinnedImageSets, and watch the nodes pin them.",
    "bootimage": "Show, plan and restore the boot images of machine sets.",
    "prepull": "Show the images that every worker node holds.",
    "image": "Pull, list and remove images of a container runtime, by runtime class.",
    "prune": "Delete images that are no longer needed from a registry.",
    "validate": "Check objects in files without a cluster.",
    "crds": "Print or install the CustomResourceDefinitions of Lading.",
    "policies": "Print the admission policies of the agents and the controller.",
    "doctor": "Check the cluster, this node and the registries, and show what to do.",
    "version": "Show the versions of this program and of the cluster.",
    "completion": "Print the completion script of a shell.",
    "controller": "Run the controllers (in a Deployment).",
    "agent": "Run the agent of a node (in a DaemonSet).",
}


class _Lading(LazyGroup):
    def invoke(self, ctx: click.Context) -> Any:
        """Expected errors print one line; bugs keep their traceback."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, click.Abort):
            raise click.exceptions.Exit(ExitCode.INTERRUPTED) from None
        except click.ClickException:
            raise
        except Exception as error:
            if (text := error_messages.message(error)) is None:
                raise
            raise click.ClickException(texts.bounded_text(text, keep_lines=True)) from error


@click.group(
    cls=_Lading,
    package="lading.cli",
    commands=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(lading.__version__, prog_name="lading")
def lading_command() -> None:
    """Keeps the right container images in the right places of a Kubernetes cluster."""


def main(arguments: list[str] | None = None) -> NoReturn:
    _repair_standard_streams()
    name = _program_name(sys.argv[0])
    try:
        lading_command.main(args=arguments, prog_name=name, color=_colour())
        code: str | int | None = ExitCode.DONE
    except OSError as error:  # the output of --help or --version cannot be written
        with contextlib.suppress(OSError):  # standard error may be on the same full disk
            click.ClickException(str(error.strerror)).show()
        code = ExitCode.FAILED
    except SystemExit as end:
        code = end.code
    _flush_or_discard()
    if "obstore" in sys.modules:
        # Its threads abort the process (exit code 134) when one of them resolves a future while
        # the interpreter ends. It has no way to wait for them.
        os._exit(code if isinstance(code, int) else ExitCode.DONE)
    sys.exit(code)


def _flush_or_discard() -> None:
    """The interpreter flushes the streams when it ends, and would print another error."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _colour() -> bool | None:
    """None: click decides; colour only on a terminal. NO_COLOR is described at no-color.org."""
    unwanted = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return False if unwanted else None


def _program_name(path: str) -> str:
    """kubectl runs `kubectl-lading` for `kubectl lading`."""
    return "kubectl lading" if os.path.basename(path) == "kubectl-lading" else "lading"


def _repair_standard_streams() -> None:
    """Reopen closed streams on /dev/null; replace characters that the encoding lacks."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - open until the end
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
