"""What an informer costs, as ratios to a bare aiohttp + msgspec loop measured in the same run.

Both read 10,000 objects of about 1 KB in pages from the same small server and then follow 10,000
watch events. Each reader is a process of its own; the best of a few rounds counts, because other
work on the machine only ever makes a round worse.
"""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator

OBJECTS = 10_000
EVENTS = 10_000
ROUNDS = 3
MEMORY_MB_MAX = 40.0
EVENT_CPU_MICROSECONDS_MAX = 25.0


@contextlib.contextmanager
def served(objects: int, events: int) -> Iterator[str]:
    command = [sys.executable, "-m", "bench.informer_server", str(objects), str(events)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def measure(reader: str, objects: int, events: int) -> dict[str, float]:
    """The best of each number over a few rounds."""
    with served(objects, events) as url:
        command = [sys.executable, "-m", "bench.informer_readers", reader, url]
        command += [str(objects), str(events)]
        outputs = [subprocess.check_output(command) for _ in range(ROUNDS)]
    rounds: list[dict[str, float]] = [json.loads(output.splitlines()[-1]) for output in outputs]
    return {name: min(one[name] for one in rounds) for name in rounds[0]}


def run() -> dict[str, float]:
    empty = measure("informer", 0, 0)
    full = measure("informer", OBJECTS, EVENTS)
    bare_empty = measure("bare", 0, 0)
    bare = measure("bare", OBJECTS, EVENTS)
    memory_mb = full["memory_mb"] - empty["memory_mb"]
    return {
        "list_cpu_ratio": full["list_seconds"] / bare["list_seconds"],
        "event_cpu_ratio": full["event_seconds"] / bare["event_seconds"],
        "memory_ratio": memory_mb / (bare["memory_mb"] - bare_empty["memory_mb"]),
        "event_cpu_microseconds": full["event_seconds"] / EVENTS * 1e6,
        "event_cpu_share_of_limit": full["event_seconds"]
        / EVENTS
        * 1e6
        / EVENT_CPU_MICROSECONDS_MAX,
        "memory_mb": memory_mb,
        "memory_share_of_limit": memory_mb / MEMORY_MB_MAX,
    }


def main() -> None:
    numbers = run()
    for name, number in numbers.items():
        print(f"{name:28}{number:10.2f}", file=sys.stderr)
    print(json.dumps(numbers, indent=2))


if __name__ == "__main__":
    main()
