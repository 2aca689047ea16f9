"""What the Makefile does and prints on a machine that has never seen the project."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_a_set_up_without_a_network_says_what_it_needs(tmp_path: Path) -> None:
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\nexit 1\n")  # as pip ends when no package index answers
    python.chmod(0o755)
    answer = subprocess.run(
        ["make", "demo", f"VENV={tmp_path}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode != 0
    needs = (
        "Cannot install the packages of requirements/build.txt. The first set-up needs a package"
    )
    assert needs in answer.stdout
    assert not (tmp_path / ".runtime").exists()


def steps(target: str, venv: Path) -> str:
    """What make would run on a machine that has never seen the project."""
    # The tests may run below a make, which then prints the folders that it enters and leaves.
    command = ["make", "--dry-run", "--no-print-directory", target, f"VENV={venv}"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_the_demo_installs_only_what_running_needs_and_says_what_it_does(tmp_path: Path) -> None:
    demo, test = steps("demo", tmp_path), steps("test", tmp_path)
    assert "-r requirements/dev.txt" not in demo
    assert "-r requirements/dev.txt" in test
    announced = [line for line in demo.splitlines() if line.startswith('echo "')]
    assert [line.split()[1].lstrip('"') for line in announced] == [
        "Creating",
        "Installing",
        "Installing",
    ]
    assert demo.splitlines()[-1] == f"{tmp_path}/bin/lading demo"
