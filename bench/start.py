"""What a person waits for before a command begins: its start, above that of a bare interpreter.

    python -m bench.start

CPU time counts, and the least of a few runs, because other work on the machine only ever makes a
run worse. Bytecode is kept between the runs, as an installation keeps it. The commands that people
type most do their whole work, on a standalone cluster with a pinned set; of every command the help
is shown.
"""

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.cli.commands import COMMANDS
from tests.e2e.programs import COMMAND

RUNS = 7
WORK_RUNS = 25
"""Of the commands with a limit of their own: the least of seven still varies by a sixth."""
HELP_MS_MAX = 150.0
"""For `lading --help`."""
WORK_MS_MAX = 500.0
"""For the commands at work."""


def _label(name: str) -> str:
    """`image_ls_help` for `lading image ls`."""
    return f"{'_'.join(name.split()[1:])}_help"


BARE = (sys.executable, "-c", "pass")
HELPS = {"help": (), **{_label(name): tuple(name.split()[1:]) for name in COMMANDS}}
WORK = {
    "pin_status": ("pin", "status"),
    "get_nodes": ("get", "nodes"),
    "get_sets": ("get", "pis"),
    "image_ls": ("image", "ls", "-r", "unix://{data}/nodes/node-1/runtime.sock"),
}


def cpu_ms(command: tuple[str, ...], environment: Mapping[str, str], *, runs: int = RUNS) -> float:
    return 1000 * min(_cpu_seconds(command, environment) for _ in range(runs))


def _cpu_seconds(command: tuple[str, ...], environment: Mapping[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


@contextlib.contextmanager
def cluster(folder: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """A standalone cluster on which the set of the first try is pinned."""
    data = folder / "cluster"
    up = subprocess.Popen(
        (COMMAND, "up", "--state-dir", str(data)),
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert up.stdout is not None
    try:
        for line in up.stdout:
            if line.startswith("Ctrl-C"):  # its last line
                break
        for words in (
            ("apply", "-f", str(data / "first-set.yaml")),
            ("pin", "wait", "--timeout", "2m"),
        ):
            command = (COMMAND, *words, "--kubeconfig", str(data / "kubeconfig"))
            subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        yield data
    finally:
        up.send_signal(signal.SIGINT)
        up.wait()
        up.stdout.close()


def _helps(bare_ms: float, environment: Mapping[str, str]) -> dict[str, float]:
    return {
        f"{name}_ms_above_bare": cpu_ms((str(COMMAND), *words, "--help"), environment) - bare_ms
        for name, words in HELPS.items()
    }


def _work(bare_ms: float, data: Path, environment: Mapping[str, str]) -> dict[str, float]:
    there = {**environment, "KUBECONFIG": str(data / "kubeconfig")}
    found = {}
    for name, words in WORK.items():
        command = (str(COMMAND), *(word.format(data=data) for word in words))
        found[name] = cpu_ms(command, there, runs=WORK_RUNS) - bare_ms
    return found


def measure(folder: Path) -> dict[str, float]:
    kept = {"PYTHONPYCACHEPREFIX": str(folder / "bytecode"), "PYTHONDONTWRITEBYTECODE": ""}
    environment = {**os.environ, **kept}
    bare_ms = cpu_ms(BARE, environment, runs=WORK_RUNS)
    with cluster(folder, environment) as data:
        work = _work(bare_ms, data, environment)
    helps = _helps(bare_ms, environment)
    return {
        "bare_interpreter_ms": bare_ms,
        **{f"{name}_ms_above_bare": ms for name, ms in work.items()},
        **{f"{name}_share_of_limit": ms / WORK_MS_MAX for name, ms in work.items()},
        **{f"{name}_times_bare": ms / bare_ms for name, ms in work.items()},
        **helps,
        "help_share_of_limit": helps["help_ms_above_bare"] / HELP_MS_MAX,
    }


def run() -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        return measure(Path(folder))


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
