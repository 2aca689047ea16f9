"""The set-up finds everything in the cache, and says in a sentence what a machine lacks."""

import os
import subprocess
import sys

import pytest

from tests.real.setup import families


def setup(*arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "tests.real.setup", *arguments],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_second_run_builds_and_installs_nothing(pytestconfig: pytest.Config) -> None:
    chosen = pytestconfig.getoption("only") or ",".join(families.COMPONENTS)
    answer = setup(f"--only={chosen}")
    assert answer.returncode == 0
    assert "building" not in answer.stderr
    assert "unpack" not in answer.stderr


def test_without_go_the_error_asks_to_install_it() -> None:
    answer = setup("--only=registry", PATH="/usr/sbin:/usr/bin:/sbin:/bin")
    assert answer.returncode == 1
    assert "Go is not installed" in answer.stderr


def test_an_unknown_component_is_refused_with_the_known_ones() -> None:
    answer = setup("--only=registery")
    assert answer.returncode == 2
    assert "registery: expected some of kube, helm, registry" in answer.stderr


def test_a_runtime_brings_what_it_is_used_with() -> None:
    assert families.with_needed(["containerd"]) == {"containerd", "registry", "cri-tools"}
