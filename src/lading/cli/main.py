"""The `lading` command: finds the subcommand, and shows errors as sentences."""

import contextlib
import os
import sys
from typing import Any, NoReturn

import click

import lading
from lading.cli.exit_codes import ExitCode
from lading.cli.lazy import LazyGroup

_COMMANDS = {
    "demo": "Run a cluster on this machine, check every feature, and end.",
    "up": "Run a cluster on this machine until Ctrl-C.",
    "dashboard": "Show the images of a cluster on a page in your browser.",
    "apply": "Create or update objects from files.",
    "diff": "Show what `lading apply` would change.",
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
        """What a person can do something about ends in a sentence, a bug in its trace."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, click.Abort):
            raise click.exceptions.Exit(ExitCode.INTERRUPTED) from None
        except click.ClickException:
            raise
        except Exception as error:
            # Imported only now, to keep every other start quick.
            from lading.cli import sentences
            from lading.kernel import texts

            sentence = sentences.sentence(error)
            if sentence is None:
                raise
            shown = texts.bounded_text(sentence, keep_lines=True)
            raise click.ClickException(shown) from error


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
        sys.exit(lading_command.main(args=arguments, prog_name=name, color=_colour()))
    except OSError as error:  # of a help or a version that cannot be written
        with contextlib.suppress(OSError):  # standard error may be as full
            click.ClickException(str(error.strerror)).show()
        _end_at_once(ExitCode.FAILED)
    except SystemExit as end:
        _end_at_once(end.code)


def _end_at_once(code: str | int | None) -> NoReturn:
    """The interpreter would take a tenth of the CPU time of a short command to free its memory.

    Threads of obstore could abort the process meanwhile.
    """
    assert not isinstance(code, str)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(code or 0)


def _colour() -> bool | None:
    """None is colour on terminals only; no-color.org has the variable that turns it off."""
    unwanted = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return False if unwanted else None


def _program_name(path: str) -> str:
    """kubectl runs `kubectl-lading` for `kubectl lading`."""
    return "kubectl lading" if os.path.basename(path) == "kubectl-lading" else "lading"


def _repair_standard_streams() -> None:
    """One that was closed is empty, and an alphabet without some letter costs only that letter."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - open until the end
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
