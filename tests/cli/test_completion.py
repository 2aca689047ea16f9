"""The script of each shell asks the program, which answers with commands and options."""

import os
import subprocess
import sys

import pytest

from tests import command

LADING = (sys.executable, "-c", "from lading.cli.main import main; main()")


@pytest.mark.parametrize(
    ("shell", "completed"),
    [
        ("bash", "complete -o nosort -F _lading_completion lading\n"),
        ("zsh", "#compdef lading\n"),
        ("fish", "complete --no-files --command lading "),
    ],
)
async def test_the_script_of_a_shell_asks_the_program(shell: str, completed: str) -> None:
    result = await command.lading("completion", shell)
    assert result.code == 0
    assert f"_LADING_COMPLETE={shell}_complete" in result.output
    assert completed in result.output


@pytest.mark.parametrize(
    ("words", "completion"),
    [
        ("lading vers", "plain,version"),
        ("lading pin sta", "plain,status"),
        ("lading pin status --wat", "plain,--watch"),
    ],
)
def test_the_program_answers_the_script_of_bash(words: str, completion: str) -> None:
    question = {
        "_LADING_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    done = subprocess.run(
        LADING, env={**os.environ, **question}, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == [completion]
