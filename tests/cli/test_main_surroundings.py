"""The command where something that is usually there is not: a stream, a letter."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

LADING = (sys.executable, "-c", "from lading.cli.main import main; main()")
TICKED = (
    "import click; from lading.cli import main; main._repair_standard_streams(); click.echo('✓')"
)
EXAMPLE = Path(__file__).parents[2] / "examples" / "01-one-image/set.yaml"


def in_shell(command: str) -> subprocess.CompletedProcess[str]:
    """`"$@"` in the command stands for `lading`."""
    return subprocess.run(
        ["/bin/sh", "-c", command, "sh", *LADING], capture_output=True, text=True, check=False
    )


def test_a_closed_standard_input_holds_no_object() -> None:
    done = in_shell('"$@" validate -f - <&-')
    assert (done.returncode, done.stderr) == (1, "Error: -: it contains no object\n")


@pytest.mark.parametrize("closed", ["2>&-", ">&-"])
def test_a_closed_stream_loses_its_output_and_nothing_else(closed: str) -> None:
    assert in_shell(f'"$@" validate -f {EXAMPLE} {closed}').returncode == 0


def test_an_alphabet_without_some_letter_costs_only_that_letter() -> None:
    done = subprocess.run(
        [sys.executable, "-c", TICKED],
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "?\n"


def test_kubectl_finds_the_program_as_a_plugin_with_its_name_in_the_help() -> None:
    plugin = Path(sys.executable).with_name("kubectl-lading")
    done = subprocess.run([plugin, "get", "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage: kubectl lading get ")
