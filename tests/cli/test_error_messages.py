"""Which errors a person reads as a sentence, and which show a trace."""

import errno

import pytest
from click.testing import CliRunner

from lading.adapters.kube.connection import NothingConfigured
from lading.cli import error_messages
from lading.cli.main import lading_command
from lading.kernel.errors import Malformed
from lading.ports import cri, kube

NOT_THERE = FileNotFoundError(errno.ENOENT, "No such file or directory", "/etc/absent")
IN_USE = OSError(errno.EADDRINUSE, "address already in use")
BOUND = OSError(
    errno.EADDRINUSE,
    "error while attempting to bind on address ('127.0.0.1', 8080): address already in use",
)
NOT_IN_REGISTRY = cri.ImageNotFound(
    "PullImage failed: a/b:1: not found. Check the name and the tag."
)
MALFORMED = Malformed(what="digest", text="x", reason="too short")


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (NOT_THERE, "/etc/absent: No such file or directory"),
        (IN_USE,
         "the address is already in use; choose another port, or stop the process that uses it"),
        (BOUND,
         "127.0.0.1:8080 is already in use; choose another port, or stop the process that uses it"),
        (MALFORMED, "'x' is not a valid digest: too short"),
        (cri.NoSpace("the disk is full"), "the disk is full; free some with `lading image gc`"),
        (NOT_IN_REGISTRY, "PullImage failed: a/b:1: not found. Check the name and the tag."),
        (kube.Unauthorized("who are you"),
         "who are you; the API server refuses the credentials, check the user of the kubeconfig"),
        (kube.Forbidden("pods is forbidden."),
         "pods is forbidden; ask an administrator of the cluster for this right"),
        (NothingConfigured("nothing is configured"),
         "nothing is configured; or start a cluster on this machine with `lading up`"),
        (ExceptionGroup("several", [NOT_THERE, MALFORMED, MALFORMED]),
         "/etc/absent: No such file or directory; 'x' is not a valid digest: too short"),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_an_error_for_people_is_a_sentence(error: Exception, sentence: str) -> None:
    assert error_messages.message(error) == sentence


@pytest.mark.parametrize(
    "error",
    [
        KeyError("x"),
        BrokenPipeError(errno.EPIPE, "Broken pipe"),
        ExceptionGroup("mixed", [MALFORMED, ValueError("x")]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_bug_and_a_closed_pipe_are_not(error: Exception) -> None:
    assert error_messages.message(error) is None


def test_an_error_cannot_write_to_the_terminal() -> None:
    result = CliRunner().invoke(lading_command, ["get", "nodes", "--kubeconfig", "\x1b[2Jx"])
    assert result.output == "Error: \\x1b[2Jx: there is no such kubeconfig file\n"
