"""Any configuration file of crictl is read or refused, with a sentence that names the file."""

import tempfile
from pathlib import Path

import click
from hypothesis import example, given

from lading.cli.image import node_options
from tests.fuzz import harness, inputs

CONFIG = {
    "runtime-endpoint": "unix:///run/containerd/containerd.sock",
    "image-endpoint": "",
    "timeout": 2,
    "debug": False,
}


@given(content=inputs.mangled(inputs.documents(CONFIG).map(inputs.as_yaml)))
@example(content=b"- " * 100_000)
@example(content=b"a: &a [*a]")
@example(content=b"timeout: " + b"1" * 5_000)
def test_any_configuration_is_read_or_refused(content: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        harness.check(lambda: _find(Path(file.name)), refusals=())


def _find(config: Path) -> None:
    try:
        node_options.find_endpoint("", config=config, sockets=(config,))
    except click.ClickException as refusal:
        assert str(config) in refusal.message
