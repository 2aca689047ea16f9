"""The command where something that is usually there is not: a stream, a letter."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import lading
from lading.cli.error_messages import ExitCode

LADING = (sys.executable, "-c", "from lading.cli.main import main; main()")
TICKED = (
    "import click; from lading.cli import main; main._repair_standard_streams(); click.echo('✓')"
)
ABORTED_AT_THE_END = (
    "import atexit, os, sys; from lading.cli.main import main;"
    "sys.modules['obstore'] = sys; atexit.register(os._exit, 134); main()"
)
WRITING = (
    "import sys; from lading.cli import main;"
    "main._colour = lambda: bool(sys.{stream}.write('so far')); main.main()"
)
INTERRUPTED_BEFORE_CLICK = """
import sys
class Interruption:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interruption())
from lading.__main__ import main
main()
"""
EXAMPLE = Path(__file__).parents[2] / "examples" / "01-one-image/set.yaml"


def in_shell(command: str) -> subprocess.CompletedProcess[str]:
    """`"$@"` in the command stands for `lading`."""
    return subprocess.run(
        ["/bin/sh", "-c", command, "sh", *LADING], capture_output=True, text=True, check=False
    )


def test_a_closed_standard_input_holds_no_object() -> None:
    done = in_shell('"$@" validate -f - <&-')
    assert (done.returncode, done.stderr) == (1, "Error: -: there is no object in it\n")


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


@pytest.mark.parametrize(("option", "code"), [("--help", 0), ("--unknown", 2)])
def test_threads_of_obstore_do_not_abort_the_process(option: str, code: int) -> None:
    """They can while the interpreter ends; so a command that used it does not reach that."""
    command = [sys.executable, "-c", ABORTED_AT_THE_END, "version", option]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert "Usage: lading version" in done.stdout + done.stderr


def test_ctrl_c_while_the_program_starts_is_no_trace() -> None:
    command = [sys.executable, "-c", INTERRUPTED_BEFORE_CLICK]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (ExitCode.INTERRUPTED, "", "")


def test_python_runs_the_package() -> None:
    command = [sys.executable, "-m", "lading", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"lading, version {lading.__version__}\n"


@pytest.mark.parametrize(
    ("stream", "words", "code"), [("stdout", "version --unknown", 2), ("stderr", "--version", 0)]
)
def test_what_is_buffered_at_the_end_is_written(stream: str, words: str, code: int) -> None:
    """The command writes to the other stream, and so does not flush this one."""
    program = WRITING.format(stream=stream)
    done = in_shell(f'unset PYTHONUNBUFFERED; "$1" -c "{program}" {words}')
    assert done.returncode == code
    assert getattr(done, stream) == "so far"


def test_a_full_disk_behind_what_is_buffered_is_no_trace() -> None:
    program = WRITING.format(stream="stdout")
    done = in_shell(f'unset PYTHONUNBUFFERED; "$1" -c "{program}" version --unknown > /dev/full')
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", ["--help", "--version", "get --help"])
def test_a_full_disk_behind_the_output_is_one_sentence(words: str) -> None:
    done = in_shell(f'"$@" {words} > /dev/full')
    assert (done.returncode, done.stderr) == (1, "Error: No space left on device\n")


@pytest.mark.parametrize("words", ["--help", "crds"])
def test_a_reader_that_has_gone_is_no_error(words: str) -> None:
    done = in_shell(f'"$@" {words} | true')
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize("home", ["unset HOME", "HOME=/nonexistent; export HOME"])
def test_no_home_is_no_trace(home: str) -> None:
    done = in_shell(f'unset KUBECONFIG; {home}; "$@" version')
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


def shown_on_a_terminal(folder: Path, *words: str, **variables: str) -> bytes:
    """What a command without a cluster prints on a terminal."""
    away = ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "NO_COLOR", "XDG_DATA_HOME")
    kept = {name: value for name, value in os.environ.items() if name not in away}
    main, terminal = pty.openpty()
    try:
        environment = {**kept, "HOME": str(folder), "TERM": "xterm", **variables}
        subprocess.run([*LADING, *words], stdout=terminal, env=environment, check=False)
        return os.read(main, 65536)
    finally:
        os.close(main)
        os.close(terminal)


def test_a_terminal_gets_colours(tmp_path: Path) -> None:
    assert b"\x1b[36mskipped" in shown_on_a_terminal(tmp_path, "doctor")


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_terminal_without_colours_gets_none(tmp_path: Path, variables: dict[str, str]) -> None:
    shown = shown_on_a_terminal(tmp_path, "doctor", **variables)
    assert shown.startswith(b"skipped")
    assert b"\x1b" not in shown
