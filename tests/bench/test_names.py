"""`python -m bench` leaves no bench out."""

from pathlib import Path

import bench
from bench import __main__ as command


def test_every_bench_is_run_by_the_command() -> None:
    (folder,) = bench.__path__
    benches = {file.stem for file in Path(folder).glob("*.py") if "\ndef run(" in file.read_text()}
    assert benches == set(command.NAMES)
