"""`lading prune blobs --offline` against distribution's `registry garbage-collect`, same storage.

Promises: on files 10 times as fast as with `-m` and not slower than without; 10 times as fast on
S3 with 20 ms for each request; the same survivors; ten million objects in 1 GB.
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench import shaped_registry, sweep_storage
from bench.shaped_registry import Shape
from lading.adapters.storage import object_storage
from lading.pruning.engine.references import references_file
from lading.pruning.engine.references.observe import ClusterReferences
from lading.pruning.engine.types import Mention
from tests.real.bed import registry, s3, sandbox

ON_FILES = {"repositories": 8, "images": 1000, "tags": 500, "deleted": 100}
ON_S3 = {"repositories": 1, "images": 400, "tags": 50, "deleted": 40}
FAR = Shape(latency_seconds=0.02, connection_bytes_per_second=1e9)
FASTER_MIN = 10.0
ROUNDS = 3
OBJECTS = 10_000_000
OBJECTS_BYTES_MAX = 1e9
WORDS_BYTES_MAX = 4096
"""What a process that fails wrote last."""


def run() -> dict[str, float]:
    registry.program("3.1")
    return {**_on_files(), **_on_s3(), **_memory()}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    seconds: float
    cpu_seconds: float
    peak_bytes: int


def _measured(command: Sequence[str | os.PathLike[str]], more: Mapping[str, str]) -> _Run:
    """The time and the peak memory of a process of its own."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as words:
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=words, env={**os.environ, **more}
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        words.seek(max(0, words.tell() - WORDS_BYTES_MAX))
        last = words.read().decode(errors="replace")
        assert process.returncode == 0, f"{command} ended with {process.returncode}: {last}"
    return _Run(
        seconds=seconds,
        cpu_seconds=usage.ru_utime + usage.ru_stime,
        peak_bytes=usage.ru_maxrss * 1024,
    )


def _sweep(
    url: str, folder: Path, *, untagged: bool, more: Mapping[str, str] | None = None
) -> _Run:
    used = ClusterReferences(
        cluster="bench",
        taken_at=datetime.now(UTC),
        mentions=(Mention("registry.test/a:v1", "Pod/a"),),
    )
    references = folder / "references"
    references.write_bytes(references_file.encode(used))
    command: list[str | os.PathLike[str]] = [
        *(Path(sys.executable).with_name("lading"), "prune", "blobs", f"--storage={url}"),
        *("--offline", "--confirm", "--grace=0s", "--max-delete-percent=100"),
    ]
    if untagged:
        command += ["--untagged", f"--references={references}", "--registry-name=registry.test"]
    return _measured(command, more or {})


def _on_files() -> dict[str, float]:
    """Without `-m` both take seconds: they take turns, and the fastest run of each counts."""
    found: dict[str, float] = {}
    with sandbox.sandbox() as place:
        whole = place.make_folder("whole")
        sweep_storage.write_files(whole, **ON_FILES)
        for name, options, rounds in (("", (), ROUNDS), ("_m", ("-m",), 1)):
            runs = [_round(place, whole, options) for _ in range(rounds)]
            own, other = (
                min(column, key=lambda one: one.seconds) for column in zip(*runs, strict=True)
            )
            faster = other.seconds / own.seconds
            limit = FASTER_MIN if options else 1.0
            found |= {
                f"files{name}_times_as_fast": faster,
                f"files{name}_share_of_limit": limit / faster,
                f"files{name}_s": own.seconds,
                f"files{name}_cpu_s": own.cpu_seconds,
                f"files{name}_memory_mb": own.peak_bytes / 1e6,
                f"files{name}_garbage_collect_s": other.seconds,
                f"files{name}_garbage_collect_cpu_s": other.cpu_seconds,
                f"files{name}_garbage_collect_memory_mb": other.peak_bytes / 1e6,
            }
    return found


def _round(place: sandbox.Sandbox, whole: Path, options: tuple[str, ...]) -> tuple[_Run, _Run]:
    """Ours and theirs, each on a copy of its own; what is left is the same."""
    ours, theirs = (place.folder / name for name in ("ours", "theirs"))
    for copy in (ours, theirs):
        # Hard links: both replace and delete files, and write into none.
        subprocess.run(["cp", "-al", whole, copy], check=True)
    config = registry.write_config(place, root=theirs)
    own = _sweep(f"file://{ours}", place.folder, untagged=bool(options))
    other = _measured((registry.program("3.1"), "garbage-collect", *options, config), {})
    assert _left(f"file://{ours}") == _left(f"file://{theirs}"), "the same survivors"
    for copy in (ours, theirs):
        shutil.rmtree(copy)
    return own, other


def _on_s3() -> dict[str, float]:
    """Each on a bucket of its own, through a line of its own."""
    runs: list[_Run] = []
    left: list[set[str]] = []
    with sandbox.sandbox() as place:
        for is_ours in (True, False):
            bucket = s3.start(place)
            near = dict(bucket.environment)
            asyncio.run(_fill(f"s3://{bucket.name}", near))
            with shaped_registry.before(bucket.host, FAR) as far:
                distant = s3.Bucket(host=far, name=bucket.name)
                if is_ours:
                    url, env = f"s3://{bucket.name}", distant.environment
                    runs.append(_sweep(url, place.folder, untagged=True, more=env))
                else:
                    config = registry.write_config(place, storage=distant.driver)
                    collect = (registry.program("3.1"), "garbage-collect", "-m", config)
                    runs.append(_measured(collect, {}))
            left.append(_left(f"s3://{bucket.name}", near))
    own, other = runs
    assert left[0] == left[1], "the same survivors"
    faster = other.seconds / own.seconds
    return {
        "s3_m_times_as_fast": faster,
        "s3_m_share_of_limit": FASTER_MIN / faster,
        "s3_m_s": own.seconds,
        "s3_m_cpu_s": own.cpu_seconds,
        "s3_m_garbage_collect_s": other.seconds,
        "s3_m_memory_mb": own.peak_bytes / 1e6,
        "s3_m_garbage_collect_memory_mb": other.peak_bytes / 1e6,
    }


async def _fill(url: str, environment: Mapping[str, str]) -> None:
    os.environ.update(environment)
    await sweep_storage.write(object_storage.open_storage(url, environment=os.environ), **ON_S3)


def _left(url: str, environment: Mapping[str, str] | None = None) -> set[str]:
    os.environ.update(environment or {})
    storage = object_storage.open_storage(url, environment=os.environ)
    return asyncio.run(sweep_storage.survivors(storage))


def _memory() -> dict[str, float]:
    """Ten million objects from a storage that makes them up, in a process of its own."""
    answer = subprocess.run(
        [sys.executable, "-m", "bench.sweep_listing", str(OBJECTS)],
        capture_output=True,
        check=True,
    )
    found: dict[str, float] = json.loads(answer.stdout)
    return {
        "objects_10m_memory_mb": found["bytes"] / 1e6,
        "objects_10m_memory_share_of_limit": found["bytes"] / OBJECTS_BYTES_MAX,
        "objects_10m_s": found["seconds"],
    }
