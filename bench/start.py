"""What a person waits for before a command begins: its start, above that of a bare interpreter.

    python -m bench.start

CPU time counts, and the least of a few runs, because other work on the machine only ever makes a
run worse. Bytecode is kept between the runs, as an installation keeps it.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile

from tests.cli.commands import COMMANDS
from tests.e2e.programs import COMMAND

RUNS = 7
HELP_MS_MAX = 150.0
"""For `lading --help`; the other commands are only shown."""


def _label(name: str) -> str:
    """`image_ls_help` for `lading image ls`."""
    return f"{'_'.join(name.split()[1:])}_help"


BARE = (sys.executable, "-c", "pass")
HELPS = {"help": (), **{_label(name): tuple(name.split()[1:]) for name in COMMANDS}}


def cpu_ms(command: tuple[str, ...], bytecode: str) -> float:
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode, "PYTHONDONTWRITEBYTECODE": ""}
    return 1000 * min(_cpu_seconds(command, environment) for _ in range(RUNS))


def _cpu_seconds(command: tuple[str, ...], environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def measure(bytecode: str) -> dict[str, float]:
    bare_ms = cpu_ms(BARE, bytecode)
    above = {
        f"{name}_ms_above_bare": cpu_ms((str(COMMAND), *words, "--help"), bytecode) - bare_ms
        for name, words in HELPS.items()
    }
    share = above["help_ms_above_bare"] / HELP_MS_MAX
    return {"bare_interpreter_ms": bare_ms, **above, "help_share_of_limit": share}


def run() -> dict[str, float]:
    with tempfile.TemporaryDirectory() as bytecode:
        return measure(bytecode)


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
